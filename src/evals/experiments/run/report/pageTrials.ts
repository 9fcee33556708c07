import { getOrAdd } from "../../../base/getOrAdd.ts";
import { sumOf } from "../../../base/sum.ts";
import type { Json } from "../../../base/types/json.ts";
import {
  type CaseSummary,
  type ManifestCase,
  type RunManifest,
  type RunSummary,
  withoutArm,
} from "../../../base/types/run.ts";
import { shownLevels } from "../../../base/types/shown.ts";
import { joinResult } from "../../../base/types/tool.ts";
import type { Call, Score, Trial, Turn } from "../../../base/types/trial.ts";
import { integer } from "../../../reports/format.ts";
import type { CountedPick } from "../../results/figures.ts";
import { confusedPair } from "../../results/picks.ts";
import { CaseTally, Counter, promptTokens } from "../../results/tally.ts";
import { caseState } from "../../results/text.ts";
import { incumbentArm } from "../../variants/verdict.ts";

/** The most that a page holds: trials, their characters in total, and the characters of one text. */
export const pageLimits = { trials: 20_000, characters: 30_000_000, text: 4000 } as const;

/** `redact` removes known secrets from a text before it is cut, since a cut secret could no longer be recognized. */
type CollectorOptions = { limits?: { trials: number; characters: number }; redact?: (text: string) => string };

type Limit = (text: string) => string;

/**
 * Collects the cases and trials of a record for its page. Counts cover all trials. If there are more than a page holds,
 * it keeps those that did not pass and every n-th of the others.
 */
export class PageTrialCollector {
  readonly #limits: { trials: number; characters: number };
  readonly #limit: Limit;
  readonly #suites = new Map<string, Map<string, SuiteOnModel>>();
  readonly #cases: { suite: string; model: string; case: ManifestCase; arms: readonly ArmTally[] }[] = [];
  /** The trials of the arm `head` are counted by the summary of a run. */
  readonly #isRun: boolean;
  readonly #passed = new Sample();
  readonly #others = new Sample();
  #recorded = 0;

