import type { CheckSummary, ComparedCheck } from "../types/check.ts";
import type { CaseSummary, RunSummary, SuiteSummary } from "../types/run.ts";
import { type Block, heading, makeRows, section, type TextChange, type Tone, text } from "./document.ts";
import { driftJson } from "./drift.ts";
import {
  capital,
  count,
  integer,
  level,
  money,
  points,
  pointsWithInterval,
  probability,
  pValue,
  ratio,
  share,
  size,
  some,
} from "./format.ts";

/** How the two arms of a comparison are called. */
export type ArmNames = { base: string; head: string };
const arms: ArmNames = { base: "baseline", head: "now" };

export const checkTone: Readonly<Record<CheckSummary["kind"], Tone>> = {
  regressed: "bad",
  changed: "warn",
  "no-regression": "good",
  inconclusive: "warn",
  unchanged: "good",
  "not-comparable": "warn",
};

/** True for a model that always answers alike, which was asked everything: there is no interval and no chance. */
export const isCertain = ({ method }: ComparedCheck): boolean => method === "exhausted";

const isCompared = (check: CheckSummary): check is ComparedCheck => "method" in check;

/** The verdict in a few words. */
export function checkHeadline(check: CheckSummary): string {
  switch (check.kind) {
    case "unchanged":
      return "UNCHANGED: the tools are those of the baseline, so there is nothing to compare";
    case "not-comparable":
      return `NOT COMPARABLE with the baseline: ${check.reasons[0] ?? "no case is the same as in it"}`;
    case "regressed":
      return `REGRESSED (${check.by === "suite" ? "suite" : some(check.flagged.map((one) => one.case))})`;
    case "changed":
      return "CHANGED";
    case "no-regression":
      return `NO REGRESSION within ${size(check.margin)}`;
    case "inconclusive":
      return check.because === "stopped" ? "INCONCLUSIVE: the run was stopped" : "INCONCLUSIVE";
  }
}

/** What happened, in words without statistics. */
export function checkReason(check: ComparedCheck): string {
  switch (check.kind) {
    case "regressed":
      return check.by === "suite" ? suiteDropped(check) : casesDropped(check);
    case "changed":
      return casesChanged(check);
    case "no-regression":
      return noRegression(check);
    case "inconclusive":
      return inconclusive(check);
  }
}

type Named = ComparedCheck["flagged"][number];

const passes = ({ base, head }: Named) =>
  `it passed ${integer(base.passed)} of ${integer(base.trials)} before and ${integer(head.passed)} of ${integer(head.trials)} now`;

/** A case whose passes fell to less than half is broken; otherwise it got worse. */
const isBroken = ({ base, head }: Named) => 2 * head.passed * base.trials < base.passed * head.trials;

function casesDropped(check: ComparedCheck): string {
  const { flagged, method } = check;
  const who = method === "records" || method === "unpaired-records" ? "What changed" : "Your change";
  const [worst] = flagged;
  if (!worst) return `${who} made at least one case worse.`;
  const verb = isBroken(worst) ? "broke" : "made";
  const end = isBroken(worst) ? "" : " worse";
  const rest = othersText(check);
  if (flagged.length === 1) return `${who} ${verb} ${worst.case}${end}: ${passes(worst)}.${rest}`;
  const list = some(flagged.map((one) => `${one.case} (${ratio(one.base)} before, ${ratio(one.head)} now)`));
  return `${who} made ${count(flagged.length, "case")} worse: ${list}.${rest}`;
}

/** A difference of rates in a sentence without statistics: `10 points`. */
const inPoints = (change: number) => size(change).replace(" pp", " points");

const words = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const spell = (n: number) => words[n] ?? integer(n);

