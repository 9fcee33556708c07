import { sumOf } from "../../base/collections.ts";
import type { NamedCase } from "../../base/types/check.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import {
  type Block,
  diff,
  type Fact,
  facts,
  heading,
  list,
  makeColumns,
  section,
  type TableCell,
  type Tone,
  table,
  text,
} from "../../reports/document.ts";
import {
  count,
  integer,
  level,
  money,
  percent,
  points,
  probability,
  pValue,
  ratio,
  signedInteger,
  size,
  some,
} from "../../reports/format.ts";
import { modelLabel } from "../results/text.ts";
import type { Comparison, VariantsSummary, VariantVerdict } from "./verdict.ts";

const tones: Readonly<Record<VariantsSummary["kind"], Tone>> = { adopt: "good", keep: "good", inconclusive: "warn" };

type Surroundings = { command?: string; blocks?: Block[]; facts?: Fact[] };

/** The report of `evals variants`: verdict, next step and evidence. `more`: of a search before it. */
export function variantsDocument(summary: VariantsSummary, more: Surroundings = {}): Block[] {
  const { suite, model, note, cases, wordings, best, kind } = summary;
  const about = [suite, modelLabel({ model, note }), `${count(wordings.length, "wording")}, ${count(cases, "case")}`];
  return [
    heading(1, variantsHeadline(summary), tones[kind]),
    text(variantsReason(summary), `Next: ${nextStep(summary, more.command)}`),
    ...section(about.join(" · "), [wordingTable(summary)]),
    ...caseTables(summary),
    ...section(`Changes in ${best?.name}`, [diff(kind === "keep" ? [] : (best?.changes ?? []))]),
    ...section("What the new names break", [list("name", kind === "keep" ? [] : listRenamings(summary))]),
    ...(more.blocks ?? []),
    facts(...(more.facts ?? []), ...listFacts(summary)),
  ];
}

/** The object that `evals variants --json` prints. */
export function variantsJson(summary: VariantsSummary, command?: string) {
  return {
    ...summary,
    headline: variantsHeadline(summary),
    reason: variantsReason(summary),
    next: nextStep(summary, command),
  };
}

function variantsHeadline({ kind, winner, method }: VariantsSummary): string {
  if (method === null) return "INCONCLUSIVE: stopped before the verdict";
  if (kind === "adopt") return `ADOPT ${winner}`;
  return kind === "keep" ? "KEEP the current wording" : "INCONCLUSIVE";
}

function variantsReason(summary: VariantsSummary): string {
  if (summary.method === null) return "The trials made so far are on the record.";
  return summary.method === "deterministic"
    ? describeCertain(summary.verdict.tests, summary.verdict)
    : describeSampled(summary.verdict, summary.margin);
}

function describeCertain(
  [best]: readonly Comparison[],
  verdict: Extract<VariantsSummary, { method: "deterministic" }>["verdict"],
): string {
  const certain = "The model is deterministic, so one trial per case is enough.";
  if (!best) return noCandidate;
  const { challenger, repaired, broken, unanswered } = best;
  switch (verdict.kind) {
    case "adopt":
      return `${challenger} repairs ${count(repaired.length, "case")} and breaks none. ${certain}`;
    case "keep":
      if (verdict.because === "no-gain") return `No wording passes more cases than the current one. ${certain}`;
      return `${challenger} repairs ${count(repaired.length, "case")}, but ${
        verdict.because === "breaks"
          ? `breaks ${some(broken)}`
          : `selects the right tool in ${count(best.selected.challenger, "case")} instead of ${integer(best.selected.incumbent)}`
      }. ${certain}`;
    case "inconclusive":
      return `${some(unanswered.length > 0 ? unanswered : ["Some cases"])} got no answer, so the wordings cannot be compared.`;
  }
}

const noCandidate =
  "No proposal that could be asked passed more often than the current wording on the train cases, so none was tested.";

/** The first sentence names cases with a change at this p or below. */
const maxNamedP = 0.05;

function describeSampled(verdict: VariantVerdict, margin: number): string {
  const { room, cases, gain, certificates, rates } = verdict;
  const all = room.length === 1 ? `${room[0]}, the only case` : `the ${count(room.length, "case")}`;
  const where = room.length === cases ? "" : ` on ${all} with room for a gain`;
  switch (verdict.kind) {
    case "adopt":
      return `${verdict.winner} is better: ${gain ? describeGain(gain) : ""}. ${certificates.length < cases ? `None of the ${count(certificates.length, "case")} looked at` : "No case"} loses ${size(Math.max(0, ...certificates.map(({ harm }) => harm)))} or more.`;
    case "keep":
      switch (verdict.because) {
        case "no-room":
          return "Every case passes already, so no wording can be better.";
        case "no-candidate":
          return noCandidate;
        case "no-gain":
          return `No wording is better by ${size(margin)} or more${where}.`;
        case "breaks":
          return `${gain?.challenger} breaks ${count(verdict.broken.length, "case")}: ${some(verdict.broken.map(describeChange), 3)}.`;
        case "no-net-gain":
          return `${gain?.challenger} is better on some cases, but loses as much on others.`;
        case "selection":
          return `${gain?.challenger} passes more often, but selects the right tool less often: ${percent(rates?.selection.incumbent ?? 0)} -> ${percent(rates?.selection.challenger ?? 0)}.`;
      }
      break;
    case "inconclusive":
      switch (verdict.because) {
        case "missing":
          return "Too many trials got no answer, so nothing can be decided.";
        case "gain":
          return `${gain?.challenger} may be better (${points(gain?.mean ?? 0)} on average${where}), but chance is a possible reason.`;
        case "harm": {
          const open = certificates.filter(({ bound, harm }) => bound >= harm);
          const selection = `${size(rates?.selection.fall ?? 0)} in selecting the right tool`;
          const worst = open.length > 0 ? open.map((one) => `${size(one.bound)} on ${one.case}`) : [selection];
          return `${gain?.challenger} is better: ${gain ? describeGain(gain) : ""}. But a loss of up to ${some(worst, 3)} is not ruled out.`;
        }
      }
  }
}

