// After tsc: keeps the declarations that the library's entries reach, with specifiers that every resolver reads, and
// removes the others.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const entries = ["evals/index.d.ts", "evals/vitest.d.ts"].map((file) => join(dist, file));
const specifier = /(from|import\()\s*"(\.[^"]+)\.(?:ts|js)"/g;

const reached = new Set(entries);
for (const file of reached) {
  const text = readFileSync(file, "utf8");
  for (const [, , path = ""] of text.matchAll(specifier)) reached.add(join(dirname(file), `${path}.d.ts`));
  writeFileSync(file, text.replaceAll(specifier, '$1 "$2.js"').replaceAll('import( "', 'import("'));
}
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" }))
  if (name.endsWith(".d.ts") && !reached.has(join(dist, name))) rmSync(join(dist, name));
