import * as z from "zod";
import { type CaseFile, type SuiteFile, suiteFileSchema } from "../types/suite.ts";

/** The schema of one case of a suite file. */
export const caseSchema = suiteFileSchema.shape.cases.unwrap().element;

/** The schema of all of a suite file but its cases, which are checked one by one so that each shows its own faults. */
export const headerSchema = suiteFileSchema.extend({
  cases: z.array(z.unknown()).optional(),
  evals: z.array(z.unknown()).optional(),
});
export type Header = Omit<SuiteFile, "cases" | "evals">;

export type ExpectFile = NonNullable<CaseFile["expect"]>;

/** `tool` and its like take one name or a list of names. */
export function namesOf(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === "string" ? [value] : (value ?? []);
}

/** What an `expect` is about. Undefined when it names nothing that could be checked. */
export function kindOf(expect: ExpectFile): "tool" | "none" | "any" | "calls" | "skill" | "avoid" | undefined {
  if (expect.calls) return "calls";
  if (expect.skill !== undefined) return "skill";
  const names = namesOf(expect.tool);
  const [name] = names;
  if (names.length === 1 && (name === "none" || name === "any")) return name;
  if (names.length > 0) return "tool";
  return expect.avoid ? "avoid" : undefined;
}
