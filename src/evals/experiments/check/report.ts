import type { CheckSummary, ComparedCheck, NamedCase } from "../../base/types/check.ts";
import type { CaseSummary, SuiteSummary } from "../../base/types/run.ts";
import {
  type Block,
  diff,
  facts,
  heading,
  knownFacts,
  makeColumns,
  section,
  type TextChange,
  type Tone,
  table,
  text,
} from "../../reports/document.ts";
import {
  capital,
  count,
  integer,
  level,
  money,
  pointsWithInterval,
  probability,
  pValue,
  ratio,
  share,
} from "../../reports/format.ts";
import {
  checkHeadline,
  checkNext,
  checkReason,
  type FollowUp,
  isCompared,
  isExhausted,
  isPlacebo,
  lostLines,
  netSentence,
  placeboText,
  readCounts,
} from "./sentences.ts";

// The report of a regression check: the blocks of a document, then its facts.

type ArmNames = { base: string; head: string };
const checkArms: ArmNames = { base: "baseline", head: "now" };
const placeboArms: ArmNames = { base: "edited", head: "as it is" };

export const checkTone: Readonly<Record<CheckSummary["kind"], Tone>> = {
  regressed: "bad",
  changed: "warn",
  "no-regression": "good",
  inconclusive: "warn",
  unchanged: "good",
  "not-comparable": "warn",
};

/** What happened in a check, what to do, and its figures. `isLeading`: the lead of the report has the first two. */
export function checkBlocks(
  suite: SuiteSummary,
  { isLeading = false, followUp = {} }: { isLeading?: boolean; followUp?: FollowUp } = {},
): Block[] {
  const check = suite.verdict;
  if (!check) return [];
  const title = heading(3, checkHeadline(check), checkTone[check.kind]);
  if (!isCompared(check)) return [title, text(checkNext(check, followUp), ...listNotes(check))];
  const exhausted = isExhausted(check);
  const arms = isPlacebo(check) ? placeboArms : checkArms;
  return [
    title,
    text(
      ...(isLeading ? [] : [checkReason(check), ...lostLines(check), checkNext(check, followUp)]),
      netSentence(check),
    ),
    ...drawNetChange(check),
    ...changedCases("Cases that dropped (passed/answered)", check.flagged, exhausted, arms),
    ...changedCases("Cases that rose (passed/answered)", check.rose, exhausted, arms),
    ...changedCases("Cases that look worse, possibly by chance (passed/answered)", check.suspects, exhausted, arms),
    ...flippedCases(check, arms),
    ...grownConfusions(check.grew, arms),
    ...(isPlacebo(check) ? [] : changedTools(check, suite.cases)),
    facts(...checkFacts(check), ["Spent on the suite", money(suite.totals.costUsd)]),
    text(...listNotes(check)),
  ];
}

function drawNetChange(check: ComparedCheck): Block[] {
  const { kind, net, margin } = check;
  if (!net) return [];
  const interval = isExhausted(check) ? ([net.change, net.change] as const) : net.interval;
  return [{ kind: "scale", change: net.change, interval, margin, tone: checkTone[kind] }];
}

/** A table of the cases that changed, with their tests. */
export function changedCases(
  title: string,
  cases: readonly NamedCase[],
  exhausted: boolean,
  { base, head }: ArmNames,
): Block[] {
  const p = (one: NamedCase) => (exhausted ? [] : [probability(one.p)]);
  const rows = cases.map((one) => {
    const { base: then, head: now } = readCounts(one);
    return [one.selected ? `${one.case} (tool selection)` : one.case, ratio(then), ratio(now), ...p(one)];
  });
  const columns = makeColumns(["id", "case"], ["figure", base, head, ...(exhausted ? [] : ["p"])]);
  return section(title, [table("case", columns, rows)]);
}

