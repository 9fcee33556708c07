// node scripts/buildPage.mjs: bundles the page of reports (src/evals/page) into dist/evals/page/asset.js, as two strings.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");

/** The source of the module that `#page` names: the script and the style sheet of the page. */
export async function buildPage() {
  const { outputFiles } = await build({
    entryPoints: ["main.tsx", "style.css"].map((file) => join(root, "src/evals/page", file)),
    tsconfig: join(root, "src/evals/page/tsconfig.json"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    outdir: join(root, "dist"),
    write: false,
  });
  const read = (end) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  const [script, style] = [read(".js"), read(".css")];
  // Both stand in elements of an HTML file, which nothing in them may end.
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("The page would end its own element.");
  return `export const script = ${JSON.stringify(script)};\nexport const style = ${JSON.stringify(style)};\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = join(root, "dist/evals/page/asset.js");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await buildPage());
}
