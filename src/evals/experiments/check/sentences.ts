import { groupBy } from "../../base/collections.ts";
import type { CheckSummary, ComparedCheck, LostCases, NamedCase, PlaceboResult } from "../../base/types/check.ts";
import { count, integer, pointsWithInterval, ratio, size, some } from "../../reports/format.ts";
import { mostTrials } from "../design/statistics.ts";
import { summarizePlacebo } from "./placebo.ts";

// A regression check in sentences: what happened and what to do, in words without statistics.

/** Whether the model is, or is assumed, deterministic and every different request was asked: there is no p-value. */
export const isExhausted = ({ method }: ComparedCheck): boolean => method === "exhausted";

/** Whether two tool lists were compared. */
export const isCompared = (check: CheckSummary): check is ComparedCheck => "method" in check;

/** Whether today's list was compared with harmless edits of it. */
export const isPlacebo = (check: CheckSummary): check is ComparedCheck =>
  isCompared(check) && check.method === "placebo";

/** The verdict in a few words. */
export function checkHeadline(check: CheckSummary): string {
  if (isPlacebo(check) && check.kind !== "inconclusive")
    return `PLACEBO: harmless edits ${placeboText(summarizePlacebo(check))}`;
  switch (check.kind) {
    case "unchanged":
      return "UNCHANGED: the tools are those of the baseline, so there is nothing to compare";
    case "not-comparable":
      return `NOT COMPARABLE with the baseline: ${check.reasons[0] ?? "no case is the same as in it"}`;
    case "regressed":
      return `REGRESSED (${check.rate === "selection" ? "tool selection of " : ""}${fallenText(check)})`;
    case "changed":
      return "CHANGED";
    case "no-regression":
      return `NO REGRESSION within ${size(check.margin)}${comparedText(check)}`;
    case "inconclusive":
      return check.because === "stopped" ? "INCONCLUSIVE: the run was stopped" : `INCONCLUSIVE${comparedText(check)}`;
  }
}

function fallenText({ by, flagged, suite, rate }: ComparedCheck): string {
  if (by === "suite") return rate === "selection" ? "the suite" : "suite";
  return `${some(flagged.map((one) => one.case))}${suite?.hasFallen ? ", and the suite" : ""}`;
}

const comparedText = ({ cases, of }: ComparedCheck) =>
  of === undefined ? "" : ` (${integer(cases)} of ${count(of, "case")} compared)`;

/** `moved 5 of 20 cases` */
export const placeboText = ({ moved, cases, isMore }: Omit<PlaceboResult, "run">) =>
  `moved ${integer(moved.length)} of ${count(cases, "case")}${isMore || moved.length === 0 ? "" : ", no more than chance"}`;

function describePlacebo(check: ComparedCheck): string {
  const edits = "Edits that change no meaning (another article, reordered sentences, a trailing space)";
  const rates = [...check.flagged, ...check.rose].map(
    ({ case: id, base, head }) => `${id} (${ratio(base)} edited, ${ratio(head)} as it is)`,
  );
  const moved = [...rates, ...check.flips.map((one) => one.case)];
  const who = moved.length > 0 ? `: ${some(moved)}` : "";
  const means =
    check.kind === "changed" ? " A fall of a few queries after a real change may be no more than that." : "";
  return `${edits} ${placeboText(summarizePlacebo(check))}${who}.${means}`;
}

/** What is known of harmless edits, where they move cases: a fall may be no more than that. */
function placeboDoubt({ placebo }: ComparedCheck): string {
  return placebo?.isMore ? ` Harmless edits ${placeboText(placebo)} of this suite too (run ${placebo.run}).` : "";
}

/** What happened, in words without statistics. */
export function checkReason(check: ComparedCheck): string {
  if (isPlacebo(check) && check.kind !== "inconclusive") return describePlacebo(check);
  switch (check.kind) {
    case "regressed":
      return `${check.by === "suite" ? suiteDropped(check) : casesDropped(check)}${placeboDoubt(check)}`;
    case "changed":
      return casesChanged(check);
    case "no-regression":
      return `${noRegression(check)}${inSomeText(check)}`;
    case "inconclusive":
      return `${explainOpen(check).reason}${inSomeText(check)}`;
  }
}