/** What is known of the cases that are not named. */
function othersText({ cases, flagged, rose, suspects }: ComparedCheck): string {
  const others = cases - flagged.length - rose.length - suspects.length;
  const looks =
    suspects.length > 0
      ? ` ${some(suspects.map((one) => `${one.case} (${ratio(one.base)} before, ${ratio(one.head)} now)`))} ${suspects.length === 1 ? "looks" : "look"} worse too, which is not shown.`
      : "";
  if (others === 0) return looks;
  return `${looks} The other ${others === 1 ? "case is" : `${spell(others)} are`} as before.`;
}

function suiteDropped({ net, flagged, suspects }: ComparedCheck): string {
  const drop = net === null ? "" : `: on average they pass ${inPoints(net.change)} less often than before`;
  const most = suspects[0] ?? flagged[0];
  const fell = most ? ` ${most.case} fell most (${ratio(most.base)} before, ${ratio(most.head)} now).` : "";
  return `Your change made the cases worse as a whole${drop}. No single case can be named for certain.${fell}`;
}

function casesChanged(check: ComparedCheck): string {
  const { flagged, rose, flips, method } = check;
  const list = (all: readonly Named[]) =>
    some(all.map((one) => `${one.case} ${ratio(one.base)} -> ${ratio(one.head)}`));
  if (method !== "exhausted")
    return `Your change moved cases both ways, and the suite as a whole did not drop: ${list(flagged)} fell, ${list(rose)} rose.`;
  const [down, up] = [flips.filter((one) => one.down > 0), flips.filter((one) => one.up > one.down)];
  const name = (all: typeof flips) => some(all.map((one) => one.case));
  const fell = `${name(down)} passed before and ${down.length === 1 ? "fails" : "fail"} now`;
  const gained = up.length > 0 ? `, ${name(up)} the other way round` : "";
  return `${count(down.length, "case")} flipped: ${fell}${gained}. A model that always answers alike shows that something changed, not whether it matters.`;
}

function noRegression({ method, margin, reach }: ComparedCheck): string {
  if (method === "exhausted") return "Nothing broke: every case that passed before passes now.";
  const one =
    reach === null
      ? "A single broken case could have gone unseen."
      : `A case that lost ${reach} points would have been caught 8 times in 10.`;
  return `The cases pass as often as before, or at most ${inPoints(margin)} less often on average. ${one}`;
}

function inconclusive({ because, missing, cases, net, margin }: ComparedCheck): string {
  if (because === "stopped") return "The check was stopped before it could decide.";
  if (because === "missing") {
    const arm = (n: number, name: string) => (n > 0 ? [`${integer(n)} with the ${name} tools`] : []);
    const lost = missing ? [...arm(missing.base, "old"), ...arm(missing.head, "new")] : [];
    return `The check could not decide: too many answers are missing (${lost.join(", ")}).`;
  }
  if (net === null) return "The check could not decide: a case has no answer in both tool lists.";
  return `The check could not decide: ${cases === 1 ? "the case varies" : "the cases vary"} too much from trial to trial to tell a drop of ${inPoints(margin)} from none.`;
}

/** What a person should do next. */
export function checkNext(check: CheckSummary): string {
  switch (check.kind) {
    case "regressed":
      return "Next: revert or reword what changed (below), find the wording at fault with `evals blame`, or accept it with `evals baseline accept`.";
    case "changed":
      return "Next: look at the cases that fell (below). Accept the change with `evals baseline accept`, or make it fail the build with `--fail-on changed`.";
    case "inconclusive":
      return inconclusiveNext(check);
    case "not-comparable":
      return "Next: fix the reason, or accept a new baseline with `evals baseline accept`.";
    default:
      return "";
  }
}

/** The greatest cap of a check. */
const mostTrials = 140;

