import type { Argv } from "yargs";
import { type ExitCode, exitCodes } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Command } from "./command.ts";

type SchemaFlags = { of?: "suite" | "run" | "lint" };

/** `evals schema`: prints the JSON Schema of what the harness reads or writes. */
export const schemaCommand: Command = {
  command: "schema [of]",
  describe: "Print the JSON Schema of suite files, or of what `run --json` or `lint --json` prints",
  builder: (yargs: Argv) =>
    yargs
      .positional("of", {
        choices: ["suite", "run", "lint"] as const,
        default: "suite" as const,
        describe: "which schema",
      })
      .example("$0 schema > suite.schema.json", "for the $schema key of a suite file"),
  handler: async ({ of }: SchemaFlags, io: Io): Promise<ExitCode> => {
    const { schemas } = await import("../inspection/schemas.ts");
    io.out(`${JSON.stringify(schemas[of ?? "suite"](), null, 2)}\n`);
    return exitCodes.passed;
  },
};
