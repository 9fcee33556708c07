import { bringRequests, type Play, type TrialRecord } from "../../asking/trials/design.ts";

/** The number of repeated requests that decide whether repeats carry information. */
const mostRepeats = 6;

/** Trial `first` of a case in base, and the trial `repeat` that asks the same request again. */
export type ProbeCell = { id: string; first: number; repeat: number };

/**
 * Finds out whether repeated requests are answered alike, by asking some of the base arm again: then repeats carry no
 * information. The repeats count as trials if the model samples. `first`: trials that a case has before. Later ones are
 * not looked at: with them, a record would be read again in another way than while it was made. Returns how many repeats
 * were answered alike; 0 if any was answered otherwise.
 */
export function* probeRepeats(
  record: TrialRecord,
  cases: readonly { id: string; requests: number }[],
  first: number,
  look: number,
): Play<number> {
  const known = cases.filter(({ requests }) => Number.isFinite(requests));
  const asked = known.flatMap(({ id, requests }) =>
    Array.from({ length: Math.min(requests, first) }, (_, t) => ({ case: id, trial: t + 1, arms: ["base"] })),
  );
  yield* bringRequests(record, asked, look);
  const cells = probeCells(record, known, first);
  const repeats = cells.map(({ id, repeat }) => ({ case: id, trial: repeat, arms: ["base"] }));
  yield* bringRequests(record, repeats, look);
  return countAlike(record, cells);
}

/**
 * Which requests to repeat: up to six, of cases whose outcomes vary between orders, since a model that samples is likeliest
 * to show itself there; of any cases when none varies. `requests`: the different requests of a case; trial t and trial
 * t + requests are the same one. An outcome is the tool and its arguments.
 */
export function probeCells(
  record: TrialRecord,
  cases: readonly { id: string; requests: number }[],
  first: number,
): ProbeCell[] {
  const answered = cases.map(({ id, requests }) => {
    const trials = Array.from(
      { length: Math.min(requests, first, record.answers(id, "base").length) },
      (_, t) => t + 1,
    );
    return { id, requests, trials: trials.filter((t) => record.outcome(id, "base", t) !== undefined) };
  });
  const varying = answered.filter(
    ({ id, trials }) => new Set(trials.map((t) => record.outcome(id, "base", t))).size > 1,
  );
  const cells: ProbeCell[] = [];
  const chosen = varying.length > 0 ? varying : answered;
  const rounds = Math.max(0, ...chosen.map(({ trials }) => trials.length));
  for (let round = 0; round < rounds; round++)
    for (const { id, requests, trials } of chosen) {
      const trial = trials[round];
      if (trial !== undefined && cells.length < mostRepeats) cells.push({ id, first: trial, repeat: trial + requests });
    }
  return cells;
}

/**
 * How many repeated requests were answered as before, tool and arguments alike; 0 if any was not. With six repeats at a pass rate of .5 /
 * .8 / .9 a model that samples passes and fails looks so with chance 1.6 / 9.9 / 30 %.
 */
export function countAlike(record: TrialRecord, cells: readonly ProbeCell[]): number {
  const pairs = cells.map(({ id, first, repeat }) => [first, repeat].map((t) => record.outcome(id, "base", t)));
  const compared = pairs.filter((pair) => pair.every((outcome) => outcome !== undefined));
  return compared.every(([first, repeat]) => first === repeat) ? compared.length : 0;
}