function inconclusiveNext({ because, advice, trials }: ComparedCheck): string {
  if (because === "stopped") return "Next: finish it with `evals run --resume latest`.";
  if (because === "missing")
    return "Next: find out below why trials got no answer, then run `evals run --resume latest --retry-broken`.";
  if (!advice) return "Next: see below why trials got no answer, then run again.";
  const [likely, safe] = [trials + advice.likely, trials + advice.safe];
  if (advice.atLeast || likely > mostTrials)
    return `Next: more trials would hardly decide this (about ${integer(advice.likely)} more per case and list). Use a wider margin (\`--margin\`), or cases that vary less.`;
  const sure = safe > mostTrials ? "" : `, and \`-n ${safe}\` does so 8 times in 10`;
  return `Next: run it again with \`-n ${likely}\`, which is as likely as not to decide it${sure}.`;
}

/** `Net change -12.5 pp (95% CI -19 to -4.2 pp), mean over 8 cases; the margin is 10 pp.`, or nothing. */
export function netSentence(check: ComparedCheck): string {
  const { net, margin } = check;
  if (net === null) return "";
  const certain = isCertain(check);
  const end = certain ? "the model always answers alike" : `the margin is ${size(margin)}`;
  return `Net change ${pointsWithInterval(net.change, certain ? null : net.interval)}, mean over ${count(net.cases, "case")}; ${end}.`;
}

/** The regression check of a suite as blocks, if one was made: what happened, what to do, and the figures. */
export function checkBlocks(suite: SuiteSummary, explain = false): Block[] {
  const check = suite.verdict;
  if (!check) return [];
  const title = heading(3, checkHeadline(check), checkTone[check.kind]);
  if (!isCompared(check)) return [title, text(checkNext(check), ...listNotes(check))];
  const { net } = check;
  return [
    title,
    text(checkReason(check), checkNext(check), netSentence(check)),
    ...(net
      ? [
          {
            kind: "scale" as const,
            change: net.change,
            interval: isCertain(check) ? ([net.change, net.change] as const) : net.interval,
            margin: check.margin,
            tone: checkTone[check.kind],
          },
        ]
      : []),
    ...changedCases("Cases that dropped (passed/answered)", check.flagged, isCertain(check), arms),
    ...changedCases("Cases that rose (passed/answered)", check.rose, isCertain(check), arms),
    ...changedCases("Cases that look worse, not shown (passed/answered)", check.suspects, isCertain(check), arms),
    ...flippedCases(check, arms),
    ...grownConfusions(check.grew, arms),
    ...changedTools(check, suite.cases),
    { kind: "facts", facts: [...checkFacts(check), ["Spent on the suite", money(suite.totals.costUsd)]] },
    text(...listNotes(check)),
    ...(explain ? explanations(check) : []),
  ];
}

/** What was not compared. */
function listNotes(check: CheckSummary): string[] {
  return [...(check.kind === "not-comparable" ? check.reasons.slice(1) : []), ...check.notes.map(capital)];
}

/** A table of the cases that changed, with their tests. */
export function changedCases(
  title: string,
  cases: readonly Named[],
  certain: boolean,
  { base, head }: ArmNames,
): Block[] {
  const rows = cases.map((one) => [
    one.case,
    ratio(one.base),
    ratio(one.head),
    ...(certain ? [] : [probability(one.p)]),
  ]);
  const figures = [base, head, ...(certain ? [] : ["p"])];
  const columns = [
    { head: "case", kind: "name" as const },
    ...figures.map((one) => ({ head: one, kind: "figure" as const })),
  ];
  return section(title, [{ kind: "table", columns, rows: makeRows(rows), noun: "case" }]);
}

/** Every case of which an answer differs, in both directions: what a changed verdict rests on. */
export function flippedCases({ flips }: ComparedCheck, { base, head }: ArmNames): Block[] {
  const rows = flips.map(({ case: id, down, up, pairs }) => [id, integer(down), integer(up), integer(pairs)]);
  const columns = [
    { head: "case", kind: "name" as const },
    ...[`only ${base}`, `only ${head}`, "pairs"].map((one) => ({ head: one, kind: "figure" as const })),
  ];
  return section("Answers that differ (passed in only one of the two)", [
    { kind: "table", columns, rows: makeRows(rows), noun: "case" },
  ]);
}

