import { bringRequests, countPasses, type Design, mostMissing, type TrialRecord } from "../../asking/trials/design.ts";
import type { Counts } from "../../base/stats/counts.ts";
import type { DriftVerdict } from "../../base/types/drift.ts";
import { DriftMonitor, type DriftOptions, mostTrialsOfNight, nightlyTrials } from "./design.ts";
import type { NightCounts } from "./driftScores.ts";

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
    for (const [id, { followUpPassed: passed, followUpTrials: trials }] of passes)
      if (trials > 0) monitor.addFollowUp(id, { passed, trials });
    monitor.endNight();
  }
  return monitor;
}

/** The only arm of a night, with the list of the baseline. */
export const nightArm = "head";

/** `trials`: of every case; `history`: the nights before this one. */
export type NightSetup = { night: string; cases: readonly string[]; history: DriftHistory; options?: DriftOptions };

/**
 * A night as a design: the nightly trials of every case, then one more of each case that looks different, until it looks so
 * no more or has ten. A night of which more than 5 % is missing is set aside. Missing trials leave the counts.
 */
export function nightDesign({ night, cases, history, options = {} }: NightSetup): Design<DriftVerdict> {
  const trials = options.trials ?? nightlyTrials;
  return {
    cap: cases.length * Math.max(trials, mostTrialsOfNight),
    *play(record) {
      for (let trial = 1; trial <= trials; trial++)
        yield* bringRequests(
          record,
          requestAll(cases, () => trial),
          1,
        );
      const monitor = replayNights(history, options);
      const regular = new Map(cases.map((id) => [id, countPasses(record, id, nightArm, 1, trials)]));
      if (!monitor.startNight(night, regular, missingShare(record, cases, trials))) return monitor.verdict();
      // A follow-up that stays missing is replaced, up to a limit.
      const asked = new Map(cases.map((id) => [id, trials]));
      const followed = () => monitor.followUps().filter((id) => (asked.get(id) ?? 0) < 2 * mostTrialsOfNight);
      for (let suspects = followed(); suspects.length > 0; suspects = followed()) {
        for (const id of suspects) asked.set(id, (asked.get(id) ?? trials) + 1);
        const requests = requestAll(suspects, (id) => asked.get(id) ?? trials);
        yield* bringRequests(record, requests, 1);
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

/** One trial of each of these cases in a night. */
const requestAll = (cases: readonly string[], getTrial: (id: string) => number) =>
  cases.map((id) => ({ case: id, trial: getTrial(id), arms: [nightArm] }));

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
      const later = countPasses(record, id, nightArm, trials + 1);
      return [id, { ...regular, followUpPassed: later.passed, followUpTrials: later.trials }];
    }),
  );
}
