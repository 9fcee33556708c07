import { getOrAdd, sumOf } from "../../../base/collections.ts";
import { type Json, writeExactJson } from "../../../base/types/json.ts";
import {
  type CaseSummary,
  type ManifestCase,
  type RunManifest,
  type RunSummary,
  withoutArm,
} from "../../../base/types/run.ts";
import { joinResult, type ToolResult } from "../../../base/types/tool.ts";
import type { Call, Trial } from "../../../base/types/trial.ts";
import { integer } from "../../../reports/format.ts";
import { CaseTally } from "../../results/tally.ts";
import { caseState } from "../../results/text.ts";
import { incumbentArm } from "../../variants/verdict.ts";

/** The most that a page holds: trials, their characters in total, and the characters of one text. */
export const pageLimits = { trials: 20_000, characters: 30_000_000, text: 4000 } as const;

/** `redact` removes known secrets from a text before it is cut, since a cut secret could no longer be recognized. */
type CollectorOptions = { limits?: { trials: number; characters: number }; redact?: (text: string) => string };

type Limit = (text: string) => string;

/** A case on a model, and its trials by arm. */
type CollectedCase = { suite: string; model: string; case: ManifestCase; at: number; arms: Map<string, CaseTally> };

/** Collects the cases and trials of a record for its page, which holds all that failed and every n-th of the others. */
export class PageTrialCollector {
  readonly #limits: { trials: number; characters: number };
  readonly #limit: Limit;
  readonly #cases = new Map<string, CollectedCase>();
  /** The trials of the arm `head` are counted by the summary of a run. */
  readonly #isRun: boolean;
  readonly #passed = new Sample();
  readonly #others = new Sample();
  #recorded = 0;

