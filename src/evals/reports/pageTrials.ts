import type { RunManifest, RunSummary } from "../types/run.ts";
import { withoutArm } from "../types/run.ts";
import type { Call, Execution, Score, Trial, Turn } from "../types/trial.ts";
import { CaseTally, promptTokens } from "../verdicts/tally.ts";
import { integer } from "./format.ts";
import type { PageCall, PageCase, PageTrial, PageTrials, PageTurn, TrialResult } from "./page.ts";
import { caseState } from "./runText.ts";

/** What a page holds at most: trials, the characters of all of them, and those of one text. The record has it all. */
export const pageLimits = { trials: 20_000, characters: 30_000_000, text: 4000 } as const;

/**
 * Collects the cases and trials of a record for its page. Counts are those of all trials. Where there are more than a page
 * holds, it keeps those that did not pass, and every n-th of the others.
 */
export class PageTrialCollector {
  readonly #manifest: RunManifest;
  readonly #limits: { trials: number; characters: number };
  readonly #places = new Map<string, number>();
  readonly #cases: { suite: string; model: string; case: ManifestCase; arms: Map<string, CaseTally> }[] = [];
  readonly #passed = new Sample();
  readonly #others = new Sample();
  #recorded = 0;

  constructor(manifest: RunManifest, limits: { trials: number; characters: number } = pageLimits) {
    this.#manifest = manifest;
    this.#limits = limits;
    const { experiment } = manifest;
    for (const suite of manifest.suites)
      for (const model of manifest.models) {
        if (suite.models && !suite.models.includes(model.id)) continue;
        for (const one of suite.cases) {
          if (experiment && !experiment.cases.includes(one.id)) continue;
          this.#places.set(placeKey(suite.name, model.id, one.id), this.#cases.length);
          this.#cases.push({ suite: suite.name, model: model.id, case: one, arms: new Map() });
        }
      }
  }

