import { getOrAdd, sumOf } from "../../base/collections.ts";
import type { ComparedCheck } from "../../base/types/check.ts";
import { type Discovery, type DiscoverySummary, discoveryOutcomes } from "../../base/types/exposure.ts";
import { canonicalJson } from "../../base/types/json.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Call, Score, Trial, Turn } from "../../base/types/trial.ts";
import { Counter, Ranking } from "./tally.ts";

/** The expected and the picked label of a trial. */
export type Pair = { expected: string; picked: string };
type Growth = ComparedCheck["grew"][number];

/** The selections that count as confusions. A right pick with wrong arguments is not one. */
export const confusions: ReadonlySet<string> = new Set<Score["selection"]>([
  "wrong-tool",
  "no-call",
  "unknown-tool",
  "several-calls",
  "over-triggered",
  "refused",
  "cut-off",
  "call-as-text",
]);

/** The expected and the picked label of a trial with a confusion. */
export function confusedPair({ verdict }: Pick<Trial, "verdict">): Pair | undefined {
  if (!verdict || verdict.grade === "not-gradable" || !confusions.has(verdict.selection)) return undefined;
  return { expected: verdict.expected, picked: verdict.picked };
}

/** Counts confusions and substitutions in two arms, and lists those that got more frequent. */
export class ConfusionGrowth {
  readonly #arms: readonly [string, string];
  /** Graded trials by expectation and arm, the denominator of a pair's count. */
  readonly #graded = new Map<string, number>();
  readonly #pairs = new Map<string, { pair: Pair & Pick<Growth, "acceptable">; counts: [number, number] }>();

  constructor(base: string, head: string) {
    this.#arms = [base, head];
  }

