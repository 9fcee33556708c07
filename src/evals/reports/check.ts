import type { CheckSummary, SuiteSummary } from "../types/run.ts";
import { capital, count, integer, money, percent, points, probability, pValue } from "./format.ts";
import { pipe } from "./report.ts";
import type { Tone } from "./view.ts";
import { type Wording, wordingLines } from "./wording.ts";

/** A check in which two lists were compared, whatever it came to. */
type Comparison = Exclude<CheckSummary, { kind: "unchanged" | "not-comparable" }>;
/** Rows of text under their heads. The first `names` columns hold names from outside, the others figures. */
export type FigureTable = { title: string; heads: readonly string[]; names: number; rows: readonly string[][] };

/**
 * What all reports say of a suite's regression check, as raw text: each makes it safe for its own medium. Parts that
 * have nothing to say are empty, all but `headline` where nothing was compared.
 */
export type CheckView = {
  headline: string;
  tone: Tone;
  /** The reason, and the net change with its interval and the number of cases. */
  sentences: string[];
  /** For a drawing of the sentence, in rates; an interval of no width where there is no chance in the figures. */
  net?: { change: number; interval: readonly [number, number]; margin: number };
  /** The cases that dropped, and the confusions that grew. */
  tables: FigureTable[];
  /** What changed in tools that a dropped case or a grown confusion names (all, where none is named), and in others. */
  involved: Wording[];
  others: Wording[];
  /** What the check could see and what it took, as label and value; nothing in it comes from outside. */
  facts: [string, string][];
  /** How the model has drifted, and what was not compared. */
  notes: string[];
};

const tones: Record<CheckSummary["kind"], Tone> = {
  ...{ regressed: "bad", "no-regression": "good", inconclusive: "warn", unchanged: "good", "not-comparable": "warn" },
};

/** The check of a suite as its reports tell it, if one was made. */
export function checkView(suite: SuiteSummary): CheckView | undefined {
  const check = suite.verdict;
  if (!check) return undefined;
  const { kind, headline, notes } = check;
  const view: CheckView = { ...nothing, headline, tone: tones[kind], notes };
  if (!("net" in check)) return view;
  const { net, margin, reason, drift } = check;
  return {
    ...view,
    sentences: [capital(reason), netSentence(check)].filter((one) => one !== ""),
    ...(net && { net: { ...net, ...(isCertain(check) && { interval: [net.change, net.change] as const }), margin } }),
    tables: tablesOf(check),
    ...wordingsOf(suite, check),
    facts: factsOf(check, suite),
    notes: [...(drift ? [`Model drift: ${drift}`] : []), ...notes],
  };
}

const nothing = { sentences: [], tables: [], involved: [], others: [], facts: [] };

/** True where the model always answers alike. That leaves nothing to chance, so there is no interval and no p. */
function isCertain({ method }: Comparison): boolean {
  return method === "deterministic";
}

/** `Net change −12.5 points (95% interval −19 to −4.2), mean over 8 cases; the margin is 10 points`, or nothing. */
function netSentence(check: Comparison): string {
  const { net, margin } = check;
  if (net === null) return "";
  const [low, high] = net.interval.map((end) => points(end));
  const [interval, beside] = isCertain(check)
    ? ["", "the model always answers alike"]
    : [` (95% interval ${low} to ${high})`, `the margin is ${points(margin, "")} points`];
  return `Net change ${points(net.change)} points${interval}, mean over ${count(net.cases, "case")}; ${beside}`;
}

