import type { VariantsSummary, WordingSummary } from "../verdicts/variants/summary.ts";
import { type Block, heading, section, type TableCell, type TableRow, type Tone, text } from "./document.ts";
import {
  count,
  integer,
  level,
  money,
  points,
  pointsWithInterval,
  probability,
  pValue,
  rateWithInterval,
  ratio,
  size,
  some,
} from "./format.ts";
import { modelLabel } from "./runText.ts";

const tones: Readonly<Record<VariantsSummary["kind"], Tone>> = { adopt: "good", keep: "good", inconclusive: "warn" };

/** The report of `evals variants`: the verdict, its reason and the next step, then what it rests on. */
export function variantsDocument(summary: VariantsSummary): Block[] {
  const { suite, model, note, cases, wordings, best, kind } = summary;
  const about = [suite, modelLabel({ model, note }), `${count(wordings.length, "wording")}, ${count(cases, "case")}`];
  const flipped = best?.flipped.map(({ direction, case: id, incumbent, challenger }) => [
    { mark: direction === "mended" ? ("good" as const) : ("bad" as const) },
    ...[" ", { code: id }, `: ${ratio(incumbent)} -> ${ratio(challenger)}`],
  ]);
  return [
    heading(1, variantsHeadline(summary), tones[kind]),
    text(variantsReason(summary), nextStep(summary)),
    ...section(about.join(" · "), [wordingTable(summary)]),
    ...section(`Cases that changed (incumbent -> ${best?.name})`, [
      { kind: "list", items: flipped ?? [], most: 20, noun: "case" },
    ]),
    ...section(`Changes in ${best?.name}`, [{ kind: "diff", changes: kind === "keep" ? [] : (best?.changes ?? []) }]),
    { kind: "facts", facts: facts(summary) },
  ];
}

/** The object that `evals variants --json` prints. */
export function variantsJson(summary: VariantsSummary) {
  return { ...summary, headline: variantsHeadline(summary), reason: variantsReason(summary) };
}

function variantsHeadline({ kind, winner, furtherTrials, basis }: VariantsSummary): string {
  if (basis.kind === "stopped") return "INCONCLUSIVE: stopped before the verdict";
  if (kind === "adopt") return `ADOPT ${winner}`;
  if (kind === "keep") return "KEEP the incumbent";
  if (furtherTrials === null) return "INCONCLUSIVE";
  return `INCONCLUSIVE: ${count(furtherTrials, "more trial")} per case and wording would settle it`;
}

function variantsReason({ kind, basis, margin }: VariantsSummary): string {
  switch (basis.kind) {
    case "stopped":
      return "The trials made so far are on the record.";
    case "nothing scored":
      return "Nothing was scored, so no wording can be preferred.";
    case "cases not scored":
      return "Not every case was scored with every wording.";
    case "counted": {
      const { variant, gain, breaks } = basis;
      if (gain <= 0) return "No challenger passes more cases. The model is deterministic.";
      if (kind === "adopt")
        return `${variant} passes ${count(gain, "more case")} and breaks none. The model is deterministic.`;
      return `${variant} passes ${count(gain, "more case")} overall, but breaks ${some(breaks)}.`;
    }
    case "tested": {
      const { variant, change, p, alpha, harm } = basis;
      const test = `${variant} against the incumbent: ${points(change)}, ${pValue(p)} against alpha = ${level(alpha)}`;
      if (kind === "adopt") return `${test}.`;
      if (kind === "inconclusive") return `${test}. A gain of ${size(margin)} is neither shown nor ruled out.`;
      if (!harm) return `${test}. No challenger gains ${size(margin)} or more.`;
      const broken = harm.cases.length > 0 ? some(harm.cases) : "at least one case";
      return `${test}. But it breaks ${broken} (${pValue(harm.p)}).`;
    }
  }
}

function nextStep({ kind, run, basis }: VariantsSummary): string | undefined {
  if (basis.kind === "stopped") return `Next: finish it with \`evals variants --resume ${run}\`.`;
  if (kind === "adopt") return "Next: write the winner to a file with --write, and put its wording into the server.";
  return undefined;
}

function wordingTable({ wordings, winner, method }: VariantsSummary): Block {
  const certain = method === "deterministic";
  const current = wordings[0]?.size;
  const figures = ["passed (95% CI)", "gain (95% CI)", ...(certain ? [] : ["p"])];
  const unit = current?.kind === "tokens" ? "prompt tokens" : "list bytes";
  const rows = wordings.map((one, at): TableRow => {
    const cells: TableCell[] = [
      one.name === winner ? { strong: one.name, tone: "good" } : one.name,
      one.interval ? rateWithInterval(one, one.interval) : "not scored",
      one.test?.gain ? pointsWithInterval(one.test.gain.change, one.test.gain.interval).replace("95% CI ", "") : "-",
      ...(certain ? [] : [typeof one.test?.p === "number" ? probability(one.test.p) : "-"]),
      at === 0 ? integer(one.size.mean) : `${integer(one.size.mean)} (${signed(one.size.mean - (current?.mean ?? 0))})`,
      { lines: brokenCases(one) },
    ];
    return { cells };
  });
  const columns = [
    { head: "wording", kind: "name" as const },
    ...[...figures, unit].map((head) => ({ head, kind: "figure" as const })),
    { head: "breaks" },
  ];
  return { kind: "table", columns, rows, most: 100, noun: "wording" };
}

function brokenCases({ test }: WordingSummary): readonly string[] {
  if (!test?.harmed) return [test ? "none shown" : "-"];
  return test.harms.length > 0 ? test.harms : ["at least one case"];
}

function signed(difference: number): string {
  const rounded = Math.round(difference);
  return `${rounded > 0 ? "+" : rounded < 0 ? "-" : ""}${integer(Math.abs(rounded))}`;
}

const methodText: Readonly<Record<NonNullable<VariantsSummary["method"]>, string>> = {
  uniform:
    "exact Cochran-Mantel-Haenszel test of each variant against the incumbent, stratified by case, p adjusted by Holm's method",
  halving:
    "sequential halving, then an exact Cochran-Mantel-Haenszel test of the last variant on fresh trials, stratified by case",
  deterministic: "the model is deterministic, so any difference is real",
};

function facts({ method, rounds, untouched, calls, costUsd, dir }: VariantsSummary): [string, string][] {
  const broken = calls.broken > 0 ? ` (${integer(calls.broken)} broken, excluded from rates)` : "";
  const saved = calls.saved > 0 ? `, ${integer(calls.saved)} saved by stopping early` : "";
  return [
    ...(method ? [["Method", methodText[method]] satisfies [string, string]] : []),
    ...rounds.map((names, at): [string, string] => [`Left after round ${at + 1}`, names.join(", ")]),
    ...(untouched.length > 0
      ? [["Not asked (no variant changes their tool lists)", some(untouched, 12)] satisfies [string, string]]
      : []),
    ["Trials", `${integer(calls.made)}${broken}${saved} · cost ${money(costUsd)}`],
    ["Record", dir],
  ];
}
