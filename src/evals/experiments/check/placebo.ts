import type { Design, TrialRecord } from "../../asking/trials/design.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { sumOf } from "../../base/collections.ts";
import { tailOfSum } from "../../base/stats/distributions.ts";
import { isSignificant } from "../../base/stats/hypothesisTests.ts";
import type { Baseline, ComparedCheck, PlaceboResult } from "../../base/types/check.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { createToolset } from "../../servers/toolList.ts";
import { compareRecords } from "../design/compare.ts";
import {
  type CheckVerdict,
  fallP,
  listFlips,
  nameTested,
  pairArms,
  readArm,
  riseP,
  tallyCase,
} from "../design/observe.ts";
import { OrderSchedule } from "../design/schedule.ts";
import { defaultMargin } from "../design/statistics.ts";
import type { CheckSetup } from "./design.ts";

// A placebo: today's list against the same list with edits that change no meaning. It shows how far any edit moves the
// cases of a suite on a model, which a check of a single change cannot tell from what the change did.

/** Trials per case and list. */
export const placeboTrials = 20;
/** A case moved if its rates differ at this level, in either direction; so many cases move by chance. */
const movedLevel = 0.05;

/** A baseline in which the list of every case is today's, with harmless edits. */
export function toPlacebo(baseline: Baseline, planned: readonly PlannedCase[]): Baseline {
  const edited = new Map(
    planned.map(({ case: { id }, toolset }) => [id, createToolset(toolset.tools.map(editHarmlessly))]),
  );
  return {
    ...baseline,
    cases: baseline.cases.map((one) => ({ ...one, toolset: edited.get(one.id)?.hash ?? one.toolset })),
    toolsets: Object.fromEntries([...edited.values()].map(({ hash, tools }) => [hash, [...tools]])),
  };
}

/** One edit of the description, by the position of the tool: another article, reordered sentences, a trailing space. */
function editHarmlessly<T extends OfferedTool>(tool: T, position: number): T {
  const { description = "" } = tool;
  const edits = [swapArticle, reorderSentences, addSpace];
  const tried = edits.map((_, at) => edits[(position + at) % edits.length]?.(description) ?? description);
  return { ...tool, description: tried.find((one) => one !== description) ?? description };
}

const swapArticle = (text: string) => text.replace(/\b(?:an?|one)\b/, (found) => (found === "one" ? "a" : "one"));

/** The last sentence moves before the one that precedes it; the first stays, where there are three or more. */
function reorderSentences(text: string): string {
  const sentences = text.split(/(?<=[.!?])\s+(?=[A-Z])/);
  return sentences.length < 2 ? text : [...sentences.slice(0, -2), sentences.at(-1), sentences.at(-2)].join(" ");
}

const addSpace = (text: string) => (text === "" ? text : `${text} `);

/**
 * Asks every case with both lists, and names those that moved. `changed`: more moved than chance explains (one case at
 * 5 % over all, or a binomial tail of 5 %; any flip of a deterministic model). `no-regression`: no more than that.
 */
export function placebo(setup: CheckSetup): Design<CheckVerdict> {
  const { cases, trials = placeboTrials, requests, alwaysAlike } = setup;
  const count = (id: string) => (alwaysAlike ? Math.min(requests?.(id) ?? trials, trials) : trials);
  return {
    cap: pairArms.length * sumOf(cases, count),
    *play(record) {
      const spans = cases.map((id) => ({ case: id, arms: pairArms, from: 1, to: count(id) }));
      yield* new OrderSchedule(setup).bring(record, spans, 1);
      return judgePlacebo(record, setup, count);
    },
  };
}

function judgePlacebo(
  record: TrialRecord,
  { cases, seed, margin = defaultMargin, trials = placeboTrials, alwaysAlike = false }: CheckSetup,
  count: (id: string) => number,
): CheckVerdict {
  const compared = compareRecords({ cases, record, samePairs: true, alwaysAlike, seed, margin, withReach: false });
  const none = { by: null, rate: null, because: null, advice: null, suspects: [], flagged: [], rose: [], flips: [] };
  const verdict = { ...compared, ...none, method: "placebo" as const, cap: trials };
  if (compared.because === "missing") return { ...verdict, kind: "inconclusive", because: "missing" };
  const tallies = cases.map((id) => tallyCase(id, readArm(record, id, "base"), readArm(record, id, "head"), count(id)));
  if (alwaysAlike) {
    const flips = listFlips(tallies);
    return { ...verdict, kind: flips.length > 0 ? "changed" : "no-regression", flips, net: null, selection: null };
  }
  const [flagged = [], rose = []] = [fallP, riseP].map((test) =>
    nameTested(tallies, test, (p) => isSignificant(p, movedLevel / 2)),
  );
  const byChance = cases.map(() => ({ scores: [0, 1], masses: Float64Array.of(1 - movedLevel, movedLevel) }));
  const isSure = [...flagged, ...rose].some(({ p }) => isSignificant(p, movedLevel / 2 / cases.length));
  const isMore = isSure || tailOfSum(byChance, flagged.length + rose.length) <= movedLevel;
  return { ...verdict, kind: isMore ? "changed" : "no-regression", flagged, rose };
}

/** What a placebo came to, as its baseline keeps it. */
export function summarizePlacebo({ kind, flagged, rose, flips, cases }: ComparedCheck): Omit<PlaceboResult, "run"> {
  return { moved: [...flagged, ...rose, ...flips].map((one) => one.case), cases, isMore: kind === "changed" };
}