/** A table of the confusions that got more frequent. */
export function grownConfusions(grew: ComparedCheck["grew"], { base, head }: ArmNames): Block[] {
  const rows = grew.map((one) => {
    const picked = one.acceptable ? `${one.picked} (acceptable)` : one.picked;
    return [one.expected, picked, share(one.base), share(one.head)];
  });
  const columns = [
    ...["expected", "picked"].map((one) => ({ head: one, kind: "name" as const })),
    ...[base, head].map((one) => ({ head: one, kind: "figure" as const })),
  ];
  return section("Confusions that grew (of graded trials)", [
    { kind: "table", columns, rows: makeRows(rows), noun: "pair" },
  ]);
}

/** Further changes are named without their wording: to compare words takes time, and nobody reads more of them. */
const mostWordings = 20;

/** The tools that a label names. */
const namedTools = (label: string) => label.match(/(?:skill:)?[\w-]+/g) ?? [];

/** The cases that moved, each with the tools that it expects: `read-notes: 10/10 -> 2/10`. */
function listMoved(
  { flagged, rose, suspects, flips }: ComparedCheck,
  cases: readonly CaseSummary[],
): { text: string; expected: readonly string[]; isDropped: boolean }[] {
  const dropped = new Set([...flagged, ...flips].map((one) => one.case));
  const rates = [...flagged, ...rose, ...suspects];
  return cases.flatMap(({ id, expected }) => {
    const [rate, flip] = [rates.find((one) => one.case === id), flips.find((one) => one.case === id)];
    const text = rate
      ? `${ratio(rate.base)} -> ${ratio(rate.head)}`
      : flip && `passed only before ${flip.down}, only now ${flip.up} of ${flip.pairs}`;
    return text === undefined
      ? []
      : [{ text: `${id}: ${text}`, expected: namedTools(expected), isDropped: dropped.has(id) }];
  });
}

/**
 * What changed in tools that a dropped case expects or a grown confusion names, or all where none is named; then others. A
 * change has the cases beside it that moved and expect its tool.
 */
function changedTools(check: ComparedCheck, cases: readonly CaseSummary[]): Block[] {
  const { grew, changes } = check;
  const moved = listMoved(check, cases);
  const named = new Set([
    ...moved.flatMap(({ expected, isDropped }) => (isDropped ? expected : [])),
    ...grew.flatMap(({ expected, picked }) => [...namedTools(expected), ...namedTools(picked)]),
  ]);
  const findTool = ({ label }: { label: string }) => /^(?:skill:)?[\w-]+/.exec(label)?.[0] ?? "";
  const isInvolved = (change: { label: string }) => named.has(findTool(change));
  const first = changes.filter(isInvolved);
  const sorted = [...first, ...changes.filter((change) => !isInvolved(change))].map((change, at): TextChange => {
    const beside = moved.filter(({ expected }) => expected.includes(findTool(change))).map(({ text: one }) => one);
    return { ...toTextChange(change, at), ...(beside.length > 0 && { beside }) };
  });
  const involved = first.length > 0 ? first.length : sorted.length;
  const others = sorted.slice(involved);
  return section("Changes in the tool list", [
    { kind: "diff", changes: sorted.slice(0, involved), most: 6 },
    {
      kind: "details",
      title: `${count(others.length, "change")} in tools that are not involved`,
      blocks: [{ kind: "diff", changes: others }],
      brief: true,
    },
  ]);
}

/** What a change does to callers is part of its label, where it does anything. */
function toTextChange(
  { label, class: known, before, after }: ComparedCheck["changes"][number],
  at: number,
): TextChange {
  const full = known === undefined || known === "description only" ? label : `${label} (${known})`;
  return at < mostWordings ? { label: full, ...(before && { before }), ...(after && { after }) } : { label: full };
}

