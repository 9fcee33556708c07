// Bundles the page of reports (src/evals/page): a script and a style sheet, as two strings in a module.
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");

/** The source of the module that `#page` names, and what is in it as esbuild describes it. */
export async function buildPage() {
  const { outputFiles, metafile } = await build({
    entryPoints: ["main.tsx", "style.css"].map((file) => join(root, "src/evals/page", file)),
    tsconfig: join(root, "src/evals/page/tsconfig.json"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    outdir: join(root, "dist"),
    write: false,
    metafile: true,
  });
  const read = (end) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  const [script, style] = [read(".js"), read(".css")];
  // Both stand in elements of an HTML file, which nothing in them may end.
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("The page would end its own element.");
  const source = `export const script = ${JSON.stringify(script)};\nexport const style = ${JSON.stringify(style)};\n`;
  return { source, metafile };
}