/** The cases that dropped, and the confusions that grew; a table without rows is left out. */
function tablesOf(check: Comparison): FigureTable[] {
  const isChance = !isCertain(check);
  const out = ({ passed, trials }: { passed: number; trials: number }) => `${integer(passed)}/${integer(trials)}`;
  const dropped: FigureTable = {
    title: "Cases that dropped",
    heads: ["case", "base passed", "head passed", ...(isChance ? ["p", "adjusted p"] : [])],
    names: 1,
    rows: check.flagged.map((one) => [
      ...[one.case, out(one.base), out(one.head)],
      ...(isChance ? [probability(one.p), probability(one.adjusted)] : []),
    ]),
  };
  const share = (of: { passed: number; trials: number }) =>
    of.trials === 0 ? out(of) : `${out(of)} (${percent(of.passed / of.trials)})`;
  const confused: FigureTable = {
    title: "Confusions that grew",
    heads: ["expected", "picked", "base trials", "head trials"],
    names: 2,
    rows: check.grew.map(({ expected, picked, base, head }) => [expected, picked, share(base), share(head)]),
  };
  return [dropped, confused].filter(({ rows }) => rows.length > 0);
}

/** Further changes are named without their wording: to compare words takes time, and nobody reads more of them. */
const mostWordings = 20;

function wordingsOf(
  { cases }: SuiteSummary,
  { flagged, grew, changes }: Comparison,
): Pick<CheckView, "involved" | "others"> {
  const dropped = new Set(flagged.map((one) => one.case));
  const labels = [
    ...cases.filter(({ id }) => dropped.has(id)).map(({ expected }) => expected),
    ...grew.flatMap(({ expected, picked }) => [expected, picked]),
  ];
  const named = new Set(labels.flatMap((label) => label.match(/(?:skill:)?[\w-]+/g) ?? []));
  const isInvolved = ({ label }: Wording) => named.has(/^(?:skill:)?[\w-]+/.exec(label)?.[0] ?? "");
  const first = changes.filter(isInvolved);
  const rest = changes.filter((change) => !isInvolved(change));
  const wordings = [...first, ...rest].map(({ before, after, ...change }, at) => {
    const label = classedLabel(change);
    return at < mostWordings ? { label, ...(before && { before }), ...(after && { after }) } : { label };
  });
  const involved = first.length > 0 ? first.length : wordings.length;
  return { involved: wordings.slice(0, involved), others: wordings.slice(involved) };
}

/** What a change does to callers is said where it does anything. */
function classedLabel({ label, class: known }: Omit<Comparison["changes"][number], "before" | "after">): string {
  return known === undefined || known === "description only" ? label : `${label} (${known})`;
}

function factsOf(check: Comparison, suite: SuiteSummary): [string, string][] {
  const { smallestBreak, pairedT, calls, method } = check;
  const { base, head, broken, saved } = calls;
  const made = `${integer(base)} base, ${integer(head)} head${broken > 0 ? `, ${integer(broken)} broken` : ""}`;
  const facts: [string, string | false][] = [
    ["smallest break of one case it could have caught", smallestBreak ?? false],
    ["second opinion, paired t over cases", pairedT !== null && !isCertain(check) && pValue(pairedT)],
    // Nothing is counted for a check that was cut short.
    [
      `calls of the ${method} design`,
      base + head > 0 && `${made}${saved > 0 ? `; ${integer(saved)} saved by stopping early` : ""}`,
    ],
    ["spent on the suite", money(suite.totals.costUsd)],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== false);
}

/** The whole check, one sentence a line, for reports without layout; the first line is the verdict and its reason. */
export function checkLines({ headline, sentences, tables, involved, others, facts, notes }: CheckView): string[] {
  const row = ({ title, heads, names }: FigureTable, cells: readonly string[]) => {
    const figures = cells.slice(names).map((cell, at) => `${heads[names + at]} ${cell}`);
    return `${title}: ${cells.slice(0, names).join(" → ")}: ${figures.join(", ")}`;
  };
  return [
    [headline, ...sentences.slice(0, 1)].join(" · "),
    ...sentences.slice(1),
    ...tables.flatMap((table) => table.rows.map((cells) => row(table, cells))),
    ...[...involved, ...others].map(wordingLine),
    ...facts.map((fact) => fact.join(": ")),
    ...notes,
  ];
}

/** A change of wording in one line, however long. */
function wordingLine(wording: Wording): string {
  return wordingLines(wording, { ...pipe, width: Number.MAX_SAFE_INTEGER })
    .map((line) => line.trim())
    .join(": ");
}
