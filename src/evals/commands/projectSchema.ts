import type { Options } from "yargs";
import * as z from "zod";
import { createProjectSchema } from "../input/suites/projectFile.ts";
import { toCamelCase } from "./commandLine.ts";
import { runCommand } from "./run.ts";

// The keys of `evals.config.*` are the flags of `evals run`, so that the help, the file and its schema share one
// definition.

/** Flags that make sense only for a single call, not for a project: the cases, the record, the form of the output. */
export const singleUse: readonly string[] = [
  "skill",
  "case",
  "filter",
  "failed",
  "dry-run",
  "accept",
  "resume",
  "retry-broken",
  "json",
  "nightly",
  "changed",
  "watch",
  "cache",
  "env",
  "env-file",
];

const entries = Object.entries(runCommand.flags).filter(([name, { hidden }]) => !hidden && !singleUse.includes(name));

/** The keys of `evals.config.*`. Numbers are checked against the ranges of their flags when the file is read. */
export const projectSchema = createProjectSchema({
  ...Object.fromEntries(
    entries.filter(([name]) => name !== "header").map(([name, flag]) => [toCamelCase(name), toSchema(flag).optional()]),
  ),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe("Further headers of every request to the model's API; $VARIABLE in a value is read from the environment"),
});

function toSchema({ type, number, choices, array, describe = "" }: Options): z.ZodType {
  const text = choices ? z.enum(choices.map(String)) : z.string().min(1);
  const one = type === "boolean" ? z.boolean() : number ? z.number() : text;
  return (array ? z.union([one, z.array(one).min(1)]) : one).describe(describe);
}

/** The JSON Schema (draft 2020-12) of `evals.config.json` and `.yaml`, for editors. */
export function projectJsonSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(projectSchema, { target: "draft-2020-12", io: "input" });
  return { $schema, $id: "urn:tool-evals:schema:config", title: "tool-evals project file", ...rest };
}