/** Every case with answers that differ, in either direction: the evidence of a CHANGED verdict. */
export function flippedCases({ flips }: ComparedCheck, { base, head }: ArmNames): Block[] {
  const rows = flips.map(({ case: id, down, up, pairs }) => [id, integer(down), integer(up), integer(pairs)]);
  const columns = makeColumns(["id", "case"], ["figure", `only ${base}`, `only ${head}`, "pairs"]);
  return section("Answers that differ (better in only one of the two)", [table("case", columns, rows)]);
}

/** A table of the confusions that became more frequent. */
export function grownConfusions(grew: ComparedCheck["grew"], { base, head }: ArmNames): Block[] {
  const rows = grew.map((one) => {
    const picked = one.acceptable ? `${one.picked} (acceptable)` : one.picked;
    return [one.expected, picked, share(one.base), share(one.head)];
  });
  const columns = makeColumns(["name", "expected", "picked"], ["figure", base, head]);
  return section("Confusions that grew (of graded trials)", [table("pair", columns, rows)]);
}

/** Changes beyond this number are listed without a word diff, which takes time to compute. */
const maxWordings = 20;

const namedTools = (label: string): readonly string[] => label.match(/(?:skill:)?[\w-]+/g) ?? [];

/** The cases whose result changed, with the tools they expect: `read-notes: 10/10 -> 2/10`. */
function listMoved({ flagged, rose, suspects, flips }: ComparedCheck, cases: readonly CaseSummary[]) {
  const moved = new Map([
    ...flips.map(({ case: id, down, up, pairs }) => {
      return [id, `better only before ${down}, only now ${up} of ${pairs}`] as const;
    }),
    ...[...suspects, ...rose, ...flagged].map((one) => {
      const { base, head } = readCounts(one);
      return [one.case, `${ratio(base)} -> ${ratio(head)}${one.selected ? " (tool selection)" : ""}`] as const;
    }),
  ]);
  return cases.flatMap(({ id, expected }) => {
    const text = moved.get(id);
    return text === undefined ? [] : [{ text: `${id}: ${text}`, tools: namedTools(expected) }];
  });
}

/**
 * The changes between the lists, those of tools that a dropped case expects or a grown confusion names first. Each
 * lists the cases that expect its tool and whose result changed.
 */
function changedTools(check: ComparedCheck, cases: readonly CaseSummary[]): Block[] {
  const { grew, flagged, flips, changes } = check;
  const dropped = new Set([...flagged, ...flips].map((one) => one.case));
  const named = new Set([
    ...cases.flatMap(({ id, expected }) => (dropped.has(id) ? namedTools(expected) : [])),
    ...grew.flatMap(({ expected, picked }) => [...namedTools(expected), ...namedTools(picked)]),
  ]);
  const findTool = ({ label }: { label: string }) => /^(?:skill:)?[\w-]+/.exec(label)?.[0] ?? "";
  const isInvolved = (change: { label: string }) => named.has(findTool(change));
  const moved = listMoved(check, cases);
  const sorted = [...changes.filter(isInvolved), ...changes.filter((change) => !isInvolved(change))];
  const shown = sorted.map((change, at): TextChange => {
    const beside = moved.filter(({ tools }) => tools.includes(findTool(change))).map(({ text: one }) => one);
    return { ...toTextChange(change, at), ...(beside.length > 0 && { beside }) };
  });
  return section("Changes in the tool list", [diff(shown, 6)]);
}

function toTextChange(
  { label, class: known, before, after }: ComparedCheck["changes"][number],
  at: number,
): TextChange {
  const effect = known === "unknown" ? "may break callers" : known;
  const full = effect === undefined || effect === "description only" ? label : `${label} (${effect})`;
  return at < maxWordings ? { label: full, ...(before && { before }), ...(after && { after }) } : { label: full };
}

/** The verdict as plain lines, for forms without layout. */
export function checkLines(check: CheckSummary, followUp: FollowUp = {}): string[] {
  const next = checkNext(check, followUp);
  const said = isCompared(check)
    ? [`${checkHeadline(check)} · ${checkReason(check)}`, next, netSentence(check)]
    : [checkHeadline(check), next];
  return [...said, ...listNotes(check)].filter((line) => line !== "");
}

