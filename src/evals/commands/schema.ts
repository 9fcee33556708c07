import { exitCodes } from "../errors.ts";
import { defineCommand } from "./command.ts";

/** `evals schema`: prints the JSON Schema of what the program reads or writes. */
export const schemaCommand = defineCommand({
  command: "schema [of]",
  describe: "Print the JSON Schema of suite files, or of the output of `run --json` or `lint --json`",
  positionals: {
    of: { choices: ["suite", "run", "lint"] as const, default: "suite" as const, describe: "Which schema to print" },
  },
  flags: {},
  examples: [["schema > suite.schema.json", "For the $schema key of a suite file"]],
  run: async ({ of }, io) => {
    const { schemas } = await import("../inspection/schemas.ts");
    io.out(`${JSON.stringify(schemas[of ?? "suite"](), null, 2)}\n`);
    return exitCodes.passed;
  },
});
