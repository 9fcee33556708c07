import { groupBy } from "../../base/groupBy.ts";
import type { CheckSummary, ComparedCheck, LostCases } from "../../base/types/check.ts";
import { capital, count, integer, pointsWithInterval, ratio, size, some } from "../../reports/format.ts";

// A regression check in sentences: what happened, and what to do next.

/** Whether the model is, or is assumed to be, deterministic and every different request was asked: then there is no p-value. */
export const isExhausted = ({ method }: ComparedCheck): boolean => method === "exhausted";

/** Whether two tool lists were compared. */
export const isCompared = (check: CheckSummary): check is ComparedCheck => "method" in check;

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

/** A case that a check names. */
export type Named = ComparedCheck["flagged"][number];

const passes = ({ base, head }: Named) =>
  `it passed ${integer(base.passed)} of ${integer(base.trials)} before and ${integer(head.passed)} of ${integer(head.trials)} now`;

/** A case whose pass rate fell by more than half is broken; otherwise it got worse. */
const isBroken = ({ base, head }: Named) => 2 * head.passed * base.trials < base.passed * head.trials;

function casesDropped(check: ComparedCheck): string {
  const { flagged, method } = check;
  const who = method === "records" || method === "unpaired-records" ? "What changed" : "Your change";
  const [worst] = flagged;
  if (!worst) return `${who} made at least one case worse.`;
  const effect = isBroken(worst) ? `broke ${worst.case}` : `made ${worst.case} worse`;
  const rest = othersText(check);
  if (flagged.length === 1) return `${who} ${effect}: ${passes(worst)}.${rest}`;
  return `${who} made ${count(flagged.length, "case")} worse: ${some(flagged.map(nameWithCounts))}.${rest}`;
}

const nameWithCounts = (one: Named) => `${one.case} (${ratio(one.base)} before, ${ratio(one.head)} now)`;

/** A difference of rates in everyday words: `10 points`. */
const inPoints = (change: number) => size(change).replace(" pp", " points");

const words = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const spell = (n: number) => words[n] ?? integer(n);

/** The cases that only look worse, and how many are as before. */
function othersText({ cases, flagged, rose, suspects }: ComparedCheck): string {
  const others = cases - flagged.length - rose.length - suspects.length;
  const verb = suspects.length === 1 ? "looks" : "look";
  const looks =
    suspects.length === 0 ? "" : ` ${some(suspects.map(nameWithCounts))} ${verb} worse too, which may be chance.`;
  if (others === 0) return looks;
  return `${looks} The other ${others === 1 ? "case is" : `${spell(others)} are`} as before.`;
}

function suiteDropped({ net, flagged, suspects }: ComparedCheck): string {
  const drop = net === null ? "" : `: on average they pass ${inPoints(net.change)} less often than before`;
  const worst = suspects[0] ?? flagged[0];
  const fell = worst ? ` ${worst.case} fell most (${ratio(worst.base)} before, ${ratio(worst.head)} now).` : "";
  return `Your change made the cases worse as a whole${drop}. No single case can be named for certain.${fell}`;
}

function casesChanged(check: ComparedCheck): string {
  const { flagged, rose, flips, repeats } = check;
  const list = (all: readonly Named[]) =>
    some(all.map((one) => `${one.case} ${ratio(one.base)} -> ${ratio(one.head)}`));
  if (!isExhausted(check))
    return `Your change moved cases both ways, and the suite as a whole did not drop: ${list(flagged)} fell, ${list(rose)} rose.`;
  const [down, up] = [flips.filter((one) => one.down > 0), flips.filter((one) => one.up > one.down)];
  const name = (all: typeof flips) => some(all.map((one) => one.case));
  const fell = `${name(down)} passed before and ${down.length === 1 ? "fails" : "fail"} now`;
  const gained = up.length > 0 ? `, ${name(up)} the other way round` : "";
  const shown = repeats === undefined ? "A deterministic model shows" : "If the model is deterministic, this shows";
  return `${count(down.length, "case")} flipped: ${fell}${gained}. ${shown} that something changed, not whether it matters.`;
}

