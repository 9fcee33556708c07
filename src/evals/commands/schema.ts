import { exitCodes } from "../base/types/errors.ts";
import { outputNames } from "../base/types/flagValues.ts";
import { choice, defineCommand, text } from "./command.ts";

const names = ["suite", "config", ...outputNames] as const;
type Name = (typeof names)[number];

export const schemaCommand = defineCommand({
  command: "schema [of]",
  describe: "Print the JSON Schema of suites, of evals.config, or of what a command prints",
  positionals: { of: choice("Which schema to print", names, { default: "suite" }) },
  flags: { output: text("Write all schemas to this folder, one file each") },
  epilogue:
    "`show` and `merge` print the object of the command that made the record. " +
    "shard and dry-run are for `run` with these flags, lint-rules for `lint --rules --json`.",
  examples: [
    ["schema > suite.schema.json", "For the $schema key of a suite file"],
    ["schema lint", "The object that `evals lint --json` prints"],
  ],
  run: async ({ of, output }, io) => {
    if (output === undefined) io.out(`${JSON.stringify(await makeSchema(of), null, 2)}\n`);
    else {
      const { writeOutput } = await import("../base/files/files.ts");
      const { resolve } = await import("node:path");
      for (const name of names)
        await writeOutput(
          resolve(io.cwd, output, `${name}.json`),
          `${JSON.stringify(await makeSchema(name), null, 2)}\n`,
          io,
        );
    }
    return exitCodes.passed;
  },
});

/** Derived from the zod schemas that the program itself uses. */
async function makeSchema(of: Name): Promise<unknown> {
  if (of === "suite") return (await import("../input/suites/jsonSchema.ts")).createSuiteSchema();
  if (of === "config") return (await import("./projectSchema.ts")).projectJsonSchema();
  return (await import("./outputs.ts")).outputJsonSchema(of);
}
