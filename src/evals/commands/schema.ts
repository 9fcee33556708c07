import { exitCodes } from "../types/errors.ts";
import { defineCommand } from "./command.ts";

/** `evals schema`: prints the JSON Schema of what the program reads or writes. */
export const schemaCommand = defineCommand({
  command: "schema [of]",
  describe:
    "Print the JSON Schema of suite files, of evals.config, or of the output of `run`, `lint` or `verify --json`",
  positionals: {
    of: {
      choices: ["suite", "config", "run", "lint", "verify"] as const,
      default: "suite" as const,
      describe: "Which schema to print",
    },
  },
  flags: {},
  examples: [["schema > suite.schema.json", "For the $schema key of a suite file"]],
  run: async ({ of }, io) => {
    io.out(`${JSON.stringify(await makeSchema(of), null, 2)}\n`);
    return exitCodes.passed;
  },
});

/** Derived from the zod schemas that the program itself uses. */
async function makeSchema(of: "suite" | "config" | keyof typeof outputs): Promise<unknown> {
  if (of === "suite") return (await import("../suites/jsonSchema.ts")).jsonSchema();
  if (of === "config") return (await import("./projectSchema.ts")).projectJsonSchema();
  const z = await import("zod");
  return z.toJSONSchema(await outputs[of](), { target: "draft-2020-12" });
}

const outputs = {
  run: async () => (await import("../types/run.ts")).runSummarySchema,
  lint: async () => (await import("../types/lint.ts")).lintReportSchema,
  verify: async () => (await import("../types/verify.ts")).verifyReportSchema,
};
