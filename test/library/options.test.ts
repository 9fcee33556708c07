import { join } from "node:path";
import { expect, it } from "vitest";
import { commands } from "../../src/evals/commands/index.ts";
import { singleUse } from "../../src/evals/commands/projectSchema.ts";
import type { CompareOptions, ConfigOptions, RunOptions } from "../../src/evals/options.ts";

const script = join(import.meta.dirname, "../../scripts/optionTypes.mjs");

it("declares the options of the library with the descriptions of the flags", async () => {
  const { renderOptionTypes } = (await import(script)) as { renderOptionTypes(...args: unknown[]): string };
  const text = renderOptionTypes(commands, singleUse);
  expect(text).toContain("export type RunOptions = {");
  expect(text).toContain("  model?: string | readonly (string)[] | undefined;");
  expect(text).toContain("  /** A: folder or id of a run, or a baseline file. */\n  base: string;");
  expect(text).not.toMatch(/^ {2}(json|format|dryRun|watch)\??:/m);
});

it("infers the same options from the commands", () => {
  const options: RunOptions = {
    model: "lexical",
    case: ["a", "b"],
    trials: 3,
    check: "on",
    failOn: "rate",
    accept: true,
  };
  const config: ConfigOptions = { maxRequests: 10, passRate: 1 };
  // @ts-expect-error: compare needs two records
  const compared: CompareOptions = { base: "a" };
  // @ts-expect-error: no such option
  const misspelled: RunOptions = { trails: 3 };
  // @ts-expect-error: cases are of one call
  const single: ConfigOptions = { case: "a" };
  expect([options, config, compared, misspelled, single]).toHaveLength(5);
});
