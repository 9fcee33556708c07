import type { Expectation } from "../types/suite.ts";
import type { Assertion, Call, Selection } from "../types/trial.ts";
import type { Activity } from "./activity.ts";
import { type Assessment, type CallScore, callSelections, compileCall, getFinder, type ScoreCall } from "./call.ts";
import { labelCalls } from "./labels.ts";
import type { Judge } from "./match.ts";
import { complete, type Pairing, pairUp } from "./match.ts";
import type { ToolLookup } from "./tools.ts";

type CallsExpectation = Extract<Expectation, { kind: "calls" }>;

/**
 * How well a call fits an expected one: the index of its selection in `callSelections`, one more when all its assertions
 * are decided.
 */
type GetFit = (expected: number, made: number) => number;
const named = callSelections.indexOf("malformed-arguments");
const undecided = callSelections.indexOf("right-tool");
const right = undecided + 1;

/**
 * Compiles an expectation of several calls over all turns. In strict order, the calls must be the expected ones one by
 * one (with `extras`, others may be between them); in any order, they are paired so that as many as possible fit. The
 * selection is the first of: no call, an unlisted tool, malformed arguments; then by the worst pair: wrong arguments,
 * wrong result, all expected calls and additional ones; else wrong tool.
 */
export function compileSequence(
  expect: CallsExpectation,
  lookup: ToolLookup,
): (activity: Activity, judge: Judge) => Assessment {
  const scorers = expect.calls.map((call) => compileCall(call, expect, lookup));
  const labels = expect.calls.map(({ tools }, index) => `calls[${index + 1}] ${tools.join(" | ")}`);
  const find = getFinder(expect, lookup);

  return ({ all }, judge) => {
    const getScore = scorePairs(scorers, all, judge);
    const getFit: GetFit = (expected, made) => {
      const { selection, checks } = getScore(expected, made);
      const isOpen = checks.some(({ met }) => met === "unknown");
      return callSelections.indexOf(selection) + (selection === "right-tool" && !isOpen ? 1 : 0);
    };
    const pairing = findPairing(expect, scorers.length, all.length, getFit);
    const extra = all.filter((_, index) => !pairing.includes(index));
    const picked = labelCalls(all, find, expect.order === "strict" ? ", " : " + ");
    const missing = `no such call${expect.order === "strict" ? " at this position" : ""}; the calls were: ${picked}`;
    const checks = [
      ...labels.flatMap((label, index) => {
        const made = pairing[index];
        return assertPair(label, made === undefined ? undefined : getScore(index, made), missing);
      }),
      ...(expect.extras ? [] : [assertNoExtras(labelCalls(extra, find), extra.length)]),
    ];
    const open = pairing.flatMap((made, index) => (made === undefined ? [] : (getScore(index, made).unchecked ?? [])));
    const unchecked = open.length > 0 && { unchecked: [...new Set(open)] };
    if (checks.every(({ met }) => met !== "no")) return { selection: "right-tool", picked, checks, ...unchecked };
    const fits = pairing.map((made, index) => (made === undefined ? 0 : getFit(index, made)));
    const unpaired = all.flatMap((call, index) =>
      find(call.tool, call.inner) && !pairing.includes(index) ? [index] : [],
    );
    const isMalformed = unpaired.some((made) => scorers.some((_, index) => getFit(index, made) === named));
    const isUnknown = all.some((call) => !find(call.tool, call.inner));
    return { selection: select(all.length, fits, isUnknown, isMalformed), picked, checks, ...unchecked };
  };
}

/** Scores each pair of an expected and a made call, once, when it is first needed. */
function scorePairs(scorers: readonly ScoreCall[], all: readonly Call[], judge: Judge) {
  const known = new Map<number, CallScore>();
  return (expected: number, made: number): CallScore => {
    const key = expected * all.length + made;
    const [scoreCall, call] = [scorers[expected], all[made]];
    const score = known.get(key) ?? (scoreCall && call && scoreCall(call, judge));
    if (!score) throw new RangeError(`no call ${made} for expected call ${expected}`);
    known.set(key, score);
    return score;
  };
}

/**
 * Pairs expected with made calls: first those that are right, then, among the rest, those that fit less well, so that a
 * message names what is wrong with the nearest call. The leaderboard takes the first right call and never backtracks.
 */
function findPairing(expect: CallsExpectation, expected: number, made: number, getFit: GetFit): Pairing {
  if (expect.order === "strict") return inOrder(expect.extras, expected, made, getFit);
  const fixed: Pairing = expect.argsMatch === "bfcl" ? greedy(expected, made, (i, j) => getFit(i, j) >= undecided) : [];
  const free = (i: number, j: number) => (fixed[i] === undefined ? !fixed.includes(j) : fixed[i] === j);
  let pairing = fixed;
  for (let level = right; level >= named && (level === right || !complete(pairing)); level--) {
    pairing = pairUp(expected, made, (i, j) => free(i, j) && getFit(i, j) >= level, pairing);
  }
  return pairing;
}

function greedy(expected: number, made: number, edge: (i: number, j: number) => boolean): Pairing {
  const taken = new Set<number>();
  return Array.from({ length: expected }, (_, i) => {
    const found = Array.from({ length: made }, (_, j) => j).find((j) => !taken.has(j) && edge(i, j));
    if (found !== undefined) taken.add(found);
    return found;
  });
}

/** With other calls allowed in between, the earliest call that fits is always the best choice. */
function inOrder(extras: boolean, expected: number, made: number, getFit: GetFit): Pairing {
  const subsequence = (level: number): Pairing => {
    let from = 0;
    return Array.from({ length: expected }, (_, i) => {
      const rest = Array.from({ length: made - from }, (_, step) => from + step);
      const found = rest.find((j) => getFit(i, j) >= level);
      if (found !== undefined) from = found + 1;
      return found;
    });
  };
  if (!extras && made === expected) {
    return Array.from({ length: expected }, (_, i) => (getFit(i, i) >= named ? i : undefined));
  }
  const levels = Array.from({ length: right - named + 1 }, (_, step) => right - step);
  return levels.map(subsequence).find(complete) ?? subsequence(named);
}

function assertPair(label: string, score: CallScore | undefined, missing: string): readonly Assertion[] {
  if (!score) return [{ what: label, met: "no", why: missing }];
  const open = score.checks.filter(({ met }) => met !== "yes");
  return open.length === 0 ? [{ what: label, met: "yes" }] : open.map((c) => ({ ...c, what: `${label} ${c.what}` }));
}

function assertNoExtras(extra: string, count: number): Assertion {
  if (count === 0) return { what: "extras", met: "yes" };
  return { what: "extras", met: "no", why: `expected no other calls, got ${extra}` };
}

function select(made: number, fits: readonly number[], isUnknown: boolean, isMalformed: boolean): Selection {
  if (made === 0) return "no-call";
  if (isUnknown) return "unknown-tool";
  if (isMalformed || fits.includes(named)) return "malformed-arguments";
  const worst = Math.min(...fits);
  if (worst >= undecided) return "several-calls";
  return worst > named ? (callSelections[worst] ?? "wrong-tool") : "wrong-tool";
}
