import { groupBy } from "../../../base/groupBy.ts";
import { sumOf } from "../../../base/sum.ts";
import type { PartialRun, RunSummary, Touch } from "../../../base/types/run.ts";
import { count, some } from "../../../reports/format.ts";

const sumCases = (leftOut: PartialRun["leftOut"]) => sumOf(leftOut, ({ cases }) => cases);

/** `9 cases left out`; empty if none is. */
export function leftOutPhrase({ leftOut }: PartialRun): string {
  const cases = sumCases(leftOut);
  return cases === 0 ? "" : `${count(cases, "case")} left out`;
}

/** How many cases a partial run asks: `3 of 12 cases`. */
export function askedPhrase({ asked, leftOut }: PartialRun): string {
  return `${asked.length} of ${count(asked.length + sumCases(leftOut), "case")}`;
}

/** Which cases a partial run asks and leaves out, and why: one line per reason. */
export function describePartial(partial: PartialRun): string[] {
  const { asked, leftOut, since } = partial;
  const before = describeSince(since);
  const isOneSuite = new Set([...asked, ...leftOut].map(({ suite }) => suite)).size === 1;
  const groups = groupBy(asked, (one) => `${isOneSuite ? "" : ` of ${one.suite}`}: ${explainTouch(one, since)}`);
  const nothing = `No case is asked: no change ${before} affects any of ${count(sumCases(leftOut), "case")}.`;
  const isSame = leftOut.every(({ why }) => why === "unchanged");
  if (asked.length === 0 && isSame) return [nothing];
  return [
    asked.length === 0 ? "No case is asked." : `Asking ${askedPhrase(partial)}.`,
    ...[...groups].map(
      ([why, own]) =>
        `  ${some(
          own.map((one) => one.case),
          10,
        )}${why}`,
    ),
    ...describeLeftOut(partial).map((text) => `Left out: ${text}`),
  ];
}

/** What a partial run leaves out and why, one phrase per reason. */
function describeLeftOut({ leftOut, since }: PartialRun): string[] {
  const reasons = {
    unchanged: `No change ${describeSince(since)} touches them.`,
    "not listed": "Their server could not be listed.",
  };
  return (["unchanged", "not listed"] as const).flatMap((why) => {
    const suites = leftOut.filter((one) => one.why === why);
    const list = suites.map(({ suite, cases }) => `${count(cases, "case")} of ${suite}`);
    return list.length === 0 ? [] : [`${some(list)}. ${reasons[why]}`];
  });
}

const describeSince = (since: PartialRun["since"]) =>
  since === "baseline" ? "since the accepted baseline" : "since they were last asked";

/** The cases that were not asked, as facts. */
export function partialFacts({ partial }: RunSummary): (readonly [string, string])[] {
  return (partial ? describeLeftOut(partial) : []).map((text) => ["Left out", text] as const);
}

const reasons: Record<Exclude<Touch, "stale" | "neighbour" | "no record">, string> = {
  new: "new",
  edited: "the case, its mocks or its skill changed",
  "not graded": "no graded trial yet",
};

function explainTouch({ why, tools }: PartialRun["asked"][number], since: PartialRun["since"]): string {
  if (why === "no record") return since === "baseline" ? "there is no accepted baseline" : "not asked before";
  if (why === "stale") return `${some(tools)} changed`;
  if (why === "neighbour") return `${some(tools)} changed, which is similar to an expected tool`;
  return reasons[why];
}