/** The figures of a check under their textbook names, and what it took. */
export function checkFacts(check: ComparedCheck): [string, string][] {
  const { suite, families, reach, method, calls, missing } = check;
  const certain = isCertain(check);
  const facts: [string, string | undefined][] = [
    ["Decided", decisionText(check)],
    ["Sign test of the suite", certain || !suite ? undefined : signTest(suite, method)],
    ["Reach", check.kind === "inconclusive" && check.because !== "stopped" ? reachText(reach) : undefined],
    [
      "Error rate",
      families > 1
        ? `5% for the whole run, shared by ${count(families, "check")} (${Number((5 / families).toPrecision(2))}% each)`
        : undefined,
    ],
    ["Missing answers", missing ? missingText(missing) : undefined],
    ["Baseline's tools", bankText(check)],
    ["Trials of the check", callsText(calls, method)],
  ];
  return facts.flatMap(([name, fact]) => (fact === undefined ? [] : [[name, fact] satisfies [string, string]]));
}

/** Which test came to the verdict, and when. */
function decisionText({ kind, by, because, method, look, looks, trials, cap }: ComparedCheck): string | undefined {
  if (method !== "pairs" || because === "stopped") return undefined;
  const how =
    by === "cases" || kind === "changed"
      ? "by Fisher's exact test of each case, "
      : by === "suite"
        ? "by the sign test, "
        : kind === "no-regression"
          ? "by the interval of the net change, "
          : "";
  return `${how}at look ${look} of ${looks}, ${count(trials, "trial")} per case and list (cap ${cap})`;
}

function signTest({ down, up, p, level: alpha }: NonNullable<ComparedCheck["suite"]>, method: string): string {
  const limit = `${pValue(p)} against ${level(Number(alpha.toPrecision(2)))}`;
  if (down === null || up === null) return `${limit} (Cochran-Mantel-Haenszel: the records share no tool orders)`;
  const pairs = method === "pairs" ? "" : " of the two records";
  return `${count(down, "pair")}${pairs} worse, ${integer(up)} better: ${limit}`;
}

function reachText(reach: number | null): string {
  if (reach === null) return "not even a case that lost everything would have been caught 8 times in 10";
  return `a case that lost ${reach} points would have been caught 8 times in 10`;
}

function missingText({ base, head, recovered, worst, best }: NonNullable<ComparedCheck["missing"]>): string {
  const again = recovered.base + recovered.head;
  const came = again > 0 ? `; ${integer(again)} came when asked again` : "";
  const range = base + head > 0 ? `; net change ${points(worst)} at worst, ${points(best)} at best` : "";
  return `${integer(base)} baseline, ${integer(head)} now${came}${range}`;
}

/** The baseline's own list, then and now: what differs is the model. No verdict depends on it. */
function bankText({ modelDrift }: ComparedCheck): string | undefined {
  if (!modelDrift) return undefined;
  const { accepted, now, direction, p } = modelDrift;
  const counts = `${share(accepted)} when accepted, ${share(now)} now`;
  if (direction === null) return `${counts}: as on the baseline's day`;
  const way = direction === "down" ? "less" : "more";
  return `${counts}: the model passes ${way} often with the same tools than on the baseline's day (${pValue(p)})`;
}

function callsText({ base, head, ahead, copies, missing }: ComparedCheck["calls"], method: string): string | undefined {
  if (base + head === 0 || method === "records" || method === "unpaired-records") return undefined;
  const extra = [
    ahead > 0 ? `${integer(ahead)} of them of cases that looked worse` : "",
    copies > 0 ? `${count(copies, "repeated reply", "repeated replies")} dropped` : "",
    missing > 0 ? `${integer(missing)} without an answer` : "",
  ].filter((part) => part !== "");
  return `${integer(base)} baseline, ${integer(head)} now${extra.length > 0 ? `; ${extra.join(", ")}` : ""}`;
}

