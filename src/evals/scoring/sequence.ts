import type { Expectation } from "../types/suite.ts";
import type { Assertion, Call, Selection } from "../types/trial.ts";
import { callWords, compileCall, finderFor, type JudgeCall, type Judged } from "./call.ts";
import type { Finding, Made } from "./finding.ts";
import { pickedLabel } from "./labels.ts";
import type { Listing } from "./listing.ts";
import type { Judge } from "./match.ts";
import { complete, type Pairing, pairUp } from "./matching.ts";

type CallsExpectation = Extract<Expectation, { kind: "calls" }>;

/** How well a made call serves an expected one: the place of its word, one more when all its checks are decided. */
type Nearness = (expected: number, made: number) => number;
const named = callWords.indexOf("malformed-arguments");
const undecided = callWords.indexOf("right-tool");
const right = undecided + 1;

/**
 * Several calls over all turns. In strict order the made calls are the expected ones one by one (with `extras`: in this
 * order, others between them); in any order they are paired so that as many as possible fit. The word is the first of:
 * no call, a call that no tool answers to, malformed arguments; then what the pairing lacks: right tools with wrong
 * arguments, right arguments with a wrong result, everything expected with more beside; else wrong tool.
 */
export function compileSequence(expect: CallsExpectation, listing: Listing): (made: Made, judge: Judge) => Finding {
  const judges = expect.calls.map((call) => compileCall(call, expect, listing));
  const labels = expect.calls.map(({ tools }, index) => `calls[${index + 1}] ${tools.join(" | ")}`);
  const find = finderFor(expect, listing);

  return ({ all }, judge) => {
    const grid = judgeAll(judges, all, judge);
    const near: Nearness = (expected, made) => {
      const judged = grid(expected, made);
      const open = judged.checks.some(({ met }) => met === "unknown");
      return callWords.indexOf(judged.word) + (judged.word === "right-tool" && !open ? 1 : 0);
    };
    const pairing = bestPairing(expect, judges.length, all.length, near);
    const extra = all.filter((_, index) => !pairing.includes(index));
    const picked = pickedLabel(all, find, expect.order === "strict" ? ", " : " + ");
    const missing = `no such call${expect.order === "strict" ? " in this place" : ""}; the calls made: ${picked}`;
    const checks = [
      ...labels.flatMap((label, index) => checksOf(label, index, pairing[index], grid, missing)),
      ...(expect.extras ? [] : [extrasCheck(pickedLabel(extra, find), extra.length)]),
    ];
    if (checks.every(({ met }) => met !== "no")) return { selection: "right-tool", picked, checks };
    const found = pairing.map((made, index) => (made === undefined ? 0 : near(index, made)));
    const unpaired = all.flatMap((call, index) => (find(call.tool) && !pairing.includes(index) ? [index] : []));
    const malformed = unpaired.some((made) => judges.some((_, index) => near(index, made) === named));
    const unknownTool = all.some((call) => !find(call.tool));
    return { selection: wordOf(all.length, found, unknownTool, malformed), picked, checks };
  };
}

function judgeAll(judges: readonly JudgeCall[], all: readonly Call[], judge: Judge) {
  const known = new Map<number, Judged>();
  return (expected: number, made: number): Judged => {
    const key = expected * all.length + made;
    const [judgeCall, call] = [judges[expected], all[made]];
    const judged = known.get(key) ?? (judgeCall && call && judgeCall(call, judge));
    if (!judged) throw new RangeError(`no call ${made} for expected call ${expected}`);
    known.set(key, judged);
    return judged;
  };
}

/**
 * Pairs expected with made calls: first those that are right, then, with what is left over, those that come less close,
 * so that a message tells what is wrong with the nearest call. The leaderboard takes the first right call and never
 * goes back on it.
 */
function bestPairing(expect: CallsExpectation, expected: number, made: number, near: Nearness): Pairing {
  if (expect.order === "strict") return inOrder(expect.extras, expected, made, near);
  const fixed: Pairing = expect.argsMatch === "bfcl" ? greedy(expected, made, (i, j) => near(i, j) >= undecided) : [];
  const free = (i: number, j: number) => (fixed[i] === undefined ? !fixed.includes(j) : fixed[i] === j);
  let pairing = fixed;
  for (let level = right; level >= named && (level === right || !complete(pairing)); level--) {
    pairing = pairUp(expected, made, (i, j) => free(i, j) && near(i, j) >= level, pairing);
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

/** With others allowed between, the earliest call that fits is always the best choice. */
function inOrder(extras: boolean, expected: number, made: number, near: Nearness): Pairing {
  const subsequence = (level: number): Pairing => {
    let from = 0;
    return Array.from({ length: expected }, (_, i) => {
      const rest = Array.from({ length: made - from }, (_, step) => from + step);
      const found = rest.find((j) => near(i, j) >= level);
      if (found !== undefined) from = found + 1;
      return found;
    });
  };
  if (!extras && made === expected) {
    return Array.from({ length: expected }, (_, i) => (near(i, i) >= named ? i : undefined));
  }
  const levels = Array.from({ length: right - named + 1 }, (_, step) => right - step);
  return levels.map(subsequence).find(complete) ?? subsequence(named);
}

function checksOf(
  label: string,
  index: number,
  made: number | undefined,
  grid: (expected: number, made: number) => Judged,
  missing: string,
): readonly Assertion[] {
  if (made === undefined) return [{ what: label, met: "no", why: missing }];
  const open = grid(index, made).checks.filter(({ met }) => met !== "yes");
  return open.length === 0 ? [{ what: label, met: "yes" }] : open.map((c) => ({ ...c, what: `${label} ${c.what}` }));
}

function extrasCheck(extra: string, count: number): Assertion {
  if (count === 0) return { what: "extras", met: "yes" };
  return { what: "extras", met: "no", why: `expected no other calls, got ${extra}` };
}

function wordOf(made: number, found: readonly number[], unknownTool: boolean, malformed: boolean): Selection {
  if (made === 0) return "no-call";
  if (unknownTool) return "unknown-tool";
  if (malformed || found.includes(named)) return "malformed-arguments";
  const worst = Math.min(...found);
  if (worst >= undecided) return "several-calls";
  return worst > named ? (callWords[worst] ?? "wrong-tool") : "wrong-tool";
}