  add(trial: Pick<Trial, "cell" | "verdict" | "copy">): void {
    const arm = this.#arms.indexOf(trial.cell.arm);
    const { verdict, copy } = trial;
    if (arm < 0 || copy || !verdict || verdict.grade === "not-gradable") return;
    const key = JSON.stringify([verdict.expected, arm]);
    this.#graded.set(key, (this.#graded.get(key) ?? 0) + 1);
    const { expected, picked, substituted } = verdict;
    const pair = substituted ? { expected, picked, acceptable: true as const } : confusedPair(trial);
    if (!pair) return;
    const known = getOrAdd(this.#pairs, JSON.stringify(pair), () => ({ pair, counts: [0, 0] as [number, number] }));
    known.counts[arm as 0 | 1]++;
  }

  /** The pairs whose share of trials is larger in head, largest growth first. */
  pairs(): Growth[] {
    const count = (expected: string, arm: 0 | 1, passed: number) => ({
      passed,
      trials: this.#graded.get(JSON.stringify([expected, arm])) ?? 0,
    });
    const share = ({ passed, trials }: Growth["base"]) => (trials === 0 ? 0 : passed / trials);
    const growth = (one: Growth) => share(one.head) - share(one.base);
    return (
      [...this.#pairs.values()]
        .map(({ pair, counts: [base, head] }) => ({
          ...pair,
          base: count(pair.expected, 0, base),
          head: count(pair.expected, 1, head),
        }))
        // Without trials of the base arm, which a screening lacks for most cases, growth cannot be shown.
        .filter((one) => one.base.trials > 0 && growth(one) > 0)
        .sort((a, b) => growth(b) - growth(a) || (`${a.expected}\n${a.picked}` < `${b.expected}\n${b.picked}` ? -1 : 1))
    );
  }
}

/** Selections in which an expected tool was called, with any result. */
const chosen: ReadonlySet<Score["selection"]> = new Set([
  "right-tool",
  "several-calls",
  "malformed-arguments",
  "wrong-arguments",
  "wrong-result",
]);

/** Whether a graded trial called an expected tool; undefined if none is expected. */
export function readChoice({ selection, expected, discovery }: Score): boolean | undefined {
  if (discovery) return discovery.outcome === "chosen" || discovery.outcome === "chosen-without-search";
  return expected.startsWith("(") || expected.startsWith("skill:") ? undefined : chosen.has(selection);
}

/** Whether a graded trial selected an expected tool or skill, or rightly no tool, whatever came of it. */
export function hasSelected(score: Score): boolean {
  return readChoice(score) ?? (score.selection === "abstained" || chosen.has(score.selection));
}

/** Counts how expected tools were found and chosen. */
export class DiscoveryTally {
  readonly #outcomes = new Map<Discovery["outcome"], number>();
  readonly #notFound = new Ranking<{ expected: string; query: string }>();
  readonly #notChosen = new Ranking<{ expected: string; picked: string; rank?: number }>();
  readonly #builtIns = new Ranking<{ expected: string; tool: string }>();

  add({ verdict, copy }: Trial): void {
    if (copy || !verdict?.discovery || verdict.grade === "not-gradable") return;
    const { expected, picked, discovery } = verdict;
    const { outcome, rank, queries = [], builtIn } = discovery;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    if (outcome === "not-found") for (const query of new Set(queries)) this.#notFound.add({ expected, query });
    if (outcome === "found-not-chosen") this.#notChosen.add({ expected, picked, ...(rank !== undefined && { rank }) });
    if (outcome === "built-in-used" && builtIn !== undefined) this.#builtIns.add({ expected, tool: builtIn });
  }

  /** Undefined if no trial expected a tool that may be deferred. */
  summary(): DiscoverySummary | undefined {
    if (this.#outcomes.size === 0) return undefined;
    const count = (...outcomes: Discovery["outcome"][]) =>
      sumOf(outcomes, (outcome) => this.#outcomes.get(outcome) ?? 0);
    return {
      trials: count(...discoveryOutcomes),
      found: count("chosen", "found-not-chosen"),
      chosen: count("chosen"),
      outcomes: Object.fromEntries(discoveryOutcomes.flatMap((name) => (count(name) > 0 ? [[name, count(name)]] : []))),
      notFound: this.#notFound.ranked(),
      notChosen: this.#notChosen.ranked(),
      builtIns: this.#builtIns.ranked(),
    };
  }
}

type Misses = NonNullable<SuiteSummary["misses"]>;
type ParameterMisses = Misses["parameters"][number];

const wrongArguments: ReadonlySet<Score["selection"]> = new Set(["malformed-arguments", "wrong-arguments"]);
const picked: ReadonlySet<Score["selection"]> = new Set([...wrongArguments, "right-tool", "wrong-result"]);
const faultKeys = {
  missing: "missing",
  "wrong-type": "wrongType",
  "wrong-value": "wrongValue",
  invented: "invented",
} as const;

/**
 * Counts why trials of a suite missed: wrong arguments of an expected tool and their faults, what was called before it,
 * and calls repeated after they were denied or had failed.
 */
export class MissTally {
  readonly #tools = new Map<string, Omit<Misses["tools"][number], "instead"> & { instead: Counter }>();
  readonly #parameters = new Map<string, ParameterMisses>();
  readonly #before = new Ranking<{ tool: string; before: string; named: boolean }>();
  readonly #repeated = new Ranking<{ tool: string; after: "denial" | "error" }>();
  #hasFailed = false;

  add({ turns, verdict }: Trial, offered: readonly OfferedTool[]): void {
    const calls = turns.flatMap((turn) => turn.calls.filter(({ role }) => role === undefined).map(toInner));
    for (const repeat of findRepeated(calls)) this.#repeated.add(repeat);
    if (!verdict || verdict.grade === "not-gradable") return;
    this.#addFaults(verdict);
    const names = verdict.expected.split(" | ");
    // Several calls, no call and skills have labels of their own.
    if (verdict.expected.startsWith("(") || names.some((name) => / |^skill:/.test(name))) return;
    const none = { trials: 0, picked: 0, passed: 0, wrongArguments: 0, reachedLater: 0 };
    const { expected } = verdict;
    const tally = getOrAdd(this.#tools, expected, () => ({ expected, ...none, instead: new Counter() }));
    tally.trials++;
    if (verdict.grade === "pass") tally.passed++;
    if (picked.has(verdict.selection) && !verdict.substituted) tally.picked++;
    else tally.instead.add(verdict.picked);
    if (wrongArguments.has(verdict.selection)) tally.wrongArguments++;
    const at = calls.findIndex(({ tool }) => names.includes(tool));
    if (verdict.selection !== "wrong-tool" || at < 1) return;
    tally.reachedLater++;
    const reached = calls[at]?.tool ?? "";
    const { description = "" } = offered.find(({ name }) => name === reached) ?? {};
    for (const tool of new Set(calls.slice(0, at).map((call) => call.tool)))
      this.#before.add({ tool: reached, before: tool, named: mentions(description, tool) });
  }

  #addFaults({ grade, checks }: Score): void {
    if (grade === "fail") this.#hasFailed = true;
    const faults = checks.flatMap(({ fault, furtherFaults = [] }) => (fault ? [fault, ...furtherFaults] : []));
    for (const { tool, parameter, kind } of faults) {
      const none = { tool, parameter, missing: 0, wrongType: 0, wrongValue: 0, invented: 0 };
      getOrAdd(this.#parameters, JSON.stringify([tool, parameter]), () => none)[faultKeys[kind]]++;
    }
  }

  /** Undefined if nothing failed and nothing was repeated. */
  summary(): Misses | undefined {
    if (!this.#hasFailed && this.#repeated.size === 0) return undefined;
    const total = ({ missing, wrongType, wrongValue, invented }: ParameterMisses) =>
      missing + wrongType + wrongValue + invented;
    return {
      tools: [...this.#tools.values()]
        .filter(({ passed, trials }) => passed < trials)
        .map((one) => ({ ...one, instead: one.instead.ranked().map(([name, n]) => ({ picked: name, n })) }))
        .sort((a, b) => b.trials - b.passed - (a.trials - a.passed) || (a.expected < b.expected ? -1 : 1)),
      parameters: [...this.#parameters.values()].sort(
        (a, b) => total(b) - total(a) || (`${a.tool}.${a.parameter}` < `${b.tool}.${b.parameter}` ? -1 : 1),
      ),
      preconditions: this.#before.ranked(),
      repeated: this.#repeated.ranked(),
    };
  }
}

const toInner = (call: Call): Call => (call.inner ? { ...call, ...call.inner } : call);

const callKey = ({ tool, arguments: args }: Call) => canonicalJson([tool, args ?? null]);

function findRepeated(calls: readonly Call[]): { tool: string; after: "denial" | "error" }[] {
  if (calls.length < 2) return [];
  const failed = new Map<string, "denial" | "error">();
  return calls.flatMap((call) => {
    const after = failed.get(callKey(call));
    if (call.execution?.status === "skipped") failed.set(callKey(call), "denial");
    else if (call.execution?.result.isError) failed.set(callKey(call), "error");
    return after ? [{ tool: call.tool, after }] : [];
  });
}

function mentions(description: string, tool: string): boolean {
  return description.split(/[^\w.-]+/).some((word) => word.replace(/(?<!\.)\.+$/, "") === tool);
}

type Denials = NonNullable<SuiteSummary["denials"]>;

/** What models did after their first denied call, judged by the next reply. */
export class DenialTally {
  #calls = 0;
  #trials = 0;
  #retries = 0;
  readonly #next = { sameCall: 0, otherArguments: 0, otherTool: 0, noCall: 0, ended: 0 };

  add({ turns }: Trial): void {
    const denied = turns.flatMap(({ calls }) => calls.filter(isDenied));
    const [first] = denied;
    if (!first) return;
    this.#calls += denied.length;
    this.#trials++;
    const at = turns.findIndex(({ calls }) => calls.includes(first));
    this.#next[classifyNext(first, turns[at], turns.slice(at + 1))]++;
    const known = new Set<string>();
    for (const { calls } of turns) {
      for (const call of calls) if (known.has(call.tool)) this.#retries++;
      for (const call of calls) if (isDenied(call)) known.add(call.tool);
    }
  }

  /** Undefined if no call was denied. */
  summary(): Denials | undefined {
    if (this.#trials === 0) return undefined;
    return { calls: this.#calls, trials: this.#trials, retries: this.#retries, next: { ...this.#next } };
  }
}

const isDenied = ({ execution }: Call) => execution?.status === "skipped" && execution.denied === true;

/** The calls of the reply after a denial. A reply that only searches for tools is skipped. */
function classifyNext(first: Call, turn: Turn | undefined, later: readonly Turn[]): keyof Denials["next"] {
  const replies = later.filter(({ userTurn }) => userTurn === turn?.userTurn);
  const reply = replies.find(({ calls }) => calls.length === 0 || calls.some(({ role }) => role !== "search"));
  if (!reply) return "ended";
  const calls = reply.calls.filter(({ role }) => role !== "search");
  if (calls.length === 0) return "noCall";
  if (calls.some((call) => callKey(call) === callKey(first))) return "sameCall";
  return calls.some(({ tool }) => tool === first.tool) ? "otherArguments" : "otherTool";
}

/** Counts what the mocks of a suite answered, in all arms. A mock without calls may have matchers that fit none. */
export class MockTally {
  readonly #labels: readonly string[];
  readonly #used = new Set<string>();
  readonly #unmatched = new Counter();
  #answered = 0;

  constructor(labels: readonly string[]) {
    this.#labels = labels;
  }

  add({ turns }: Trial): void {
    for (const { execution } of turns.flatMap(({ calls }) => calls)) {
      if (execution?.status === "executed" && execution.mock !== undefined) {
        this.#answered++;
        this.#used.add(execution.mock);
      }
      if (execution?.status === "skipped" && execution.unmatched) this.#unmatched.add(execution.reason);
    }
  }

  summary(): NonNullable<SuiteSummary["mocks"]> {
    return {
      answered: this.#answered,
      unused: this.#labels.filter((label) => !this.#used.has(label)),
      unmatched: this.#unmatched.ranked().map(([text, n]) => ({ text, n })),
    };
  }
}