/** The counts of the rate that changed: passes, or selections of the right tool. */
export const readCounts = (one: NamedCase) => one.selected ?? one;

const passes = (one: NamedCase) => {
  const { base, head } = readCounts(one);
  const what = one.selected ? "its tool was selected in" : "it passed";
  return `${what} ${integer(base.passed)} of ${integer(base.trials)} before and ${integer(head.passed)} of ${integer(head.trials)} now`;
};

/** A case whose rate fell by more than half is broken; otherwise it got worse. */
const isBroken = (one: NamedCase) => {
  const { base, head } = readCounts(one);
  return 2 * head.passed * base.trials < base.passed * head.trials;
};

function casesDropped(check: ComparedCheck): string {
  const { flagged, method } = check;
  const who = method === "records" || method === "unpaired-records" ? "What changed" : "Your change";
  const [worst] = flagged;
  if (!worst) return `${who} made at least one case worse.`;
  const effect = isBroken(worst) ? `broke ${worst.case}` : `made ${worst.case} worse`;
  const rest = `${wordingsText(check)}${othersText(check)}`;
  if (flagged.length === 1) return `${who} ${effect}: ${passes(worst)}.${rest}`;
  return `${who} made ${count(flagged.length, "case")} worse: ${some(flagged.map(nameWithCounts))}.${rest}`;
}

/** Cases without paraphrases are single queries: their fall says nothing of other wordings. */
function wordingsText({ flagged, method }: ComparedCheck): string {
  const single = flagged.filter(({ wordings }) => !wordings).map((one) => one.case);
  if (method !== "pairs" || single.length === 0) return "";
  return flagged.length > 1
    ? ` One query each, no paraphrases: ${some(single)}.`
    : " This is one query, without paraphrases.";
}

/** Cases that fell in some of their wordings, which does not name them. */
function inSomeText({ suspects }: ComparedCheck): string {
  const texts = suspects.flatMap(({ case: id, inSome, wordings = [] }) => {
    if (!inSome) return [];
    return ` ${id} fell in some of its ${count(wordings.length, "paraphrase")} only.`;
  });
  return texts.join("");
}

const nameWithCounts = (one: NamedCase) => {
  const { base, head } = readCounts(one);
  return `${one.case} (${one.selected ? "tool selected " : ""}${ratio(base)} before, ${ratio(head)} now)`;
};

function othersText(check: ComparedCheck): string {
  const { cases, flagged, rose, method, tested } = check;
  const suspects = check.suspects.filter(({ inSome }) => !inSome);
  const others = cases - flagged.length - rose.length - check.suspects.length;
  const gained = rose.length === 0 ? "" : ` ${some(rose.map(nameWithCounts))} got better.`;
  const verb = suspects.length === 1 ? "looks" : "look";
  const chance =
    suspects.length === 0 ? "" : ` ${some(suspects.map(nameWithCounts))} ${verb} worse too, which may be chance.`;
  const looks = `${inSomeText(check)}${chance}`;
  if (others === 0) return `${gained}${looks}`;
  const who = others === 1 ? "other case" : `other ${integer(others)}`;
  if (method !== "pairs") return `${gained}${looks} No fall is shown in the ${who}.`;
  return `${gained}${looks} The ${who} did not look worse in ${count(tested, "trial")}, and ${others === 1 ? "was" : "were"} not tested further.`;
}

