import { countPasses, type Design, mostMissing, nextStep, TrialRecord } from "../../asking/trials/design.ts";
import { sumOf } from "../../base/collections.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import type { DriftPlan, DriftSummary, DriftVerdict, Night, NightChanges } from "../../base/types/drift.ts";
import type { CaseSummary } from "../../base/types/run.ts";
import type { Trial } from "../../base/types/trial.ts";
import { addTrial } from "../design/observe.ts";
import { OrderSchedule, type Span } from "../design/schedule.ts";
import { DriftMonitor, type DriftOptions, mostTrialsOfNight, nightlyTrials } from "./design.ts";
import { type NightCounts, sumNight } from "./scores.ts";

/** Tracks one suite on one model from night to night. Can summarize it at any time. */
export class DriftWatch {
  readonly record = new TrialRecord();
  /** Of a nightly run, which asks what it needs; the trials of another run are those of its night. */
  readonly design: Design<DriftVerdict> | undefined;
  readonly #plan: DriftPlan;
  readonly #setup: Required<NightSetup>;

  /** `night`: the id of the run. `cases`: the ids of the suite's cases. */
  constructor(plan: DriftPlan, night: string, cases: readonly string[]) {
    const { margin, families, trials, correlation } = plan;
    const options = { margin, families, trials, ...(correlation !== undefined && { correlation }) };
    this.#plan = plan;
    this.#setup = { night, cases, history: toHistory(plan, night), options };
    if (plan.nightly) this.design = nightDesign(this.#setup);
  }

  add(trial: Trial): void {
    if (this.design && trial.cell.arm === nightArm) addTrial(this.record, trial);
  }

  summary(cases: readonly CaseSummary[]): DriftSummary {
    const { nightly, renamed = {} } = this.#plan;
    const { run, acceptedAt } = this.#plan.baseline;
    const { night, history: before, options } = this.#setup;
    const found = this.design ? this.#readNightly(this.design) : readRun(cases);
    const passes = typeof found === "string" ? undefined : found;
    const history = passes ? { ...before, nights: [...before.nights, { night, passes }] } : before;
    return {
      nightly,
      baseline: { run, acceptedAt },
      uncounted: typeof found === "string" ? found : null,
      tonight: passes ? formatNight(night, passes, renamed) : null,
      ...(passes && { changes: findChanges(before, passes) }),
      verdict: replayNights(history, options).verdict(),
    };
  }

  #readNightly(design: Design<DriftVerdict>): Found {
    if (nextStep(design, this.record).kind === "ask") return "stopped";
    return readNight(this.#setup, this.record) ?? "missing";
  }
}

function findChanges({ nights, bank }: DriftHistory, tonight: NightPasses): NightChanges {
  const last = nights.at(-1);
  const graded = [...tonight].flatMap(([id, counts]) => {
    const after = sumNight(counts);
    return after.trials > 0 ? [{ case: id, after }] : [];
  });
  const both = graded.flatMap((one) => {
    const counts = last?.passes.get(one.case);
    const before = counts && sumNight(counts);
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
  };
}

/** The passes of a night by case, or why the night does not count. */
type Found = NightPasses | "missing" | "stopped";

/** The trials of a run without --nightly, in the form of a night. */
function readRun(cases: readonly CaseSummary[]): Found {
  const planned = sumOf(cases, (one) => one.planned);
  const broken = sumOf(cases, (one) => one.broken + one.notGradable);
  const graded = sumOf(cases, (one) => one.trials);
  if (graded + broken < planned) return "stopped";
  if (planned === 0 || broken > mostMissing * planned) return "missing";
  return new Map(cases.map(({ id, passed, trials }) => [id, { passed, trials }]));
}

/** The events for `--fail-on`. An inconclusive result counts only in a nightly run, which is about drift. */
export function readDriftEvents({ nightly, verdict }: DriftSummary): ("drifted" | "inconclusive")[] {
  if (verdict.kind === "drifted") return ["drifted"];
  return nightly && verdict.kind === "inconclusive" ? ["inconclusive"] : [];
}

/** The bank and the earlier nights, by ids of the suite's cases; nights before a case changed do not count for it. */
function toHistory({ bank, renamed = {}, nights }: DriftPlan, night: string): DriftHistory {
  const ids = new Map(Object.entries(renamed).map(([id, name]) => [name, id]));
  const idOf = (name: string) => ids.get(name) ?? (name in renamed ? `${name} (before it was changed)` : name);
  const parsed = Object.entries(bank).map(([id, text]) => [id, [parsePasses(text)]] as const);
  return {
    bank: new Map(parsed.filter(([, [counts]]) => counts && counts.trials > 0)),
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
  const [regular = noTrials, followUps] = text.split("+").map((part) => {
    const [passed = 0, trials = 0] = part.split("/").map(Number);
    return { passed, trials };
  });
  return { ...regular, ...(followUps && { followUps }) };
}

function formatNight(night: string, passes: NightPasses, renamed: Readonly<Record<string, string>>): Night {
  const formatOne = ({ passed, trials }: Counts) => `${passed}/${trials}`;
  const format = ({ followUps = noTrials, ...regular }: NightCounts) =>
    [regular, ...(followUps.trials > 0 ? [followUps] : [])].map(formatOne).join("+");
  return { night, cases: Object.fromEntries([...passes].map(([id, counts]) => [renamed[id] ?? id, format(counts)])) };
}

/** The passes of a night by case; a case without trials in it is absent. */
type NightPasses = ReadonlyMap<string, NightCounts>;

/**
 * All that the drift monitor has to know: by case, what was recorded with the baseline, and the nights since, in their
 * order. Its scores and alarms follow from these counts. A new baseline starts anew; a new case has no bank; a missed
 * night is absent.
 */
export type DriftHistory = {
  bank: ReadonlyMap<string, readonly Counts[]>;
  nights: readonly { night: string; passes: NightPasses }[];
};

/** The monitor after the nights of a history. */
export function replayNights({ bank, nights }: DriftHistory, options: DriftOptions = {}): DriftMonitor {
  const monitor = new DriftMonitor(bank, options);
  for (const { night, passes } of nights) {
    monitor.startNight(night, passes);
    for (const [id, { followUps }] of passes) if (followUps) monitor.addFollowUp(id, followUps);
    monitor.endNight();
  }
  return monitor;
}

/** The only arm of a night, with the list of the baseline. */
export const nightArm = "head";

/** `trials`: of every case; `history`: the nights before this one. */
export type NightSetup = { night: string; cases: readonly string[]; history: DriftHistory; options?: DriftOptions };

/**
 * A night as a design: the nightly trials of every case, then one more of each case that looks different, until it
 * looks so no more or has ten. A night of which more than 5 % is missing is set aside. Missing trials leave the counts.
 */
export function nightDesign({ night, cases, history, options = {} }: NightSetup): Design<DriftVerdict> {
  const trials = options.trials ?? nightlyTrials;
  return {
    cap: cases.length * Math.max(trials, mostTrialsOfNight),
    *play(record) {
      const schedule = new OrderSchedule({ cases, seed: 0 });
      const ask = (ids: readonly string[], getSpan: (id: string) => Pick<Span, "from" | "to">) => {
        const spans = ids.map((id) => ({ case: id, arms: [nightArm], ...getSpan(id) }));
        return schedule.bring(record, spans, 1);
      };
      yield* ask(cases, () => ({ from: 1, to: trials }));
      const monitor = replayNights(history, options);
      const regular = new Map(cases.map((id) => [id, countPasses(record, id, nightArm, 1, trials)]));
      if (!monitor.startNight(night, regular, missingShare(record, cases, trials))) return monitor.verdict();
      // A follow-up that stays missing is replaced, up to a limit.
      const asked = new Map(cases.map((id) => [id, trials]));
      const followed = () => monitor.followUps().filter((id) => (asked.get(id) ?? 0) < 2 * mostTrialsOfNight);
      for (let suspects = followed(); suspects.length > 0; suspects = followed()) {
        for (const id of suspects) asked.set(id, (asked.get(id) ?? trials) + 1);
        yield* ask(suspects, (id) => ({ from: asked.get(id) ?? trials, to: asked.get(id) ?? trials }));
        for (const id of suspects) {
          const trial = asked.get(id) ?? trials;
          monitor.addFollowUp(id, countPasses(record, id, nightArm, trial, trial));
        }
      }
      monitor.endNight();
      return monitor.verdict();
    },
  };
}

function missingShare(record: TrialRecord, cases: readonly string[], trials: number): number {
  const answers = cases.flatMap((id) => record.answers(id, nightArm).slice(0, trials));
  return answers.filter((answer) => answer === "missing").length / Math.max(1, answers.length);
}

/** The passes of this night in its record; undefined if it is set aside. */
export function readNight({ cases, options = {} }: NightSetup, record: TrialRecord): NightPasses | undefined {
  const trials = options.trials ?? nightlyTrials;
  if (missingShare(record, cases, trials) > mostMissing) return undefined;
  return new Map(
    cases.map((id) => {
      const regular = countPasses(record, id, nightArm, 1, trials);
      return [id, { ...regular, followUps: countPasses(record, id, nightArm, trials + 1) }];
    }),
  );
}
