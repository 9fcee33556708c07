import { sumOf } from "../../../base/sum.ts";
import type { ComparedCheck } from "../../../base/types/check.ts";
import type { CaseSummary, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { count, integer, range, some } from "../../../reports/format.ts";
import { checkNext, checkReason, type FollowUp, isCompared, isExhausted, lostLines } from "../../check/checkText.ts";
import { driftLead, driftWord } from "../../drift/report.ts";
import { type RunStatus, redFirst, runStatus } from "../../results/text.ts";
import { askedPhrase } from "./partial.ts";

// The lines below the headline of a run: how sure the result is, and what to do next.

/** The suite whose check or night decides the status of the run. Its sentences are the lead of the report. */
export function leadingSuite(summary: RunSummary): SuiteSummary | undefined {
  const [only, ...others] = summary.suites;
  if (only?.drift?.nightly && others.length === 0) return only;
  const kind = leadingKinds[runStatus(summary)];
  const isLeading = ({ verdict }: SuiteSummary) => verdict !== undefined && isCompared(verdict);
  return kind === undefined
    ? summary.suites.find(isLeading)
    : summary.suites.find(({ verdict }) => verdict?.kind === kind);
}

const leadingKinds: Partial<Record<RunStatus, ComparedCheck["kind"]>> = { REGRESSED: "regressed", CHANGED: "changed" };

/** What happened if the headline does not say so, how sure that is, and what to do next: one line each. */
export function leadLines(summary: RunSummary, followUp: FollowUp = {}): string[] {
  const { verdict: check, drift } = leadingSuite(summary) ?? {};
  const status = runStatus(summary);
  if (drift?.nightly && status !== "INCOMPLETE") return driftLead(drift);
  const lines =
    check && isCompared(check) && status !== "DRIFTED"
      ? [
          checkReason(check),
          ...lostLines(check),
          checkCertainty(check),
          checkNext(check, followUp) || nextStep(summary, status, followUp),
        ]
      : [certainty(summary, status), nextStep(summary, status, followUp)];
  return lines.filter((line) => line !== "");
}

function checkCertainty(check: ComparedCheck): string {
  const shared = check.families > 1 ? ` of ${count(check.families, "suite")}` : "";
  switch (check.kind) {
    case "regressed":
      return `How sure: at most 5% of checks${shared} with unchanged tools report a regression.`;
    case "no-regression":
      return isExhausted(check)
        ? determinism(check)
        : `How sure: a check${shared} misses such a drop in at most 5% of cases.`;
    case "changed":
      return isExhausted(check)
        ? determinism(check)
        : "How sure: at most 1% of checks with unchanged tools name a case that did not change.";
    case "inconclusive":
      return "";
  }
}

/** Whether the model is known to be deterministic, or was only seen to repeat its answers. */
function determinism({ repeats }: ComparedCheck): string {
  if (repeats === undefined) return "How sure: certain, since the model is deterministic.";
  return `How sure: this assumes that the model is deterministic: ${count(repeats, "repeated request")} got the same ${repeats === 1 ? "answer" : "answers"} as before, which can be chance.`;
}

function certainty({ suites, partial, totals, cache }: RunSummary, status: RunStatus): string {
  if (status === "PARTIAL" && partial)
    return `How sure: a quick look at ${askedPhrase(partial)} with ${count(totals.trials, "trial")}, and no verdict on the suite.`;
  if (status === "SMOKE CHECK") {
    const unjudged = sumOf(suites, ({ unchecked = [] }) => sumOf(unchecked, ({ n }) => n));
    const trials = unjudged === 0 ? "" : ` (${count(unjudged, "trial")})`;
    return `How sure: this shows what a host's keyword tool search finds. No language model was asked; arguments and results are not judged${trials}.`;
  }
  const nights = suites.flatMap(({ name, drift }) => (drift?.nightly ? [`${name} ${driftWord(drift)}`] : []));
  if (nights.length > 0) return `Nights: ${some(nights)}.`;
  if (status === "DRIFTED") return "";
  if (cache)
    return `No verdict: ${integer(totals.cached ?? 0)} of ${count((totals.cached ?? 0) + totals.calls, "reply")} came from the cache, and an old reply is not new evidence (--cache).`;
  const widest = widestCase(suites.flatMap(({ cases }) => cases));
  if (!widest?.interval) return "";
  const after = count(widest.trials, "trial");
  return `How sure: after ${after}, the true pass rate of a case may be anywhere in ${range(widest.interval)} (95% CI).`;
}

function widestCase(cases: readonly CaseSummary[]): CaseSummary | undefined {
  const width = ({ interval }: CaseSummary) => (interval ? interval[1] - interval[0] : -1);
  return cases.reduce<CaseSummary | undefined>(
    (found, one) => (found && width(found) >= width(one) ? found : one),
    undefined,
  );
}

function nextStep(summary: RunSummary, status: RunStatus, { accept = false }: FollowUp): string {
  const { run, totals, suites, partial } = summary;
  switch (status) {
    case "SMOKE CHECK":
      return "Next: ask a language model with `evals run -m anthropic:claude-haiku-5-5` (`--dry-run` prints the cost first), or gate this check with `--fail-on rate`.";
    case "DRAFT":
      return "Next: when the cases are written, run again without --cache.";
    case "INCOMPLETE":
      if (totals.missing > 0 || suites.some(isStopped))
        return `Next: ${totals.broken > 0 ? "fix what broke (below), then " : ""}finish the run with \`evals run --resume ${run}\`.`;
      return suites.some(({ verdict }) => verdict && "lost" in verdict)
        ? "Next: update the tool names in these cases or restore the old names, then run again."
        : "Next: see below what broke or could not be decided, fix its cause, then run again.";
    case "PARTIAL":
      return "Next: ask every case with `evals run` before you rely on it.";
    case "FAILED": {
      // A red case of a suite without a gate is not why the run failed.
      const failed = suites.filter(({ failed: gates = [] }) => gates.length > 0);
      const [red] = redFirst((failed.length > 0 ? failed : suites).flatMap(({ cases }) => cases));
      const named = red && !red.ok && /^[\w./:@-]+$/.test(red.id) ? ` ${red.id}` : "";
      const look = red
        ? `read what the model did with \`evals show${named} --failed${partial ? ` --run ${run}` : ""}\``
        : "add a case";
      return `Next: ${look}, then improve the descriptions or correct the cases.`;
    }
    case "PASSED":
      return accept || suites.some(({ verdict }) => verdict)
        ? ""
        : "Next: keep this as the baseline of later checks with `evals baseline accept`.";
    // The drift of each suite says what to do next.
    default:
      return "";
  }
}

const isStopped = ({ verdict }: SuiteSummary) =>
  verdict !== undefined && "because" in verdict && verdict.because === "stopped";