/** `c3 passes 31 of 32 times instead of 2 of 32`, or the mean if no single case stands out. */
function describeGain({ cases, mean }: NonNullable<VariantVerdict["gain"]>): string {
  const gained = cases.filter(({ p, base, head }) => p <= maxNamedP && head.passed > base.passed);
  if (gained.length === 0) return `${points(mean)} on average, though no single case stands out`;
  return some(gained.map(describeChange), 3);
}

function describeChange({ case: id, base, head }: Pick<NamedCase, "case" | "base" | "head">): string {
  const before =
    base.trials === head.trials ? integer(base.passed) : `${integer(base.passed)} of ${integer(base.trials)}`;
  return `${id} passes ${integer(head.passed)} of ${count(head.trials, "time")} instead of ${before}`;
}

/** What to do next, as an imperative clause. */
function nextStep(summary: VariantsSummary, command = "variants"): string {
  const { kind, run, method, winner, best } = summary;
  if (method === null) return `finish it with \`evals ${command} --resume ${run}\`.`;
  if (kind === "adopt") {
    const isSkill = best?.changes.every(({ label }) => label.startsWith(skillEntryName("")));
    const save = `\`evals ${command} --resume latest --output adopted.json\``;
    return `put the wording of ${winner} into the ${isSkill ? "skill" : "server"}; ${save} saves it as a file.`;
  }
  const { verdict } = summary;
  if (verdict.kind === "inconclusive") {
    if (verdict.because === "missing") return "find out why trials broke, then run it again.";
    const { settle } = verdict;
    if (!settle)
      return "word the difference more strongly, or keep the current wording; more trials would not settle it.";
    return `keep the current wording, or test ${some(settle.cases)} again with about ${count(settle.trials, "trial")} per wording; that would settle it.`;
  }
  if (verdict.kind === "keep" && (verdict.because === "breaks" || verdict.because === "selection"))
    return `reword ${best?.name} so that it repairs without breaking, and test it again.`;
  if (verdict.kind === "keep" && verdict.because === "no-room")
    return "add cases that the current wording fails, or leave it as it is.";
  return "leave the wording as it is.";
}

function wordingTable(summary: VariantsSummary): Block {
  const { wordings, winner } = summary;
  const current = wordings[0]?.tokens ?? 0;
  const columns = resultColumns(summary);
  const rows = wordings.map((one, at): TableCell[] => [
    one.name === winner ? { strong: one.name, tone: "good" } : one.name,
    ...columns.map(({ cell }) => cell(one)),
    at === 0 ? integer(one.tokens) : `${integer(one.tokens)} (${signedInteger(one.tokens - current)})`,
  ]);
  const figures = columns.map(({ head }) => head);
  return table("wording", makeColumns(["name", "wording"], ["figure", ...figures, "tokens"]), rows, { max: 100 });
}

type Wording = VariantsSummary["wordings"][number];
type ResultColumn = { head: string; cell(one: Wording): TableCell };

function resultColumns(summary: VariantsSummary): ResultColumn[] {
  if (summary.method === null) return [{ head: "passed", cell: (one) => ratio(one) }];
  if (summary.method === "deterministic") {
    const { tests } = summary.verdict;
    const find = ({ name }: Wording) => tests.find(({ challenger }) => challenger === name);
    const list = (of: (test: Comparison) => readonly string[]) => (one: Wording) => {
      const test = find(one);
      if (!test) return "-";
      return of(test).length > 0 ? some(of(test), 3) : "none";
    };
    return [
      { head: "passed", cell: (one) => ratio(one) },
      { head: "repairs", cell: list(({ repaired }) => repaired) },
      { head: "breaks", cell: list(({ broken }) => broken) },
      {
        head: "right tool",
        cell: (one) => integer(find(one)?.selected.challenger ?? tests[0]?.selected.incumbent ?? 0),
      },
    ];
  }
  const { gain, screening } = summary.verdict;
  const screened: ResultColumn = {
    head: "screening",
    cell: ({ screened }) => (screened ? `${percent(screened.rate)} (round ${screened.round})` : "-"),
  };
  const tested: ResultColumn = {
    head: "mean of the gain test",
    cell: ({ name }) => {
      if (!gain || (name !== gain.challenger && name !== summary.wordings[0]?.name)) return "-";
      const arm = name === gain.challenger ? "head" : "base";
      const rates = gain.cases.flatMap((one) => (one[arm].trials > 0 ? [one[arm].passed / one[arm].trials] : []));
      return percent(sumOf(rates, (rate) => rate) / Math.max(1, rates.length));
    },
  };
  return [...(screening.length > 0 ? [screened] : []), tested];
}

