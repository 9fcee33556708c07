import type { VariantsSummary, WordingSummary } from "../verdicts/variants/summary.ts";
import { count, integer, money, percent, points, probability, range } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Paint, type Screen, screenFor, title } from "./screen.ts";
import type { Cell, Column } from "./table.ts";
import { modelLabel } from "./view.ts";
import { wordingLines } from "./wording.ts";

const most = { flipped: 20, changes: 12, untouched: 12 } as const;
const kindPaint: Readonly<Record<VariantsSummary["kind"], Paint>> = {
  adopt: "green",
  keep: "green",
  inconclusive: "yellow",
};

/** The report of `evals variants` for a person: the verdict in one line, then what it rests on. */
export function variantsReport(summary: VariantsSummary, display: Display): string {
  const screen = screenFor(display);
  const { suite, model, note, cases, wordings } = summary;
  const about = [
    suite,
    modelLabel({ model, ...(note !== null && { note }) }),
    `${count(wordings.length, "wording")} on ${count(cases, "case")}`,
  ];
  const blocks = [
    [...title(screen, summary.headline, kindPaint[summary.kind]), ...screen.lines(summary.reason, 2)],
    [...title(screen, about.join(" · ")), ...wordingTable(summary, screen)],
    flippedBlock(summary, screen),
    changesBlock(summary, screen, display),
    factsBlock(summary, screen),
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

function wordingTable({ wordings, winner, method }: VariantsSummary, screen: Screen): string[] {
  const certain = method === "deterministic";
  const unit = wordings[0]?.size.kind === "tokens" ? "prompt tokens" : "list bytes";
  const head: Column[] = [
    { head: "wording" },
    { head: "passed (95%)", fixed: true },
    { head: "gain in points", fixed: true },
    ...(certain ? [] : [{ head: "p", fixed: true }]),
    { head: unit, fixed: true },
    { head: "breaks", joins: true },
  ];
  const current = wordings[0]?.size.mean ?? 0;
  const rows = wordings.map((one, at): Cell[] => [
    { text: one.name, ...(one.name === winner && { paint: "green" }) },
    { text: rateText(one) },
    { text: gainText(one) },
    ...(certain ? [] : [{ text: typeof one.test?.p === "number" ? probability(one.test.p) : "–" }]),
    { text: at === 0 ? integer(one.size.mean) : `${integer(one.size.mean)} (${signed(one.size.mean - current)})` },
    { text: breaksOf(one) },
  ]);
  return screen.table(head, rows);
}

function breaksOf({ test }: WordingSummary): readonly string[] {
  if (!test?.harmed) return [test ? "none shown" : "–"];
  return test.harms.length > 0 ? test.harms : ["some case"];
}

/** `19/20 95% (76–99%)` */
function rateText({ passed, trials, interval }: WordingSummary): string {
  if (interval === null) return "not scored";
  return `${integer(passed)}/${integer(trials)} ${percent(passed / trials)} (${range(interval)})`;
}

function gainText({ test }: WordingSummary): string {
  if (!test?.gain) return "–";
  const { change, interval } = test.gain;
  return interval === null ? points(change) : `${points(change)} (${interval.map((end) => points(end)).join(" to ")})`;
}

function signed(difference: number): string {
  const rounded = Math.round(difference);
  return rounded > 0 ? `+${integer(rounded)}` : rounded < 0 ? `−${integer(-rounded)}` : "0";
}

function flippedBlock({ best }: VariantsSummary, screen: Screen): string[] {
  if (!best || best.flipped.length === 0) return [];
  const passes = ({ passed, trials }: { passed: number; trials: number }) => `${integer(passed)}/${integer(trials)}`;
  return [
    ...title(screen, `Flipped cases (incumbent → ${best.name})`),
    ...bounded(best.flipped, most.flipped, "case", 2, screen, (one) => {
      const mark = one.direction === "mended" ? "✓" : "✗";
      return screen.lines(`${mark} ${one.case}: ${passes(one.incumbent)} → ${passes(one.challenger)}`, 2, 4);
    }),
  ];
}

function changesBlock({ best, kind }: VariantsSummary, screen: Screen, display: Display): string[] {
  if (!best || kind === "keep") return [];
  return [
    ...title(screen, `What ${best.name} changes`),
    ...bounded(best.changes, most.changes, "change", 2, screen, (change) => wordingLines(change, display, 2)),
  ];
}

const methodText: Readonly<Record<NonNullable<VariantsSummary["method"]>, string>> = {
  uniform: "exact stratified test (CMH) of each variant against the incumbent, p corrected for all (Holm)",
  halving: "sequential halving, then an exact stratified test (CMH) of the last one on fresh trials",
  deterministic: "the model always answers alike, so a difference is a difference",
};

function factsBlock(summary: VariantsSummary, screen: Screen): string[] {
  const { method, rounds, untouched, calls, costUsd, dir } = summary;
  const broken = calls.broken > 0 ? ` (${integer(calls.broken)} broken, in no rate)` : "";
  const saved = calls.saved > 0 ? `, ${integer(calls.saved)} saved by stopping early` : "";
  const left = untouched.slice(0, most.untouched).join(", ");
  const more = untouched.length > most.untouched ? ` and ${integer(untouched.length - most.untouched)} more` : "";
  const facts = [
    ...(method ? [`Method: ${methodText[method]}`] : []),
    ...rounds.map((names, at) => `In after round ${at + 1}: ${names.join(", ")}`),
    ...(untouched.length > 0 ? [`Not asked, for no variant touches their lists: ${left}${more}`] : []),
    `Trials: ${integer(calls.made)}${broken}${saved} · cost ${money(costUsd)}`,
    `Record: ${dir}`,
  ];
  return facts.flatMap((fact) => screen.lines(fact, 0, 2));
}
