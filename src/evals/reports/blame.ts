import type { BlameVerdict } from "../verdicts/blame.ts";
import type { BlameReport } from "../verdicts/blameCases.ts";
import { type Block, heading, section, text } from "./document.ts";
import { count, integer, money, percent, pValue, ratio } from "./format.ts";
import { modelLabel } from "./runText.ts";

/** The report of `evals blame` on one suite and model: for each case the culprits, their wording, and the evidence. */
export function blameDocument(report: BlameReport): Block[] {
  const { suite, model, note, from, stopped, costUsd, run, dir } = report;
  return [
    ...report.cases.flatMap((one) => caseBlocks(one, report)),
    {
      kind: "facts",
      facts: [
        ["Suite", `${suite} · ${modelLabel({ model, note })}, against ${from} · cost ${money(costUsd)}`],
        ...(stopped === null ? [] : [["Stopped", `${stopped}. Blame again to decide (record ${run}).`] as const]),
        ["Record", dir],
      ],
    },
  ];
}

/** The object that `evals blame --json` prints of a report. */
export function blameJson(report: BlameReport) {
  const cases = report.cases.map((one) => ({
    ...one,
    verdict: one.verdict && { ...one.verdict, reason: blameReason(one.verdict) },
  }));
  return { ...report, cases };
}

function caseBlocks(one: BlameReport["cases"][number], { deterministic }: BlameReport): Block[] {
  const { verdict, changes, known, input } = one;
  const rates = known.new ? `: ${ratio(known.old)} with the old list, ${ratio(known.new)} with the new one` : "";
  const asked = [["Case ", { code: one.case }, rates], { code: `"${input}"`, max: 90, dim: true as const }];
  if (!verdict) return [heading(1, `NOT DECIDED: ${one.case}`, "warn"), text(...asked)];
  const blamed = verdict.kind === "blamed";
  const culprits = changes.filter(({ id }) => verdict.culprits.includes(id));
  return [
    heading(1, blamed ? `TO BLAME: ${verdict.culprits.join(" and ")}` : "INCONCLUSIVE", blamed ? "bad" : "warn"),
    text(blameReason(verdict), blamed ? "Next: revert or reword what is to blame." : undefined, ...asked),
    ...section(culprits.length === 1 ? "The change" : "The changes", [{ kind: "diff", changes: culprits, most: 6 }]),
    text(evidence(verdict), spent(verdict, changes.length, deterministic)),
  ];
}

/** Why the verdict is what it is, in one sentence or two. */
function blameReason({ basis, culprits, relation, ranking, necessity }: BlameVerdict): string {
  const likeliest = ranking[0]?.changes.join(" and ") ?? "";
  switch (basis.kind) {
    case "confirmed": {
      const fixes = `Reverting ${culprits.join(" and ")} fixes the case`;
      if (culprits.length < 2 || relation === "single") return `${fixes}.`;
      const how = relation === "either" ? "either of them is enough to break it" : "it takes both to break it";
      return `${fixes}. By the search, ${how}.`;
    }
    case "not confirmed":
      return `${likeliest} is the likeliest, but reverting it was not shown to fix the case${necessity ? ` (${pValue(necessity.p)})` : ""}.`;
    case "seen to break":
      return `Reverting ${basis.reverted.join(" and ")} fixes the case, and ${basis.breaking.join(" with ")} alone breaks it. The model is deterministic, so this is certain.`;
    case "nothing changed":
      return "No description changed, so there is nothing to blame.";
    case "not scored before":
      return "The case was not scored in both arms, so there is nothing to explain.";
    case "no drop":
      return "The case did not drop, so there is nothing to explain.";
    case "passes with all new":
      return "The case passes with all new wordings, so there is nothing to explain.";
    case "fails with all old":
      return "The case fails with all old wordings, too.";
    case "search broke":
      return "Nothing was scored: every trial of the search broke.";
    case "confirmation broke":
      return "Nothing was scored: a whole arm of the necessity test broke.";
    case "a trial broke":
      return "A trial broke, so the effect of its tool list is unknown.";
    case "not tested":
      return "Nothing was tested.";
  }
}

function evidence({ kind, necessity, ranking }: BlameVerdict): string | undefined {
  if (kind === "blamed" && necessity) {
    const { reverted, allNew, p } = necessity;
    return `Necessity test on fresh trials: ${ratio(reverted)} with it reverted, ${ratio(allNew)} with all new (${pValue(p)}, one-sided, alpha = .05 over all looks).`;
  }
  const listed = ranking.slice(0, 3).map(({ changes, chance }) => `${changes.join(" + ")} (${percent(chance)})`);
  return kind === "blamed" || listed.length === 0 ? undefined : `Likeliest by the search: ${listed.join(", ")}.`;
}

function spent({ calls }: BlameVerdict, changes: number, deterministic: boolean): string {
  const made = `${count(changes, "change")}; ${count(calls.search, "trial")} to search, ${integer(calls.confirmation)} to confirm.`;
  if (changes < 2) return made;
  const each = deterministic ? "once" : "ten times";
  return `${made} Reverting each change by itself ${each} would have taken ${integer(calls.oneAtATime)}, and misses two that each suffice.`;
}