  constructor({ suites, models, experiment }: RunManifest, options: CollectorOptions = {}) {
    const { limits = pageLimits, redact = (text) => text } = options;
    this.#limits = limits;
    this.#limit = (text) => (text.length <= pageLimits.text ? text : limitText(redact(text)));
    this.#isRun = experiment === undefined;
    for (const { name: suite, models: asked, cases } of suites)
      for (const { id: model } of models.filter(({ id }) => asked?.includes(id) ?? true))
        for (const one of cases.filter(({ id }) => experiment?.cases.includes(id) ?? true))
          this.#cases.set(caseKey(suite, model, one.id), {
            ...{ suite, model, case: one, at: this.#cases.size },
            arms: new Map(),
          });
  }

  add(trial: Trial): void {
    const { suite, model, case: id, arm } = trial.cell;
    const known = this.#cases.get(caseKey(suite, model, id));
    if (!known || trial.copy) return;
    if (arm !== "head" || !this.#isRun) getOrAdd(known.arms, arm, () => new CaseTally()).add(trial);
    this.#recorded++;
    const sample = trial.verdict?.grade === "pass" ? this.#passed : this.#others;
    sample.add(known.at, trial, this.#limit);
    while (this.#isFull()) (this.#passed.kept.length > 0 ? this.#passed : this.#others).thin();
  }

  #isFull(): boolean {
    return (
      this.#passed.kept.length + this.#others.kept.length > this.#limits.trials ||
      this.#passed.characters + this.#others.characters > this.#limits.characters
    );
  }

  /** The cases in the order of the suites, and their trials. `summary`: of a run, for the states of its cases. */
  collect(summary?: RunSummary) {
    const summaries = new Map(
      summary?.suites.flatMap(({ name, model, cases }) => cases.map((one) => [caseKey(name, model, one.id), one])),
    );
    const cases = [...this.#cases].map(([key, { suite, model, case: asked, arms }]) => {
      const known = summaries.get(key);
      const head = arms.get("head");
      const isAsked = known && !head && known.trials + known.broken + known.notGradable > 0;
      const reasons = known?.reasons ?? head?.reasons.ranked().map(([text, n]) => ({ text, n })) ?? [];
      const counted = [...arms].sort(([a], [b]) => compareArms(a, b)).map(([arm, tally]) => countArm(arm, tally));
      return {
        suite,
        model,
        id: asked.id,
        input: this.#limit(asked.input),
        ...(asked.paraphrases && { paraphrases: asked.paraphrases.map(this.#limit) }),
        expected: asked.expected,
        location: asked.file === "" ? "" : `${asked.file}:${asked.line}`,
        // Only a run has gates.
        ...(known && { passRate: known.passRate, state: caseState(known) }),
        arms: [...(isAsked ? [countArm("head", known)] : []), ...counted],
        reasons: reasons.slice(0, 5).map(({ text, n }) => ({ text: this.#limit(text), n })),
      };
    });
    const kept = [...this.#passed.kept, ...this.#others.kept].sort(
      (a, b) => a.at - b.at || compareArms(a.arm, b.arm) || a.trial - b.trial || a.attempt - b.attempt,
    );
    return {
      cases,
      /** Each is the JSON of a `Trial`, which takes a fraction of the object's memory. */
      trials: kept.map(({ json }) => json),
      /** The number of recorded trials; the page may hold fewer. */
      recorded: this.#recorded,
    };
  }
}

/** The trials of a page before it is written. */
export type WrittenTrials = ReturnType<PageTrialCollector["collect"]>;
/** A case on a model. */
export type PageCase = WrittenTrials["cases"][number];
/** Counts all trials of a case in one arm, including those that the page does not hold. */
export type ArmCounts = ReturnType<typeof countArm>;

function countArm(arm: string, { passed, broken, notGradable, ...rest }: CaseTally | CaseSummary) {
  return { arm, passed, trials: "failed" in rest ? passed + rest.failed : rest.trials, broken, notGradable };
}

const caseKey = (suite: string, model: string, id: string) => JSON.stringify([suite, model, id]);

/** The JSON of a trial, with its sort keys. `at`: the index of its case. */
type KeptTrial = { at: number; arm: string; trial: number; attempt: number; json: string };

/** Known arms first (the shift turns -1 into the largest rank), then others by number: `distractors-5` before `distractors-10`. */
const compareArms = (a: string, b: string) => (a === b ? 0 : armRank(a) - armRank(b) || byNumber.compare(a, b));
const armRank = (arm: string) => ["head", "base", withoutArm, incumbentArm].indexOf(arm) >>> 0;
const byNumber = new Intl.Collator("en", { numeric: true });

/** Keeps every n-th trial; `thin` doubles n. */
class Sample {
  kept: KeptTrial[] = [];
  #step = 1;
  #seen = 0;
  characters = 0;

  add(at: number, trial: Trial, limit: Limit): void {
    if (this.#seen++ % this.#step !== 0) return;
    const { arm, trial: number, attempt = 1 } = trial.cell;
    const json = writeTrial(trial, limit);
    this.kept.push({ at, arm, trial: number, attempt, json });
    this.characters += json.length;
  }

  thin(): void {
    this.#step *= 2;
    // If even a single trial is too large, none is kept.
    this.kept = this.kept.length === 1 ? [] : this.kept.filter((_, at) => at % 2 === 0);
    this.characters = sumOf(this.kept, ({ json }) => json.length);
  }
}

/** The JSON of a trial with each of its texts limited: arguments and results, which have parts, as a whole. */
function writeTrial(trial: Trial, limit: Limit): string {
  const turns = trial.turns.map((turn) => ({ ...turn, calls: turn.calls.map((call) => limitCall(call, limit)) }));
  return JSON.stringify({ ...trial, turns }, (_, value) => (typeof value === "string" ? limit(value) : value));
}

function limitCall({ arguments: given, inner, execution, ...call }: Call, limit: Limit) {
  const limitArguments = (args: Json | undefined) => {
    if (args === undefined) return undefined;
    const text = writeExactJson(args, 2);
    // The page could not tell the digits of a large number.
    const isExact = text === JSON.stringify(args, null, 2);
    return text.length > pageLimits.text || !isExact ? limit(text) : args;
  };
  const readAsText = (result: ToolResult) => {
    return { isError: result.isError, content: [{ type: "text", text: joinResult(result, 2) }] };
  };
  return {
    ...call,
    arguments: limitArguments(given),
    inner: inner && { ...inner, arguments: limitArguments(inner.arguments) },
    execution: execution?.status === "executed" ? { ...execution, result: readAsText(execution.result) } : execution,
  };
}

/** The beginning of a text, and how much is left out. */
function limitText(text: string): string {
  const left = text.length - pageLimits.text;
  return left <= 0 ? text : `${text.slice(0, pageLimits.text)}\n… ${integer(left)} more characters on the record`;
}
