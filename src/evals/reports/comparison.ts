import type { CheckSummary } from "../types/run.ts";
import { count, integer, percent, points, probability } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title, tonePaint } from "./screen.ts";
import { wordingLines } from "./wording.ts";

type Check = Extract<CheckSummary, { kind: "regressed" | "no-regression" | "inconclusive" }>;
type Counts = { passed: number; trials: number };
type CaseChanges = readonly Check["flagged"][number][];

/** Two records of one suite on one model, as compared. `refused`: they are not of the same thing, for these reasons. */
type Compared = { suite: string; model: string } & (
  | { kind: "refused"; reasons: readonly string[] }
  | {
      kind: "compared";
      cases: number;
      base: Counts;
      head: Counts;
      better: { kind: "base" | "head" | "mixed" | "none"; p: number | null };
      check: Check;
      improved: CaseChanges;
    }
);

/** What `evals compare` found. A is `base`, B is `head`; both are named with what they are. */
export type ComparisonReport = {
  base: { name: string; what: string };
  head: { name: string; what: string };
  interleaved: false;
  comparisons: readonly Compared[];
  notes: readonly string[];
};

const most = { rows: 12, wordings: 6, reasons: 12 } as const;

/** The comparison of two records for a person: which is better and by what test, then what that rests on. */
export function comparisonText({ base, head, comparisons, notes }: ComparisonReport, display: Display): string {
  const screen = screenFor(display);
  const blocks = [
    comparisons.flatMap((one) => title(screen, answerTo(one), toneOf(one))),
    [
      ...screen.lines(`A: ${base.name} (${base.what})`),
      ...screen.lines(`B: ${head.name} (${head.what})`),
      ...screen.lines(
        "Not interleaved: the two were recorded apart, so a change of the model in between looks like a change of the wording.",
      ),
      ...notes.flatMap((note) => screen.lines(note)),
    ],
    ...comparisons.flatMap((one) => {
      const inner = details(one, screen, display);
      return comparisons.length > 1 ? [title(screen, placeOf(one)), ...inner] : inner;
    }),
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

const placeOf = ({ suite, model }: Compared) => `${suite} · ${model}`;

/** One line: which is better with its p, and what the regression check says of going from A to B. */
function answerTo(one: Compared): string {
  if (one.kind === "refused") return `NOT COMPARABLE · ${placeOf(one)}`;
  const { better, check } = one;
  const said = {
    base: "A is better than B",
    head: "B is better than A",
    mixed: "neither is better throughout: some cases dropped from A to B, others or the mean rose",
    none: "no difference shown",
  }[better.kind];
  const p =
    better.p === null ? "" : ` (two-sided p ${probability(better.p).replace(/^(<?)/, (sign) => `${sign || "="} `)})`;
  return `${said}${p} · A to B: ${check.headline} · ${placeOf(one)}`;
}

const tones = { regressed: "bad", "no-regression": "good", inconclusive: "warn" } as const;

function toneOf(one: Compared) {
  return tonePaint[one.kind === "refused" ? "warn" : tones[one.check.kind]];
}

function details(one: Compared, screen: Screen, display: Display): string[][] {
  if (one.kind === "refused") return [bulleted(one.reasons, "reason", screen)];
  const { check, improved } = one;
  const certain = check.method === "deterministic";
  return [
    [
      `Passed: A ${share(one.base)}, B ${share(one.head)}, in ${count(one.cases, "case")}`,
      capital(check.reason),
      netSentence(check, certain),
    ].flatMap((line) => screen.lines(line)),
    casesBlock("Cases that dropped from A to B", check.flagged, certain, screen),
    casesBlock("Cases that improved from A to B", improved, certain, screen),
    confusionBlock(check.grew, screen),
    check.changes.length === 0
      ? screen.lines("The lists of tools are the same in both: what differs between A and B is not in them.")
      : [
          ...title(screen, "What changed in the lists"),
          ...bounded(check.changes, most.wordings, "change", 2, screen, (change) => wordingLines(change, display, 2)),
        ],
    [...factsOf(check, certain), ...check.notes.map(capital)].flatMap((line) => screen.lines(line)),
  ];
}

/** `217/250 (87%)` */
function share({ passed, trials }: Counts): string {
  return `${integer(passed)}/${integer(trials)}${trials === 0 ? "" : ` (${percent(passed / trials)})`}`;
}

function netSentence({ net, margin }: Check, certain: boolean): string {
  if (net === null) return "Nothing was scored in both.";
  const [low, high] = net.interval.map((end) => points(end));
  const rest = certain
    ? "; the model always answers alike"
    : ` (95% interval ${low} to ${high}); the margin is ${points(margin, "")} points`;
  return `Net change from A to B: ${points(net.change)} points, mean over cases${rest}`;
}

function casesBlock(heading: string, cases: CaseChanges, certain: boolean, screen: Screen): string[] {
  if (cases.length === 0) return [];
  const figures = ["A passed", "B passed", ...(certain ? [] : ["p", "adjusted p"])];
  const rows = cases.map((one) => [
    one.case,
    ...[one.base, one.head].map(({ passed, trials }) => `${integer(passed)}/${integer(trials)}`),
    ...(certain ? [] : [one.p, one.adjusted].map(probability)),
  ]);
  return tableBlock(heading, ["case"], figures, rows, screen);
}

function confusionBlock(grew: Check["grew"], screen: Screen): string[] {
  if (grew.length === 0) return [];
  const rows = grew.map(({ expected, picked, base, head }) => [expected, picked, share(base), share(head)]);
  return tableBlock("Confusions that grew from A to B", ["expected", "picked"], ["A trials", "B trials"], rows, screen);
}

function tableBlock(
  heading: string,
  names: readonly string[],
  figures: readonly string[],
  rows: readonly (readonly string[])[],
  screen: Screen,
): string[] {
  const columns = [...names.map((head) => ({ head })), ...figures.map((head) => ({ head, fixed: true }))];
  const shown = rows.slice(0, most.rows).map((row) => row.map((text) => ({ text })));
  const rest = bounded(rows.slice(most.rows), 0, "row", 0, screen, () => []);
  return [...title(screen, heading), ...screen.table(columns, shown), ...rest];
}

function factsOf({ smallestBreak, pairedT, calls }: Check, certain: boolean): string[] {
  const broken =
    calls.broken === 0 ? [] : [`Broken, and in no rate: ${count(calls.broken, "trial")} of the two records`];
  if (certain) return broken;
  return [
    ...(smallestBreak === null ? [] : [`Smallest break of one case they could show: ${smallestBreak}`]),
    ...(pairedT === null ? [] : [`Second opinion, paired t over cases: p = ${probability(pairedT)}`]),
    ...broken,
  ];
}

function bulleted(lines: readonly string[], one: string, screen: Screen): string[] {
  return bounded(lines, most.reasons, one, 2, screen, (line) => screen.lines(`- ${line}`, 2));
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