/** Two sentences on every term that a report uses. */
const terms: readonly [string, string][] = [
  [
    "Trial, pair",
    "A trial asks one case once. The two trials of a pair ask it with the old and the new tools, in the same order of tools and close in time.",
  ],
  [
    "Look",
    "A check stops as soon as it can decide, so it looks at its figures several times. The error rates hold for all looks together.",
  ],
  [
    "p",
    "The chance of a difference at least this large if nothing had changed. A check calls it shown when p is at most the level that is printed beside it.",
  ],
  [
    "Fisher's exact test",
    "It compares the passes of one case before and now, and gives the p of that case. All cases and looks together falsely name a case in at most 1% of checks.",
  ],
  [
    "Sign test",
    "It counts the pairs that passed only before and those that passed only now, over all cases. If nothing changed, both are equally likely; it is wrong in at most 4% of checks.",
  ],
  [
    "Net change, 95% CI",
    "The change of the pass rate, averaged over cases. The interval contains the true change in at least 94% of checks, at whatever look they stop.",
  ],
  [
    "Margin",
    "The drop that you would accept, 10 points unless --margin says otherwise. NO REGRESSION means that a drop of the margin or more is ruled out; it is wrong in at most 5% of checks.",
  ],
  [
    "Reach",
    "What this check could have missed in a single case, simulated from its own pass rates. A smaller loss than this can hide in one case although the suite as a whole is fine.",
  ],
];

function explanations({ kind }: ComparedCheck): Block[] {
  const shown = kind === "no-regression" ? terms : terms.filter(([name]) => name !== "Reach");
  return section("What the terms mean", [{ kind: "facts", facts: shown }]);
}

/** A check with its sentences, as `--json` has it. */
export function withSentences<C extends CheckSummary>(check: C): C {
  const headline = checkHeadline(check);
  if (check.kind === "unchanged") return { ...check, headline };
  if (check.kind === "not-comparable")
    return { ...check, headline, notes: [...check.reasons.slice(1), ...check.notes] };
  return { ...check, headline, reason: checkReason(check), next: checkNext(check) };
}

/** The object that `evals run --json` prints. */
export function runJson(summary: RunSummary): RunSummary {
  const suites = summary.suites.map((suite) => ({
    ...suite,
    ...(suite.verdict && { verdict: withSentences(suite.verdict) }),
    ...(suite.drift && { drift: driftJson(suite.drift) }),
  }));
  return { ...summary, suites };
}

/** The verdict and what it rests on in a few plain lines, for forms without layout. */
export function checkLines(check: CheckSummary, most: number): string[] {
  const headline = checkHeadline(check);
  if (!isCompared(check)) return [headline, checkNext(check), ...listNotes(check)].filter((line) => line !== "");
  return [
    `${headline} · ${checkReason(check)}`,
    checkNext(check),
    netSentence(check),
    ...check.flagged.slice(0, most).map((one) => `Dropped: ${one.case}: ${ratio(one.base)} -> ${ratio(one.head)}`),
    ...check.rose.slice(0, most).map((one) => `Rose: ${one.case}: ${ratio(one.base)} -> ${ratio(one.head)}`),
    ...check.flips
      .slice(0, most)
      .map((one) => `Differs: ${one.case}: only before ${one.down}, only now ${one.up} of ${one.pairs}`),
    ...check.grew.slice(0, most).map((one) => {
      const what = one.acceptable ? "Substituted more often" : "Confused more often";
      return `${what}: ${one.expected} -> ${one.picked}: ${share(one.base)} -> ${share(one.head)}`;
    }),
    ...check.changes.slice(0, most).map(({ label }) => `Changed: ${label}`),
    ...checkFacts(check).map((fact) => fact.join(": ")),
    ...listNotes(check),
  ].filter((line) => line !== "");
}