function listRenamings({ best }: VariantsSummary): string[] {
  return (best?.renamings ?? []).map(
    ({ breaks, fix, aliasTokens }) =>
      `${breaks.join(" ")} ${fix} Both take about ${count(aliasTokens, "token")} more in every request.`,
  );
}

function caseTables(summary: VariantsSummary): Block[] {
  const { best } = summary;
  if (summary.method !== "sampled") {
    const test = summary.verdict?.tests[0];
    const marks = [
      ...(test?.repaired ?? []).map((id) => [{ mark: "good" as const }, " ", { code: id }, ": fails -> passes"]),
      ...(test?.broken ?? []).map((id) => [{ mark: "bad" as const }, " ", { code: id }, ": passes -> fails"]),
    ];
    return section(`Cases that changed (current wording -> ${best?.name})`, [list("case", marks, 20)]);
  }
  const { gain, certificates } = summary.verdict;
  const gains = (gain?.cases ?? []).map((one) => [
    one.case,
    `${ratio(one.base)} -> ${ratio(one.head)}`,
    probability(one.p),
  ]);
  const losses = certificates.map((one) => [
    one.case,
    `${ratio(one.incumbent)} -> ${ratio(one.challenger)}`,
    one.bound > 0 ? size(one.bound) : "none",
    size(one.harm),
  ]);
  return [
    ...section(`Gain test on fresh trials (current wording -> ${gain?.challenger})`, [
      caseTable(["passed", "p of a gain"], gains),
    ]),
    ...section("Largest loss that is not ruled out", [caseTable(["passed", "loss", "limit"], losses)]),
  ];
}

function caseTable(figures: readonly string[], rows: readonly (readonly string[])[]): Block {
  return table("case", makeColumns(["id", "case"], ["figure", ...figures]), rows);
}

function listFacts(summary: VariantsSummary): Fact[] {
  const { notAsked, calls, costUsd, dir } = summary;
  const lost = calls.missing > 0 ? ` (${count(calls.missing, "request")} got no answer)` : "";
  const verdict = summary.method === "sampled" ? summary.verdict : undefined;
  return [
    ...(verdict?.gain ? sampledFacts(verdict, verdict.gain) : []),
    ["Edits that change no meaning", verdict && describePlacebo(summary.placebo, verdict)],
    ["Not asked (no variant changes their tool lists)", notAsked.length > 0 ? some(notAsked, 12) : undefined],
    ["Trials", `${integer(calls.made)}${lost} · cost ${money(costUsd)}`],
    ["Record", dir],
  ];
}

function describePlacebo(placebo: VariantsSummary["placebo"], { certificates }: VariantVerdict): string | undefined {
  if (!placebo || certificates.length === 0) return undefined;
  const moved = certificates.map((one) => one.case).filter((id) => placebo.moved.includes(id));
  const which = moved.length > 0 ? ` (${some(moved)})` : "";
  const chance = placebo.isMore || placebo.moved.length === 0 ? "" : ", no more than chance";
  return `moved ${integer(moved.length)} of the ${count(certificates.length, "case")} of the certificate${which}; ${integer(placebo.moved.length)} of all ${integer(placebo.cases)}${chance} (run ${placebo.run})`;
}

function sampledFacts(
  { room, margin, rates, certificates }: VariantVerdict,
  { mean, upper, p, level: alpha, look, trials }: NonNullable<VariantVerdict["gain"]>,
): Fact[] {
  const excluded = `at most ${points(upper)} (one-sided 95% CI, Miettinen-Nurminen), margin ${size(margin)}`;
  const test = `exact global test over ${count(room.length, "case")} with room, ${pValue(p)} against alpha = ${level(alpha)} (interim analysis ${look}, ${count(trials, "trial")} per case and wording)`;
  const tested: Fact[] = [
    ["Gain test", test],
    ["Mean gain", `${points(mean)}, ${excluded}`],
  ];
  if (!rates) return tested;
  const limit = "each case by itself: one-sided upper limit of its loss at 99% (Miettinen-Nurminen)";
  const describe = ({ incumbent, challenger }: typeof rates.pass) =>
    `${percent(incumbent)} -> ${percent(challenger)} (${points(challenger - incumbent)})`;
  const fall = rates.selection.fall > 0 ? `a fall of at most ${size(rates.selection.fall)}` : "no fall";
  return [
    ...tested,
    ["Passed, mean of all cases", describe(rates.pass)],
    ["Right tool selected", `${describe(rates.selection)}, ${fall} (one-sided 95% CI), margin ${size(margin)}`],
    ["No-harm certificate", certificates.length > 0 ? limit : undefined],
  ];
}