  add(trial: Trial): void {
    const { suite, model, case: id, arm } = trial.cell;
    const at = this.#places.get(placeKey(suite, model, id));
    const place = at === undefined ? undefined : this.#cases[at];
    if (at === undefined || !place || trial.copy) return;
    const tally = place.arms.get(arm) ?? new CaseTally();
    place.arms.set(arm, tally);
    tally.add(trial);
    this.#recorded++;
    const one = describeTrial(trial, at);
    (one.result === "passed" ? this.#passed : this.#others).add(one);
    while (this.#isFull()) (this.#passed.length > 0 ? this.#passed : this.#others).thin();
  }

  #isFull(): boolean {
    return (
      this.#passed.length + this.#others.length > this.#limits.trials ||
      this.#passed.characters + this.#others.characters > this.#limits.characters
    );
  }

  /** The cases, in the order of the suites, and their trials. `summary`: of a run, whose cases have a state. */
  collect(summary?: RunSummary): PageTrials {
    const states = new Map(
      summary?.suites.flatMap(({ name, model, cases }) =>
        cases.map((one) => [placeKey(name, model, one.id), one] as const),
      ),
    );
    const cases = this.#cases.map(({ suite, model, case: one, arms }): PageCase => {
      const known = states.get(placeKey(suite, model, one.id));
      const head = arms.get("head");
      const reasons = known?.reasons ?? head?.reasons.ranked().map(([text, n]) => ({ text, n })) ?? [];
      return {
        suite,
        model,
        id: one.id,
        input: cut(one.input),
        ...(one.paraphrases && { paraphrases: one.paraphrases.map(cut) }),
        expected: one.expected,
        place: one.file === "" ? "" : `${one.file}:${one.line}`,
        ...(known && { passRate: known.passRate, state: caseState(known) }),
        arms: [...arms].map(([arm, { passed, failed, broken, notGradable }]) => {
          return { arm, passed, trials: passed + failed, broken, notGradable };
        }),
        reasons: reasons.slice(0, 5).map(({ text, n }) => ({ text: cut(text), n })),
      };
    });
    const trials = [...this.#passed.items(), ...this.#others.items()].sort(byPlace);
    return { cases, trials, recorded: this.#recorded };
  }

  /** What was picked for what was expected in the arm head, by suite and model. */
  picks(suite: string, model: string): { expected: string; picked: string; n: number }[] {
    return this.#cases
      .filter((one) => one.suite === suite && one.model === model)
      .flatMap(({ case: { expected }, arms }) =>
        (arms.get("head")?.picks.ranked() ?? []).map(([picked, n]) => ({ expected, picked, n })),
      );
  }

  /** The names of the tools of each list. */
  toolsets(): Record<string, string[]> {
    return Object.fromEntries(
      Object.entries(this.#manifest.toolsets).map(([hash, tools]) => [hash, tools.map(({ name }) => name)]),
    );
  }
}

type ManifestCase = RunManifest["suites"][number]["cases"][number];

const placeKey = (suite: string, model: string, id: string) => JSON.stringify([suite, model, id]);

function byPlace(a: PageTrial, b: PageTrial): number {
  const ofArm = armRank(a.arm) - armRank(b.arm) || Number(a.arm > b.arm) - Number(a.arm < b.arm);
  return a.at - b.at || ofArm || a.number - b.number || (a.attempt ?? 1) - (b.attempt ?? 1);
}

/** Known arms first; one that is not among them (-1) goes last. */
const armRank = (arm: string) => ["head", "base", withoutArm].indexOf(arm) >>> 0;

/** Items of which every n-th is kept, where n doubles as often as it takes. */
class Sample {
  #kept: { trial: PageTrial; size: number }[] = [];
  #step = 1;
  #seen = 0;
  characters = 0;

  get length(): number {
    return this.#kept.length;
  }

  add(trial: PageTrial): void {
    if (this.#seen++ % this.#step !== 0) return;
    const size = JSON.stringify(trial).length;
    this.#kept.push({ trial, size });
    this.characters += size;
  }

  thin(): void {
    this.#step *= 2;
    // A last one that is too large is left out, too.
    this.#kept = this.#kept.length === 1 ? [] : this.#kept.filter((_, at) => at % 2 === 0);
    this.characters = this.#kept.reduce((sum, { size }) => sum + size, 0);
  }

  items(): PageTrial[] {
    return this.#kept.map(({ trial }) => trial);
  }
}

function describeTrial(trial: Trial, at: number): PageTrial {
  const { cell, outcome, turns, verdict, shown, toolset, orderSeed, costUsd, ms } = trial;
  const described = turns.map(describeTurn);
  const broken = outcome.kind === "broken" ? outcome : undefined;
  const reason = broken ? broken.message : verdict?.grade === "not-gradable" ? verdict.reason : undefined;
  return {
    at,
    arm: cell.arm,
    number: cell.trial,
    ...(cell.attempt && { attempt: cell.attempt }),
    result: readResult(trial),
    outcome: broken?.stage ?? verdict?.selection ?? "not scored",
    expected: verdict?.expected ?? "",
    picked: verdict?.picked ?? "",
    ...(reason !== undefined && { reason: cut(reason) }),
    checks: (verdict?.checks ?? []).map(({ what, met, why, evidence }) => ({
      what,
      met,
      ...(why !== undefined && { why: cut(why) }),
      ...(evidence !== undefined && { evidence: cut(evidence) }),
    })),
    ...(verdict?.unchecked && { unchecked: verdict.unchecked.map(cut) }),
    ...(verdict?.discovery && { discovery: verdict.discovery.outcome }),
    ...(shown && verdict && { shown: describeShown(shown, verdict) }),
    toolset,
    orderSeed,
    turns: described,
    tokens: described.reduce((sum, { tokensIn, tokensOut }) => sum + tokensIn + tokensOut, 0),
    costUsd,
    ms,
  };
}

/** How the tools that a score names were shown. */
function describeShown({ tools }: NonNullable<Trial["shown"]>, { expected, picked }: Score): string[] {
  const names = new Set([...expected.split(" | "), picked]);
  const levels = Object.entries(tools).flatMap(([level, list]) => list.map((name) => [name, level] as const));
  return levels.filter(([name]) => names.has(name)).map(([name, level]) => `${name} ${levelNames[level] ?? level}`);
}

const levelNames: Readonly<Record<string, string>> = {
  full: "in full",
  deferred: "deferred",
  named: "by name only",
  hidden: "not at all",
};

function readResult({ outcome, verdict }: Trial): TrialResult {
  if (outcome.kind === "broken") return "broken";
  if (!verdict || verdict.grade === "not-gradable") return "not gradable";
  return verdict.grade === "pass" ? "passed" : "failed";
}

function describeTurn({ text, calls, searches, stop, usage, ms }: Turn): PageTurn {
  return {
    text: cut(text),
    calls: calls.map(describeCall),
    ...(searches && {
      searches: searches.map(({ query, found }) => ({ query: cut(query), found: found.slice(0, 20) })),
    }),
    stop,
    tokensIn: promptTokens(usage),
    tokensOut: usage.outputTokens,
    ms,
  };
}

function describeCall({ tool, role, arguments: given, argumentsText, execution }: Call): PageCall {
  return {
    tool,
    ...(role && { role }),
    arguments: cut(given === undefined ? (argumentsText ?? "") : JSON.stringify(given, null, 2)),
    ...(execution && describeExecution(execution)),
  };
}

function describeExecution(execution: Execution): Pick<PageCall, "result" | "skipped"> {
  if (execution.status === "skipped") return { skipped: execution.reason };
  const { content, structuredContent, isError } = execution.result;
  const items = content.map((item) => item.text ?? `[${[item.type, item.mimeType].filter(Boolean).join(" ")}]`);
  const text = items.length === 0 && structuredContent ? JSON.stringify(structuredContent, null, 2) : items.join("\n");
  return { result: { text: cut(text), isError, ms: execution.ms } };
}

/** A text as the page has it: its beginning, and how much is left out. */
function cut(text: string): string {
  const most = pageLimits.text;
  if (text.length <= most) return text;
  return `${text.slice(0, most)}\n… ${integer(text.length - most)} more characters on the record`;
}