function suiteDropped(check: ComparedCheck): string {
  const { net, selection, rate, flagged, suspects } = check;
  const [change, verb] = rate === "selection" ? [selection, "select the right tool"] : [net, "pass"];
  const drop = change === null ? "" : `: on average they ${verb} ${size(change.change)} less often than before`;
  const as = `Your change made the cases worse as a whole${drop}.`;
  if (flagged.length > 0) return `${as} Certain of single cases: ${some(flagged.map(nameWithCounts))}.`;
  const [worst] = suspects;
  return `${as} No single case can be named for certain.${worst ? ` ${nameWithCounts(worst)} fell most.` : ""}`;
}

/** A flip of a deterministic model says that something changed, not whether it matters. */
function casesChanged({ flips, repeats }: ComparedCheck): string {
  const [down, up] = [flips.filter((one) => one.down > 0), flips.filter((one) => one.up > one.down)];
  const name = (all: typeof flips) => some(all.map((one) => one.case));
  const [before, now] = down.every((one) => one.selection)
    ? ["selected its tool", "does not"]
    : ["passed", down.length === 1 ? "fails" : "fail"];
  const gained = up.length > 0 ? `, ${name(up)} the other way round` : "";
  const shown = repeats === undefined ? "A deterministic model shows" : "If the model is deterministic, this shows";
  return `${count(down.length, "case")} flipped: ${name(down)} ${before} before and ${now} now${gained}. ${shown} that something changed, not whether it matters.`;
}

function noRegression({ method, margin, reach, lost, cases, canFall }: ComparedCheck): string {
  if (method === "exhausted")
    return lost
      ? "Nothing broke in the cases that were compared: each that passed before passes now."
      : "Nothing broke: every case that passed before passes now.";
  const one =
    reach === null
      ? "A single broken case could have gone unseen."
      : `Of a single case, 8 of 10 such checks catch a loss of ${reach} pp.`;
  const dead = cases - canFall.pass;
  const some =
    dead === 0 ? "" : ` ${integer(canFall.pass)} of ${count(cases, "case")} can fall; the others never passed.`;
  return `The ${lost ? "compared " : ""}cases pass and select their tools as often as before, or at most ${size(margin)} less often on average.${some} ${one}`;
}

type Explanation = { reason: string; next: string };

/** Why a check is inconclusive, and what to do, where neither depends on its figures. */
const undecided: Readonly<Partial<Record<NonNullable<ComparedCheck["because"]>, Explanation>>> = {
  stopped: {
    reason: "The check was stopped before it could decide.",
    next: "Next: finish it with `evals run --resume latest`.",
  },
  "few-compared": {
    reason: "The cases that were compared did not get worse, but they are fewer than half of the suite.",
    next: "Next: see below why the others could not be compared; accept a new baseline when their pass rates are right.",
  },
  "nothing-can-fall": {
    reason: "The check could not decide: no case passed with either tool list, so none can fall.",
    next: "Next: correct the cases or the descriptions until some cases pass, then accept a new baseline.",
  },
  "answers-repeat": {
    reason: "The check could not decide: consecutive answers repeat each other, so they are not separate evidence.",
    next: "Next: turn off caches on the way to the model, use a temperature above 0 and no fixed seed, then run again.",
  },
  copies: {
    reason:
      "The check could not decide: repeated requests were answered from a cache, and there are too few orders of the tools without them.",
    next: "Next: turn off the cache on the way to the model, then run again.",
  },
};

function explainOpen({ because, missing, cases, net, margin, advice, trials }: ComparedCheck): Explanation {
  const known = because && undecided[because];
  if (known) return known;
  if (because === "missing") {
    const isMissing = missing !== null && missing.base + missing.head > 0;
    const { base = 0, head = 0 } = (isMissing ? missing : missing?.recovered) ?? {};
    const arm = (n: number, name: string) => (n > 0 ? [`${integer(n)} with the ${name} tools`] : []);
    const what = isMissing ? "are missing" : "came only when the request was sent again";
    return {
      reason: `The check could not decide: too many answers ${what} (${[...arm(base, "old"), ...arm(head, "new")].join(", ")}).`,
      next: isMissing
        ? "Next: find out below why trials got no answer, then run `evals run --resume latest --retry-broken`."
        : "Next: find out why requests fail at first (a longer `--timeout` or fewer `--concurrency` may help), then run again.",
    };
  }
  const open =
    net === null
      ? "a case has no answer in both tool lists"
      : `${cases === 1 ? "the case varies" : "the cases vary"} too much from trial to trial to tell a drop of ${size(margin)} from none`;
  return { reason: `The check could not decide: ${open}.`, next: adviseTrials(advice, trials) };
}

