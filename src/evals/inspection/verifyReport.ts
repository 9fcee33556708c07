import { sumOf } from "../base/sum.ts";
import type { VerifiedCoverage, VerifiedSuite, VerifyReport } from "../base/types/verify.ts";
import {
  type Block,
  diff,
  facts,
  heading,
  list,
  makeColumns,
  section,
  type TableCell,
  type Tone,
  table,
  text,
} from "../reports/document.ts";
import { count, integer, some } from "../reports/format.ts";

type Verified = VerifiedSuite["records"][number];
type State = Verified["cases"][number]["state"];

/**
 * The report of `evals baseline verify`: whether the baselines match the current tools and cases, what differs, and coverage.
 */
export function verifyDocument(report: VerifyReport): Block[] {
  const { suites, coverage, failed, withoutSuite } = report;
  const [first = "", ...more] = listStatements(report);
  const isOk = failed.length === 0;
  const isKnown = suites.every(({ problem }) => problem === undefined);
  const tone: Tone = !isOk ? "bad" : isKnown && !listRecords(suites).some(isOutdated) ? "good" : "warn";
  return [
    heading(1, first, tone),
    text(...more, describeNext(report)),
    ...suites.flatMap(listSuite),
    ...coverage.flatMap(listCoverage),
    ...section("Baselines without a suite", [list("baseline", withoutSuite)]),
    facts(["Exit code", failed.length > 0 ? `1, because of --fail-on ${failed.join(", ")}` : undefined]),
  ];
}

const listRecords = (suites: readonly VerifiedSuite[]) => suites.flatMap(({ records }) => records);

const hasNoBaseline = ({ records, problem }: VerifiedSuite) => problem === undefined && records.length === 0;

/** Whether a baseline does not match the current tools and cases of its suite. */
const isOutdated = ({ lists, cases }: Verified) => lists.length > 0 || cases.length > 0;

function listStatements({ suites, coverage, gates }: VerifyReport): string[] {
  const names = (of: readonly VerifiedSuite[]) => some(of.map(({ suite }) => suite));
  const unknown = suites.filter(({ problem }) => problem !== undefined);
  const unaccepted = suites.filter(hasNoBaseline);
  const records = listRecords(suites);
  const outdated = records.filter(isOutdated);
  const cases = sumOf(outdated, (one) => one.cases.length);
  const total = sumOf(records, (one) => one.total);
  const current = records.length - outdated.length;
  const missing = sumOf(coverage, (one) => one.uncovered.length);
  const isCoverageGated = gates.some((gate) => gate.startsWith("uncovered"));
  const statements: (string | false)[] = [
    cases > 0 && `OUTDATED: the baselines do not cover ${integer(cases)} of ${count(total, "case")} as they are now.`,
    outdated.length > 0 &&
      cases === 0 &&
      "OUTDATED: tools changed since the baselines were accepted, but none that a case names.",
    unaccepted.length > 0 &&
      `NOT ACCEPTED: ${names(unaccepted)} ${unaccepted.length === 1 ? "has" : "have"} no baseline.`,
    unknown.length > 0 && `NOT VERIFIED: the tools of ${names(unknown)} could not be listed.`,
    outdated.length === 0 &&
      current > 0 &&
      `VERIFIED: ${count(current, "baseline")} ${current === 1 ? "matches" : "match"} the current tools and cases.`,
    isCoverageGated && missing > 0 && `NOT COVERED: no case expects ${count(missing, "tool")}.`,
  ];
  return statements.filter((one) => one !== false);
}

function describeNext({ suites, failed }: VerifyReport): string {
  const stale = suites.filter(({ records }) => records.some(isOutdated));
  const [first] = [...stale, ...suites.filter(hasNoBaseline)];
  if (suites.some(({ problem }) => problem !== undefined)) return "Next: find out why with `evals doctor`.";
  if (first) return `Next: \`evals run ${first.file}\`, then \`evals baseline accept\`.`;
  return failed.length > 0
    ? "Next: write a case for each tool or parameter that users rely on."
    : "Next: nothing, until a tool or a case changes.";
}

function listSuite({ suite, file, records, problem }: VerifiedSuite): Block[] {
  const shown = records.filter((one) => isOutdated(one) || one.removed.length > 0);
  if (shown.length === 0 && problem === undefined) return [];
  return [heading(2, `${suite} (${file})`), text(problem), ...shown.flatMap(listRecord)];
}

const reasons: Record<State, string> = {
  stale: "its tool changed",
  edited: "its query or expectation changed",
  new: "not in the baseline",
  "not graded": "no graded trial in the baseline",
};

function listRecord({ file, model, acceptedAt, lists, cases, removed, total, accepted }: Verified): Block[] {
  const rows = cases.map(({ id, state, tools }): TableCell[] => [{ code: id }, reasons[state], { lines: tools }]);
  const columns = makeColumns(["id", "case"], ["text", "why"], ["name", "changed"]);
  return [
    heading(
      3,
      `${model}: ${integer(accepted)} of ${count(total, "case")} covered, accepted ${acceptedAt.slice(0, 10)}`,
    ),
    table("case", columns, rows, { max: 20 }),
    ...lists.flatMap(({ cases: affected, changes }) => [
      text(affected.length < total ? `Tools of ${some(affected)}:` : undefined),
      diff(changes, 20),
    ]),
    text(removed.length > 0 ? `No longer in the suite: ${some(removed)}.` : undefined),
    facts(["Baseline", file]),
  ];
}

function listCoverage({ suites, tools, uncovered, parameters }: VerifiedCoverage): Block[] {
  const rows = parameters.map(({ tool, names }): TableCell[] => [{ code: tool }, { lines: names }]);
  const columns = makeColumns(["name", "tool"], ["text", "parameters that no case names"]);
  const share = `${integer(tools - uncovered.length)} of ${count(tools, "tool")}`;
  return section(`Coverage of ${some(suites)}: cases expect ${share}`, [
    text(uncovered.length > 0 ? `Not expected by any case: ${some(uncovered, 20)}.` : undefined),
    table("tool", columns, rows, { max: 10 }),
  ]);
}
