// node scripts/bundle.mjs: bundles the programs and the library from src into dist, and writes the licenses of the packages
// that they contain to dist/THIRD-PARTY.md. A module is in one chunk alone, whichever entries reach it, so that the CLI,
// the library and the modules of users share it. What is imported late stays in chunks that are loaded late.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { buildPage } from "./buildPage.mjs";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const { optionalDependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Packages that stay outside: those that find their own files by path, native ones, and those that users choose to install. */
const external = ["jiti", ...Object.keys({ ...optionalDependencies, ...peerDependencies })];

/** yargs measures the lines of its help with packages that take a tenth of the start of every command to load. */
const quickWidth = {
  name: "quick-width",
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^string-width$/ }, ({ kind, resolveDir }) =>
      kind === "import-statement" ? resolve("fast-string-width", { kind, resolveDir }) : undefined,
    ),
};

for (const folder of ["evals", "server", "chunks"]) rmSync(join(dist, folder), { recursive: true, force: true });

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/evals/cli.ts", out: "evals/cli" },
    { in: "src/evals/index.ts", out: "evals/index" },
    { in: "src/evals/vitest.ts", out: "evals/vitest" },
    { in: "src/server/main.ts", out: "server/main" },
    // Started by their paths, beside the chunks that start them.
    { in: "src/evals/base/code/thread.ts", out: "chunks/thread" },
    { in: "src/evals/input/imports/source/sourceProcess.ts", out: "chunks/sourceProcess" },
    { in: "src/evals/asking/models/local/modelProcess.ts", out: "chunks/modelProcess" },
  ],
  outdir: dist,
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  mainFields: ["module", "main"],
  external: ["#page", ...external],
  plugins: [quickWidth],
  // Packages in CommonJS call `require`, which a module does not have.
  banner: {
    js: 'import { createRequire as createPackageRequire } from "node:module"; const require = createPackageRequire(import.meta.url);',
  },
  // Shortens every start by some 5 %. Names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

// What such an import yields has no names in the bundle.
for (const { entryPoint = "" } of Object.values(metafile.outputs))
  if (metafile.inputs[entryPoint]?.format === "cjs")
    throw new Error(`${entryPoint} is CommonJS: import it statically, in a module that is imported late.`);

const page = await buildPage();
mkdirSync(join(dist, "evals/page"), { recursive: true });
writeFileSync(join(dist, "evals/page/asset.js"), page.source);

const licenses = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BSL-1.0", "Unlicense"];

/** The folders of the packages that a bundle has code of. */
function listPackages({ outputs }) {
  const inputs = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const used = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [resolve(root, path)] : []));
  return used.flatMap((path) => path.match(/^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/) ?? []);
}

/** Name and version of a package, and the text of its license and notices. Throws for a license that is not permitted. */
function readLicense(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!license.split(" AND ").every((one) => licenses.includes(one)))
    throw new Error(`${name} in ${relative(root, folder)} has the license ${license}.`);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
  const text = texts.length > 0 ? texts.join("\n\n") : `${license}. Author: ${author?.name ?? author}.`;
  return { title: `${name} ${version}`, text };
}

const folders = new Set([...listPackages(metafile), ...listPackages(page.metafile)]);
const packagesByText = new Map();
for (const { title, text } of [...folders].map(readLicense).sort((a, b) => a.title.localeCompare(b.title)))
  packagesByText.set(text, [...new Set([...(packagesByText.get(text) ?? []), title])]);
const sections = [...packagesByText].map(([text, titles]) => `## ${titles.join(", ")}\n\n\`\`\`\n${text}\n\`\`\`\n`);
writeFileSync(
  join(dist, "THIRD-PARTY.md"),
  `# Third-party software\n\nThe files in this folder contain code of the packages below, with their licenses.\n\n${sections.join("\n")}`,
);
