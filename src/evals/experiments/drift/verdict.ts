import { type Design, mostMissing, nextStep, TrialRecord } from "../../asking/trials/design.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { sumOf } from "../../base/sum.ts";
import type { DriftPlan, DriftSummary, DriftVerdict, Night, NightChanges } from "../../base/types/drift.ts";
import type { CaseSummary } from "../../base/types/run.ts";
import type { Trial } from "../../base/types/trial.ts";
import { addTrial } from "../design/observe.ts";
import type { DriftOptions } from "./design.ts";
import type { NightCounts } from "./driftScores.ts";
import { type DriftHistory, nightArm, nightDesign, readNight, replayNights } from "./nights.ts";

/** Tracks one suite on one model from night to night. Can summarise it at any time. */
export class DriftWatch {
  readonly record = new TrialRecord();
  /** Of a nightly run, which asks what it needs; the trials of another run are those of its night. */
  readonly design: Design<DriftVerdict> | undefined;
  readonly #plan: DriftPlan;
  readonly #night: string;
  readonly #cases: readonly string[];
  readonly #history: DriftHistory;
  readonly #options: DriftOptions;

  /** `night`: the id of the run. `cases`: the ids of the suite's cases. */
  constructor(plan: DriftPlan, night: string, cases: readonly string[]) {
    this.#plan = plan;
    this.#night = night;
    this.#cases = cases;
    this.#history = toHistory(plan, night);
    const { margin, families, trials, correlation } = plan;
    this.#options = { margin, families, trials, ...(correlation !== undefined && { correlation }) };
    if (plan.nightly) this.design = nightDesign(this.#setup());
  }

  add(trial: Trial): void {
    if (this.design && trial.cell.arm === nightArm) addTrial(this.record, trial);
  }

  /** `cases`: the results of the cases of the run. */
  summary(cases: readonly CaseSummary[]): DriftSummary {
    const { nightly, renamed = {} } = this.#plan;
    const { run, acceptedAt } = this.#plan.baseline;
    const found = this.design ? this.#readNightly(this.design) : readRun(cases);
    const passes = typeof found === "string" ? undefined : found;
    const { bank, nights } = this.#history;
    const history = passes ? { bank, nights: [...nights, { night: this.#night, passes }] } : this.#history;
    return {
      nightly,
      baseline: { run, acceptedAt },
      uncounted: typeof found === "string" ? found : null,
      tonight: passes ? formatNight(this.#night, passes, renamed) : null,
      ...(passes && { changes: findChanges(this.#history, passes, Object.keys(renamed)) }),
      verdict: replayNights(history, this.#options).verdict(),
    };
  }

  #setup() {
    return { night: this.#night, cases: this.#cases, history: this.#history, options: this.#options };
  }

  #readNightly(design: Design<DriftVerdict>): Found {
    if (nextStep(design, this.record).kind === "ask") return "stopped";
    return readNight(this.#setup(), this.record) ?? "missing";
  }
}

/** The differences of this night from the previous one and from the baseline. `history`: the earlier nights. */
function findChanges(
  { nights, bank }: DriftHistory,
  tonight: ReadonlyMap<string, NightCounts>,
  notInBaseline: string[],
): NightChanges {
  const last = nights.at(-1);
  const graded = [...tonight].flatMap(([id, counts]) => {
    const after = addFollowUps(counts);
    return after.trials > 0 ? [{ case: id, after }] : [];
  });
  const both = graded.flatMap((one) => {
    const counts = last?.passes.get(one.case);
    const before = counts && addFollowUps(counts);
    return before && before.trials > 0 ? [{ ...one, before }] : [];
  });
  const changed = both.filter(({ before, after }) => before.passed * after.trials !== after.passed * before.trials);
  const kept = graded.flatMap(({ case: id, after }) => {
    const { passed = 0, trials = 0 } = bank.get(id)?.[0] ?? {};
    return trials > 0 ? [{ before: passed / trials, after: after.passed / after.trials }] : [];
  });
  const meanOf = (key: "before" | "after") => sumOf(kept, (one) => one[key]) / kept.length;
  return {
    night: last?.night ?? null,
    cases: changed.map(({ case: id, before, after }) => ({ case: id, before, after })),
    same: both.length - changed.length,
    mean: kept.length === 0 ? null : { before: meanOf("before"), after: meanOf("after") },
    notInBaseline: notInBaseline.filter((id) => tonight.has(id)),
  };
}

const addFollowUps = ({ passed, trials, followUpPassed, followUpTrials }: NightCounts): Counts => ({
  passed: passed + followUpPassed,
  trials: trials + followUpTrials,
});

/** The passes of a night by case, or why the night does not count. */
type Found = ReadonlyMap<string, NightCounts> | "missing" | "stopped";

/** The trials of a run without --nightly, in the form of a night. */
function readRun(cases: readonly CaseSummary[]): Found {
  const planned = sumOf(cases, (one) => one.planned);
  const broken = sumOf(cases, (one) => one.broken + one.notGradable);
  const graded = sumOf(cases, (one) => one.trials);
  if (graded + broken < planned) return "stopped";
  if (planned === 0 || broken > mostMissing * planned) return "missing";
  return new Map(cases.map(({ id, passed, trials }) => [id, { passed, trials, followUpPassed: 0, followUpTrials: 0 }]));
}

/** The events for `--fail-on`. An inconclusive result counts only in a nightly run, which is about drift. */
export function readDriftEvents({ nightly, verdict }: DriftSummary): ("drifted" | "inconclusive")[] {
  if (verdict.kind === "drifted") return ["drifted"];
  return nightly && verdict.kind === "inconclusive" ? ["inconclusive"] : [];
}

/**
 * Everything before this night, by the ids of the suite's cases. Nights before a case was changed are not counted for it.
 */
function toHistory({ bank, renamed = {}, nights }: DriftPlan, night: string): DriftHistory {
  const ids = new Map(Object.entries(renamed).map(([id, name]) => [name, id]));
  const idOf = (name: string) => ids.get(name) ?? (name in renamed ? `${name} (before it was changed)` : name);
  const parsed = Object.entries(bank).map(([id, text]) => [id, parsePasses(text)] as const);
  const graded = parsed.filter(([, { trials }]) => trials > 0);
  return {
    bank: new Map(graded.map(([id, { passed, trials }]) => [id, [{ passed, trials }]])),
    nights: nights
      .filter((one) => one.night !== night)
      .map((one) => ({
        night: one.night,
        passes: new Map(Object.entries(one.cases).map(([name, text]) => [idOf(name), parsePasses(text)])),
      })),
  };
}

/** Parses counts such as `2/3` or, with follow-ups, `0/3+0/7`. */
export function parsePasses(text: string): NightCounts {
  const [regular = "", later = "0/0"] = text.split("+");
  const [passed = 0, trials = 0] = regular.split("/").map(Number);
  const [followUpPassed = 0, followUpTrials = 0] = later.split("/").map(Number);
  return { passed, trials, followUpPassed, followUpTrials };
}

function formatNight(
  night: string,
  passes: ReadonlyMap<string, NightCounts>,
  renamed: Readonly<Record<string, string>>,
): Night {
  const format = ({ passed, trials, followUpPassed, followUpTrials }: NightCounts) =>
    `${passed}/${trials}${followUpTrials > 0 ? `+${followUpPassed}/${followUpTrials}` : ""}`;
  return { night, cases: Object.fromEntries([...passes].map(([id, counts]) => [renamed[id] ?? id, format(counts)])) };
}
