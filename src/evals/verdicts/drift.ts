import { type Design, mostMissing, nextStep, TrialRecord } from "../decisions/design.ts";
import type { DriftOptions } from "../decisions/drift.ts";
import type { NightCounts } from "../decisions/driftScores.ts";
import { addNight, type DriftHistory, nightArm, nightDesign, readNight, replayNights } from "../decisions/nights.ts";
import { addTrial } from "../decisions/observe.ts";
import type { Counts } from "../stats/counts.ts";
import type { DriftPlan, DriftSummary, DriftVerdict, Night, NightChanges } from "../types/drift.ts";
import { getOrAdd } from "../types/getOrAdd.ts";
import type { CaseSummary } from "../types/run.ts";
import { sumOf } from "../types/sum.ts";
import type { Trial } from "../types/trial.ts";

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
    const history = addNight(this.#history, this.#night, passes);
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
  { nights, cases }: DriftHistory,
  tonight: ReadonlyMap<string, NightCounts>,
  notInBaseline: string[],
): NightChanges {
  const night = nights.at(-1) ?? null;
  const graded = [...tonight].flatMap(([id, counts]) => {
    const after = addFollowUps(counts);
    return after.trials > 0 ? [{ case: id, after }] : [];
  });
  const both = graded.flatMap((one) => {
    const counts = cases[one.case]?.nights.find((known) => known.night === night);
    const before = counts && addFollowUps(counts);
    return before && before.trials > 0 ? [{ ...one, before }] : [];
  });
  const changed = both.filter(({ before, after }) => before.passed * after.trials !== after.passed * before.trials);
  const kept = graded.flatMap(({ case: id, after }) => {
    const { passed = 0, trials = 0 } = cases[id]?.bank[0] ?? {};
    return trials > 0 ? [{ before: passed / trials, after: after.passed / after.trials }] : [];
  });
  const meanOf = (key: "before" | "after") => sumOf(kept, (one) => one[key]) / kept.length;
  return {
    night,
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
  type Known = { bank: Counts[]; nights: (NightCounts & { night: string })[] };
  const cases = new Map<string, Known>();
  const find = (name: string) => getOrAdd(cases, name, () => ({ bank: [], nights: [] }));
  for (const [name, text] of Object.entries(bank)) {
    const { passed, trials } = parsePasses(text);
    if (trials > 0) find(name).bank.push({ passed, trials });
  }
  const before = nights.filter((one) => one.night !== night);
  for (const one of before)
    for (const [name, text] of Object.entries(one.cases))
      find(idOf(name)).nights.push({ night: one.night, ...parsePasses(text) });
  return { nights: before.map((one) => one.night), cases: Object.fromEntries(cases) };
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
