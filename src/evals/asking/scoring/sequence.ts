import type { Expectation } from "../../base/types/suite.ts";
import type { Assertion, Call, Selection } from "../../base/types/trial.ts";
import type { Activity } from "./activity.ts";
import { type Assessment, type CallScore, callSelections, compileCall, type ScoreCall } from "./call.ts";
import { labelCalls } from "./labels.ts";
import type { Judge } from "./match.ts";
import { complete, type Pairing, pairUp } from "./match.ts";
import type { ToolLookup } from "./tools.ts";

type CallsExpectation = Extract<Expectation, { kind: "calls" }>;

/** The index of the selection in `callSelections`, plus one if everything is decided and the tool is no substitute. */
type GetFit = (expected: number, made: number) => number;
const named = callSelections.indexOf("malformed-arguments");
const undecided = callSelections.indexOf("right-tool");
const right = undecided + 1;

/**
 * Compiles an expectation of several calls over all turns. In strict order, the calls must be the expected ones one by
 * one (with `extras`, others may be between them); in any order, they are paired so that as many as possible fit. An
 * optional call may be missing, and an attempt at it that does not fit is one of the other calls where they are allowed. The
 * selection is the first of: no call, an unlisted tool, malformed arguments; then by the worst pair: wrong arguments,
 * wrong result, all expected calls and additional ones; else wrong tool.
 */
export function compileSequence(
  expect: CallsExpectation,
  lookup: ToolLookup,
): (activity: Activity, judge: Judge) => Assessment {
  const scorers = expect.calls.map((call) => compileCall(call, expect.argsMode, lookup));
  const labels = expect.calls.map(({ tools }, index) => `calls[${index + 1}] ${tools.join(" | ")}`);
  const isOptional = (index: number) => expect.calls[index]?.optional === true;
  const { find } = lookup;

  return ({ all }, judge) => {
    const getScore = scorePairs(scorers, all, judge);
    const getFit: GetFit = (expected, made) => {
      const { selection, checks, substituted } = getScore(expected, made);
      const isOpen = substituted !== undefined || checks.some(({ met }) => met === "unknown");
      return callSelections.indexOf(selection) + (selection === "right-tool" && !isOpen ? 1 : 0);
    };
    const pairing = findPairing(expect, scorers.length, all.length, getFit);
    const extra = all.filter((_, index) => !pairing.includes(index));
    const picked = labelCalls(all, find, expect.order === "strict" ? ", " : " + ");
    const missing = `no such call${expect.order === "strict" ? " at this position" : ""}; the calls were: ${picked}`;
    const checks = [
      ...labels.flatMap((label, index) => {
        const made = pairing[index];
        if (made === undefined && isOptional(index)) return [];
        return assertPair(label, made === undefined ? undefined : getScore(index, made), missing);
      }),
      ...(expect.extras ? [] : [assertNoExtras(labelCalls(extra, find), extra.length)]),
    ];
    const open = pairing.flatMap((made, index) => (made === undefined ? [] : (getScore(index, made).unchecked ?? [])));
    const unchecked = open.length > 0 && { unchecked: [...new Set(open)] };
    if (checks.every(({ met }) => met !== "no")) {
      const others = pairing.flatMap((made, index) =>
        made === undefined ? [] : (getScore(index, made).substituted ?? []),
      );
      const substituted = others.length > 0 && { substituted: others };
      return { selection: "right-tool", picked, checks, ...unchecked, ...substituted };
    }
    const fits = pairing.flatMap((made, index) =>
      made === undefined ? (isOptional(index) ? [] : [0]) : [getFit(index, made)],
    );
    const unpaired = all.flatMap((call, index) =>
      find(call.tool, call.inner) && !pairing.includes(index) ? [index] : [],
    );
    const isMalformed = unpaired.some((made) => scorers.some((_, index) => getFit(index, made) === named));
    const isUnknown = all.some((call) => !find(call.tool, call.inner));
    return { selection: select(all.length, fits, isUnknown, isMalformed), picked, checks, ...unchecked };
  };
}

/** Scores pairs of an expected and a made call, each once and only if needed. */
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
 * Pairs expected with made calls: first the right ones, then among the rest those that fit less well, so that a message
 * names what is wrong with the closest call.
 */
function findPairing(expect: CallsExpectation, expected: number, made: number, getFit: GetFit): Pairing {
  if (expect.order === "strict") return inOrder(expect, made, getFit);
  let pairing: Pairing = [];
  // Required calls come first, so that an optional one never takes the call that a required one needs.
  for (const optional of [undefined, true] as const)
    for (let level = right; level >= leastFit(expect, optional) && (level === right || !complete(pairing)); level--) {
      const isTurn = (i: number) => expect.calls[i]?.optional === optional;
      pairing = pairUp(expected, made, (i, j) => isTurn(i) && getFit(i, j) >= level, pairing);
    }
  return pairing;
}

/** A call that fits an optional one badly is an additional call, if those are allowed; else a message names its fault. */
function leastFit({ extras }: CallsExpectation, optional: true | undefined): number {
  return optional && extras ? undecided : named;
}

/** The pairing in the order given, with the best level of fit at which no call is missing. */
function inOrder(expect: CallsExpectation, made: number, getFit: GetFit): Pairing {
  const levels = Array.from({ length: right - named + 1 }, (_, step) => right - step);
  const aligned = levels.map((level) => align(expect, made, getFit, level));
  return (aligned.find(({ isValid }) => isValid) ?? aligned.at(-1))?.pairing ?? [];
}

/**
 * The alignment with the fewest required calls missing, then the most calls paired, by dynamic programming over both
 * sequences. `isValid`: no required call is missing, and no call is additional where none may be.
 */
function align(
  { calls, extras }: CallsExpectation,
  made: number,
  getFit: GetFit,
  level: number,
): { pairing: Pairing; isValid: boolean } {
  // A missing required call outweighs any number of additional ones, and each of those a missing optional call.
  const missing = (i: number) => (calls[i]?.optional ? 1 : (made + 1) * (calls.length + 1) ** 2);
  const extra = calls.length + 1;
  const fits = (i: number, j: number) =>
    getFit(i, j) >= Math.max(level, calls[i]?.optional && extras ? undecided : level);
  const costs: number[][] = Array.from({ length: calls.length + 1 }, () => Array<number>(made + 1).fill(0));
  const cost = (i: number, j: number) => costs[i]?.[j] ?? 0;
  for (let i = calls.length; i >= 0; i--)
    for (let j = made; j >= 0; j--) {
      const row = costs[i];
      if (!row || (i === calls.length && j === made)) continue;
      row[j] = Math.min(
        i < calls.length ? missing(i) + cost(i + 1, j) : Number.POSITIVE_INFINITY,
        j < made ? extra + cost(i, j + 1) : Number.POSITIVE_INFINITY,
        i < calls.length && j < made && fits(i, j) ? cost(i + 1, j + 1) : Number.POSITIVE_INFINITY,
      );
    }
  const pairing: (number | undefined)[] = [];
  for (let i = 0, j = 0; i < calls.length; ) {
    if (j < made && fits(i, j) && cost(i, j) === cost(i + 1, j + 1)) {
      pairing.push(j++);
      i++;
    } else if (j < made && cost(i, j) === extra + cost(i, j + 1)) j++;
    else {
      pairing.push(undefined);
      i++;
    }
  }
  const isComplete = calls.every(({ optional }, i) => optional || pairing[i] !== undefined);
  const paired = pairing.filter((j) => j !== undefined).length;
  return { pairing, isValid: isComplete && (extras || paired === made) };
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
