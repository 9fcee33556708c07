import { executable } from "../../asking/scoring/tools.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { printableLines } from "../../base/text/display.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import type { Problem } from "../../base/types/errors.ts";
import { executionPolicies } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import { asksModel } from "../../base/types/suite.ts";
import { some } from "../../reports/format.ts";
import type { Opened } from "./servers.ts";

/** The names of the tools whose calls are executed in trials of these cases on these models. */
export function listExecuted(cases: readonly PlannedCase[], models: readonly Model[]): string[] {
  const executed = cases.filter(({ suite, case: { mocks } }) => {
    const isAsked = models.some((model) => !model.makesUpArguments && asksModel(suite, model));
    return isAsked && mocks?.unmatched !== "error";
  });
  // Many cases are shown the same list.
  const lists = new Map(
    executed.map(({ suite, toolset }) => [JSON.stringify([suite.name, toolset.hash]), { suite, toolset }]),
  );
  const names = [...lists.values()].flatMap(({ suite, toolset }) =>
    toolset.tools.filter((tool) => executable(tool, suite.execute).yes).map(({ name }) => name),
  );
  return [...new Set(names)];
}

/** Prints which tools a command will execute, before its first request. Prints nothing if it executes none. */
export function announceExecuted(names: readonly string[], io: Pick<Io, "err">): void {
  if (names.length > 0) io.err(printableLines(`Calls of these tools are executed: ${some(names, 20)}.`));
}

/** The names in `execute` that no tool has, as errors; none if a server could not be listed. */
export function findUnknownExecuted(opened: readonly Opened[]): Problem[] {
  if (opened.some((one) => "failure" in one)) return [];
  const listed = new Set(opened.flatMap((one) => ("source" in one ? one.source.tools.map(({ name }) => name) : [])));
  const problems = opened.flatMap(({ suite: { execute, file } }) =>
    (Array.isArray(execute) ? execute : []).flatMap((name) => {
      if (listed.has(name)) return [];
      const hint = didYouMean(
        name,
        [...executionPolicies, ...listed],
        `A policy is one of: ${executionPolicies.join(", ")}.`,
      );
      return [
        {
          severity: "error" as const,
          message: `"execute" names "${name}", which is no listed tool.`,
          hint,
          location: { file },
        },
      ];
    }),
  );
  // --execute is the same for all suites.
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}
