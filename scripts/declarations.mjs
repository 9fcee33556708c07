// node scripts/declarations.mjs: copies the declarations that the library's entries reach from build to dist, with specifiers
// that every resolver reads. The options of the functions are written out from the flags of the commands.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { commands } from "../build/evals/commands/index.js";
import { singleUse } from "../build/evals/commands/projectSchema.js";
import { renderOptionTypes } from "./optionTypes.mjs";

const root = join(import.meta.dirname, "..");
const specifier = /(from|import\()\s*"(\.[^"]+)\.(?:ts|js)"/g;

const reached = new Set(["evals/index.d.ts", "evals/vitest.d.ts"]);
for (const file of reached) {
  const isOptions = file === "evals/options.d.ts";
  const text = isOptions ? renderOptionTypes(commands, singleUse) : readFileSync(join(root, "build", file), "utf8");
  for (const [, , path = ""] of text.matchAll(specifier)) reached.add(join(dirname(file), `${path}.d.ts`));
  const copy = join(root, "dist", file);
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy, text.replaceAll(specifier, '$1 "$2.js"').replaceAll('import( "', 'import("'));
}