function listNotes(check: CheckSummary): string[] {
  return [...(check.kind === "not-comparable" ? check.reasons.slice(1) : []), ...check.notes.map(capital)];
}

/** The statistics of a check under their textbook names, and its trials. */
export function checkFacts(check: ComparedCheck): [string, string][] {
  const { suite, families, reach, method, calls, missing, selection, dependence, placebo, resent } = check;
  const exhausted = isExhausted(check);
  const each = Number((5 / families).toPrecision(2));
  const shared = `5% for the whole run, shared by ${count(families, "check")} (${each}% each)`;
  const bothWays = resent?.isCounted ? "; counted as passes and as failures" : "";
  return knownFacts([
    ["Decided", decisionText(check)],
    ["Sign test of the suite", exhausted || !suite ? undefined : signTest(suite, method)],
    ["Tool selection", selection && !exhausted ? selectionText(selection) : undefined],
    ["Consecutive answers", dependence && `correlated (${dependence.correlation.toFixed(2)}), so they count in blocks`],
    ["Reach", check.kind === "inconclusive" && check.because !== "stopped" ? reachText(reach) : undefined],
    ["Error rate", families > 1 ? shared : undefined],
    ["Answered after an error", resent && `${integer(resent.base)} baseline, ${integer(resent.head)} now${bothWays}`],
    ["Harmless edits", placebo && `${placeboText(placebo)} (run ${placebo.run})`],
    ["Missing answers", missing ? missingText(missing) : undefined],
    ["Trials of the check", callsText(calls, method)],
  ]);
}

function selectionText({ change, interval, cases }: NonNullable<ComparedCheck["net"]>): string {
  return `net change ${pointsWithInterval(change, interval)}, mean over ${count(cases, "case")}`;
}

function decisionText({ kind, by, because, method, look, looks, trials, cap }: ComparedCheck): string | undefined {
  if (method !== "pairs" || because === "stopped") return undefined;
  return `${decidingTest(kind, by)}after ${count(trials, "trial")} per case and list (interim analysis ${look} of ${looks}, cap ${cap})`;
}

function decidingTest(kind: ComparedCheck["kind"], by: ComparedCheck["by"]): string {
  if (by === "cases") return "by Fisher's exact test of each case, ";
  if (by === "suite") return "by the sign test, ";
  return kind === "no-regression" ? "by the intervals of both net changes, " : "";
}

function signTest({ down, up, p, level: alpha, rate }: NonNullable<ComparedCheck["suite"]>, method: string): string {
  const limit = `${pValue(p)} against ${level(Number(alpha.toPrecision(2)))}`;
  if (down === null || up === null) return `${limit} (Cochran-Mantel-Haenszel: the records share no tool orders)`;
  const pairs = method === "pairs" ? "" : " of the two records";
  const what = rate === "selection" ? " in tool selection" : "";
  return `${count(down, "pair")}${pairs} worse${what}, ${integer(up)} better: ${limit}`;
}

function reachText(reach: number | null): string {
  if (reach === null) return "of a single case, not even a loss of everything is caught by 8 of 10 such checks";
  return `of a single case, 8 of 10 such checks catch a loss of ${reach} pp`;
}

function missingText({ base, head, recovered }: NonNullable<ComparedCheck["missing"]>): string {
  const again = recovered.base + recovered.head;
  const came = again > 0 ? `; ${integer(again)} came when asked again` : "";
  return `${integer(base)} baseline, ${integer(head)} now${came}`;
}

function callsText({ base, head, copies, missing }: ComparedCheck["calls"], method: string): string | undefined {
  if (base + head === 0 || method === "records" || method === "unpaired-records") return undefined;
  const extra = [
    copies > 0 ? `${count(copies, "repeated reply")} dropped` : "",
    missing > 0 ? `${integer(missing)} without an answer` : "",
  ].filter((part) => part !== "");
  return `${integer(base)} baseline, ${integer(head)} now${extra.length > 0 ? `; ${extra.join(", ")}` : ""}`;
}