function noRegression({ method, margin, reach, lost }: ComparedCheck): string {
  if (method === "exhausted")
    return lost
      ? "Nothing broke in the cases that were compared: each that passed before passes now."
      : "Nothing broke: every case that passed before passes now.";
  const one =
    reach === null
      ? "A single broken case could have gone unseen."
      : `A case that lost ${reach} points would have been caught 8 times in 10.`;
  return `The ${lost ? "compared " : ""}cases pass as often as before, or at most ${inPoints(margin)} less often on average. ${one}`;
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

/** What the command does itself after the report of a run: accept the run as baseline (`accept`), find the cause (`blame`). */
export type FollowUp = { accept?: boolean | undefined; blame?: boolean | undefined };

/** What to do next, apart from what the command does itself. */
export function checkNext(check: CheckSummary, { accept = false, blame = false }: FollowUp = {}): string {
  switch (check.kind) {
    case "regressed": {
      const find = blame
        ? "Next: revert or reword what the blame report names"
        : "Next: find the wording at fault with `evals blame latest`, then revert or reword it";
      return `${find}${accept ? "." : "; or accept the change with `evals baseline accept`."}`;
    }
    case "changed": {
      const rest =
        " Accept the change with `evals baseline accept`, or make it fail the build with `--fail-on changed`.";
      return `Next: look at the cases that fell (below).${accept ? "" : rest}`;
    }
    case "inconclusive":
      return inconclusiveNext(check);
    case "not-comparable":
      return accept ? "" : "Next: fix the reason, or accept a new baseline with `evals baseline accept`.";
    default:
      return "";
  }
}

/** The highest cap a check can have, in trials per case and list. */
const maxTrials = 140;

function inconclusiveNext({ because, advice, trials }: ComparedCheck): string {
  if (because === "stopped") return "Next: finish it with `evals run --resume latest`.";
  if (because === "missing")
    return "Next: find out below why trials got no answer, then run `evals run --resume latest --retry-broken`.";
  if (!advice) return "Next: see below why trials got no answer, then run again.";
  const [likely, safe] = [trials + advice.likely, trials + advice.safe];
  if (advice.atLeast || likely > maxTrials)
    return `Next: more trials would hardly decide this (about ${integer(advice.likely)} more per case and list). Use a wider margin (\`--margin\`), or cases that vary less.`;
  const sure = safe > maxTrials ? "" : `, and \`-n ${safe}\` does so 8 times in 10`;
  return `Next: run it again with \`-n ${likely}\`, which is as likely as not to decide it${sure}.`;
}

/**
 * `Net change -12.5 pp (95% CI -19 to -4.2 pp), mean over 8 cases; the margin is 10 pp.`; empty without a net change.
 */
export function netSentence(check: ComparedCheck): string {
  const { net, margin } = check;
  if (net === null) return "";
  const exhausted = isExhausted(check);
  const model = check.repeats === undefined ? "the model is deterministic" : "the model is assumed to be deterministic";
  const end = exhausted ? model : `the margin is ${size(margin)}`;
  return `Net change ${pointsWithInterval(net.change, exhausted ? null : net.interval)}, mean over ${count(net.cases, "case")}; ${end}.`;
}

/** The cases that a check leaves out, one line per cause. */
export const lostLines = ({ lost = [] }: ComparedCheck): string[] =>
  groupLost(lost).map(({ ids, cause }) => `NOT COMPARABLE ${some(ids)}: ${cause}`);

/** Why no case of a check can be asked. Several causes are listed with their cases. */
export function explainLost(lost: LostCases): string[] {
  const groups = groupLost(lost);
  return groups.map(({ ids, cause }) => (groups.length === 1 ? cause : `${some(ids)}: ${cause}`));
}

function groupLost(lost: LostCases): { ids: string[]; cause: string }[] {
  const causes = groupBy(lost, ({ reason, likely = [] }) => {
    const names = likely.map(({ tool, now }) => ` The likely new name of "${tool}" is "${now}".`);
    return `${reason}${names.join("")}`;
  });
  return [...causes].map(([cause, own]) => ({ cause, ids: own.map((one) => one.case) }));
}

/** Remarks on what was not compared. */
export function listNotes(check: CheckSummary): string[] {
  return [...(check.kind === "not-comparable" ? check.reasons.slice(1) : []), ...check.notes.map(capital)];
}

/** A check with its sentences, as printed by `--json`. */
export function withSentences<C extends CheckSummary>(check: C, followUp: FollowUp = {}): C {
  const headline = checkHeadline(check);
  if (check.kind === "unchanged") return { ...check, headline };
  if (check.kind === "not-comparable")
    return { ...check, headline, notes: [...check.reasons.slice(1), ...check.notes] };
  return { ...check, headline, reason: checkReason(check), next: checkNext(check, followUp) };
}