  constructor(manifest: RunManifest, { limits = pageLimits, redact = (text) => text }: CollectorOptions = {}) {
    this.#limits = limits;
    this.#limit = (text) => (text.length <= pageLimits.text ? text : limitText(redact(text)));
    const { experiment } = manifest;
    this.#isRun = experiment === undefined;
    for (const suite of manifest.suites) {
      const models = new Map<string, SuiteOnModel>();
      this.#suites.set(suite.name, models);
      for (const model of manifest.models) {
        if (suite.models && !suite.models.includes(model.id)) continue;
        const places = new Map<string, number>();
        models.set(model.id, { places, picks: new Map() });
        for (const one of suite.cases) {
          if (experiment && !experiment.cases.includes(one.id)) continue;
          places.set(one.id, this.#cases.length);
          this.#cases.push({ suite: suite.name, model: model.id, case: one, arms: noArms });
        }
      }
    }
  }

  add(trial: Trial): void {
    const { suite, model, case: id, arm } = trial.cell;
    const known = this.#suites.get(suite)?.get(model);
    const at = known?.places.get(id);
    const place = at === undefined ? undefined : this.#cases[at];
    if (!known || at === undefined || !place || trial.copy) return;
    if (arm === "head") countPick(known.picks, place.case.expected, trial);
    if (arm !== "head" || !this.#isRun) {
      const own = place.arms.find((one) => one.arm === arm);
      const { tally } = own ?? { tally: new CaseTally() };
      // Not `push`, which would reserve room for 17 entries.
      if (!own) place.arms = [...place.arms, { arm, tally }];
      tally.add(trial);
    }
    this.#recorded++;
    const sample = readResult(trial) === "passed" ? this.#passed : this.#others;
    sample.add(() => describeTrial(trial, at, this.#limit));
    while (this.#isFull()) (this.#passed.kept.length > 0 ? this.#passed : this.#others).thin();
  }

  #isFull(): boolean {
    return (
      this.#passed.kept.length + this.#others.kept.length > this.#limits.trials ||
      this.#passed.characters + this.#others.characters > this.#limits.characters
    );
  }

  /**
   * The cases in the order of the suites, and their trials. `summary`: the summary of a run, for the states of its
   * cases.
   */
  collect(summary?: RunSummary) {
    const summaries = new Map(
      summary?.suites.flatMap(({ name, model, cases }) => cases.map((one) => [caseKey(name, model, one.id), one])),
    );
    const cases = this.#cases.map(({ suite, model, case: one, arms }) => {
      const known = summaries.get(caseKey(suite, model, one.id));
      const head = arms.find(({ arm }) => arm === "head")?.tally;
      const reasons = known?.reasons ?? head?.reasons.ranked().map(([text, n]) => ({ text, n })) ?? [];
      const ofHead = known && !head && known.trials + known.broken + known.notGradable > 0 ? [countHead(known)] : [];
      return {
        suite,
        model,
        id: one.id,
        input: this.#limit(one.input),
        ...(one.paraphrases && { paraphrases: one.paraphrases.map(this.#limit) }),
        expected: one.expected,
        place: one.file === "" ? "" : `${one.file}:${one.line}`,
        // Only a run has gates.
        ...(known && { passRate: known.passRate, state: caseState(known) }),
        arms: [...ofHead, ...arms.toSorted((a, b) => compareArms(a.arm, b.arm)).map(countArm)],
        reasons: reasons.slice(0, 5).map(({ text, n }) => ({ text: this.#limit(text), n })),
      };
    });
    const kept = [...this.#passed.kept, ...this.#others.kept].sort(byPlace);
    return {
      cases,
      /** Each is the JSON of a `PageTrial`, which takes a fraction of the object's memory. */
      trials: kept.map(({ json }) => json),
      /** The number of recorded trials; the page may hold fewer. */
      recorded: this.#recorded,
    };
  }

  /** The expected and picked tools of a suite and model in the arm `head`. */
  picks(suite: string, model: string): CountedPick[] {
    const picks = this.#suites.get(suite)?.get(model)?.picks ?? new Map<string, PickCounts>();
    return [...picks].flatMap(([expected, { all, wrong }]) => {
      const confused = new Map(wrong.ranked());
      return all.ranked().map(([picked, n]) => ({ expected, picked, n, isWrong: (confused.get(picked) ?? 0) > n / 2 }));
    });
  }
}

/** The trials of a page before it is written. */
export type WrittenTrials = ReturnType<PageTrialCollector["collect"]>;
/** A case on a model. */
export type PageCase = WrittenTrials["cases"][number];
export type PageTrial = ReturnType<typeof describeTrial>;
export type PageTurn = ReturnType<typeof describeTurn>;
export type PageCall = ReturnType<typeof describeCall>;

/** `places`: the index of each case by id. `picks`: the picks in the arm `head` by expected tool. */
type SuiteOnModel = { places: Map<string, number>; picks: Map<string, PickCounts> };

/** Trials by picked tool, and the confusions among them. */
type PickCounts = { all: Counter; wrong: Counter };

function countPick(picks: Map<string, PickCounts>, expected: string, trial: Trial): void {
  const { verdict } = trial;
  if (!verdict || verdict.grade === "not-gradable") return;
  const { all, wrong } = getOrAdd(picks, expected, () => ({ all: new Counter(), wrong: new Counter() }));
  all.add(verdict.picked);
  if (confusedPair(trial)) wrong.add(verdict.picked);
}

function countHead({ passed, trials, broken, notGradable }: CaseSummary) {
  return { arm: "head", passed, trials, broken, notGradable };
}

function countArm({ arm, tally: { passed, failed, broken, notGradable } }: ArmTally) {
  return { arm, passed, trials: passed + failed, broken, notGradable };
}

/** Counts all trials of a case in one arm, including those that the page does not hold. */
export type ArmCounts = ReturnType<typeof countArm>;

type ArmTally = { arm: string; tally: CaseTally };

const noArms: readonly ArmTally[] = [];

const caseKey = (suite: string, model: string, id: string) => JSON.stringify([suite, model, id]);

function byPlace(a: KeptTrial, b: KeptTrial): number {
  return a.at - b.at || compareArms(a.arm, b.arm) || a.number - b.number || (a.attempt ?? 1) - (b.attempt ?? 1);
}

/** Known arms first (the shift turns -1 into the largest rank), then others by number: `distractors-5` before `distractors-10`. */
const compareArms = (a: string, b: string) => (a === b ? 0 : armRank(a) - armRank(b) || byNumber.compare(a, b));
const armRank = (arm: string) => ["head", "base", withoutArm, incumbentArm].indexOf(arm) >>> 0;
const byNumber = new Intl.Collator("en", { numeric: true });

/** The JSON of a trial, with its sort keys. */
type KeptTrial = Pick<PageTrial, "at" | "arm" | "number" | "attempt"> & { json: string };

/** Keeps every n-th trial; `thin` doubles n. */
class Sample {
  kept: KeptTrial[] = [];
  #step = 1;
  #seen = 0;
  characters = 0;

  add(describe: () => PageTrial): void {
    if (this.#seen++ % this.#step !== 0) return;
    const trial = describe();
    const { at, arm, number, attempt } = trial;
    const json = JSON.stringify(trial);
    this.kept.push({ at, arm, number, ...(attempt && { attempt }), json });
    this.characters += json.length;
  }

  thin(): void {
    this.#step *= 2;
    // If even a single trial is too large, none is kept.
    this.kept = this.kept.length === 1 ? [] : this.kept.filter((_, at) => at % 2 === 0);
    this.characters = sumOf(this.kept, ({ json }) => json.length);
  }
}

/** `at`: the index of its case. */
function describeTrial(trial: Trial, at: number, limit: Limit) {
  const { cell, outcome, turns, verdict, shown, toolset, orderSeed, costUsd, ms } = trial;
  const described = turns.map((turn) => describeTurn(turn, limit));
  const broken = outcome.kind === "broken" ? outcome : undefined;
  const reason = broken ? broken.message : verdict?.grade === "not-gradable" ? verdict.reason : undefined;
  return {
    at,
    arm: cell.arm,
    number: cell.trial,
    ...(cell.attempt && { attempt: cell.attempt }),
    result: readResult(trial),
    /** The selection, or the stage at which it broke. */
    outcome: broken?.stage ?? verdict?.selection ?? "not scored",
    expected: verdict?.expected ?? "",
    picked: verdict?.picked ?? "",
    ...(reason !== undefined && { reason: limit(reason) }),
    checks: (verdict?.checks ?? []).map(({ what, met, why, evidence }) => ({
      what,
      met,
      ...(why !== undefined && { why: limit(why) }),
      ...(evidence !== undefined && { evidence: limit(evidence) }),
    })),
    ...(verdict?.unchecked && { unchecked: verdict.unchecked.map(limit) }),
    ...(verdict?.discovery && { discovery: verdict.discovery.outcome }),
    ...(shown && verdict && { shown: listShownLevels(shown, verdict) }),
    toolset,
    orderSeed,
    turns: described,
    tokens: sumOf(described, ({ tokensIn, tokensOut }) => tokensIn + tokensOut),
    costUsd,
    ms,
  };
}

/** How the host showed the tools that a score names. */
function listShownLevels({ tools }: NonNullable<Trial["shown"]>, { expected, picked }: Score): string[] {
  const names = new Set([...expected.split(" | "), picked]);
  return Object.entries(tools).flatMap(([level, list]) =>
    list.filter((name) => names.has(name)).map((name) => `${name} ${shownLevels[level as keyof typeof tools]}`),
  );
}

function readResult({ outcome, verdict }: Trial): "passed" | "failed" | "not gradable" | "broken" {
  if (outcome.kind === "broken") return "broken";
  if (!verdict || verdict.grade === "not-gradable") return "not gradable";
  return verdict.grade === "pass" ? "passed" : "failed";
}

function describeTurn({ text, calls, searches, stop, usage, ms }: Turn, limit: Limit) {
  return {
    text: limit(text),
    calls: calls.map((call) => describeCall(call, limit)),
    ...(searches && {
      searches: searches.map(({ query, found }) => ({ query: limit(query), found: found.slice(0, 20) })),
    }),
    stop,
    tokensIn: promptTokens(usage),
    tokensOut: usage.outputTokens,
    ms,
  };
}

function describeCall({ tool, role, arguments: given, argumentsText, inner, execution }: Call, limit: Limit) {
  const write = (args: Json | undefined, text = "") => limit(args === undefined ? text : JSON.stringify(args, null, 2));
  return {
    tool,
    ...(role && { role }),
    arguments: write(given, argumentsText),
    // The call through a dispatcher is scored.
    ...(inner && { inner: { tool: inner.tool, arguments: write(inner.arguments) } }),
    ...(execution?.status === "skipped" && { skipped: execution.reason }),
    ...(execution?.status === "executed" && {
      result: { text: limit(joinResult(execution.result, 2)), isError: execution.result.isError, ms: execution.ms },
    }),
  };
}

/** The beginning of a text, and how much is left out. */
function limitText(text: string): string {
  const max = pageLimits.text;
  if (text.length <= max) return text;
  return `${text.slice(0, max)}\n… ${integer(text.length - max)} more characters on the record`;
}