function adviseTrials(advice: ComparedCheck["advice"], trials: number): string {
  if (!advice) return "Next: see below why trials got no answer, then run again.";
  const [likely, safe] = [trials + advice.likely, trials + advice.safe];
  if (advice.atLeast || likely > mostTrials)
    return `Next: more trials would hardly decide this (about ${integer(advice.likely)} more per case and list). Use a wider margin (\`--margin\`), or cases that vary less.`;
  const sure = safe > mostTrials ? "" : `, and \`-n ${safe}\` does so 8 times in 10`;
  return `Next: run it again with \`-n ${likely}\`, which is as likely as not to decide it${sure}.`;
}

/** What the command does itself after the report. `model`: one that can be asked with a key of the environment. */
export type FollowUp = { accept?: boolean | undefined; blame?: boolean | undefined; model?: string | undefined };

/** What to do next, apart from what the command does itself. */
export function checkNext(check: CheckSummary, { accept = false, blame = false }: FollowUp = {}): string {
  switch (check.kind) {
    case "regressed": {
      const find = blame
        ? "Next: revert or reword what the blame report names"
        : "Next: find the wording at fault with `evals blame latest`, then revert or reword it";
      const doubt = check.placebo?.isMore
        ? ` Paraphrases (a list as \`input\`) show whether a query fell or only its wording.`
        : "";
      return `${find}${accept ? "." : "; or accept the change with `evals baseline accept`."}${doubt}`;
    }
    case "changed": {
      if (isPlacebo(check))
        return "Next: give these cases paraphrases (a list as `input`), so that a check names what holds for several wordings.";
      const rest =
        " Accept the change with `evals baseline accept`, or make it fail the build with `--fail-on changed`.";
      const look = blame
        ? "look at the cases that fell (below)"
        : "find the wording at fault with `evals blame latest`";
      return `Next: ${look}.${accept ? "" : rest}`;
    }
    case "inconclusive":
      return explainOpen(check).next;
    case "not-comparable":
      return accept ? "" : "Next: fix the reason, or accept a new baseline with `evals baseline accept`.";
    default:
      return "";
  }
}

/** A check with its sentences, as printed by `--json`. */
export function withSentences<C extends CheckSummary>(check: C, followUp: FollowUp = {}): C {
  const headline = checkHeadline(check);
  if (check.kind === "unchanged") return { ...check, headline };
  if (check.kind === "not-comparable")
    return { ...check, headline, notes: [...check.reasons.slice(1), ...check.notes] };
  return { ...check, headline, reason: checkReason(check), next: checkNext(check, followUp) };
}

/** `Net change -12.5 pp (95% CI -19 to -4.2 pp), mean over 8 cases; the margin is 10 pp.`; empty without one. */
export function netSentence(check: ComparedCheck): string {
  const { net, margin, cases } = check;
  if (net === null) return "";
  const exhausted = isExhausted(check);
  const over =
    net.cases < cases ? `the ${integer(net.cases)} of ${count(cases, "case")} that can fall` : count(cases, "case");
  const model = check.repeats === undefined ? "the model is deterministic" : "the model is assumed to be deterministic";
  const end = exhausted ? model : `the margin is ${size(margin)}`;
  return `Net change ${pointsWithInterval(net.change, exhausted ? null : net.interval)}, mean over ${over}; ${end}.`;
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
  const causes = groupBy(lost, ({ reason }) => reason);
  return [...causes].map(([cause, own]) => ({ cause, ids: own.map((one) => one.case) }));
}
