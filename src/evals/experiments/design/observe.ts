import type { Observation, TrialRecord } from "../../asking/trials/design.ts";
import { canonicalJson } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";

/**
 * Adds a recorded trial to the record of a design. Lines of the journal that are added in their order give the record that
 * the design saw, so a run can be resumed or replayed from its journal. A trial that was cancelled or not paid for is not
 * on the record: it is asked again when the run is resumed.
 */
export function addTrial(record: TrialRecord, trial: Trial): void {
  const { case: id, arm, trial: number } = trial.cell;
  const observation = readObservation(trial);
  if (observation !== undefined) record.add(id, arm, number, observation, summariseAnswer(trial));
}

/**
 * What a trial is to a design. What the model did itself (cut at the token limit, malformed, refused) was graded as a fail.
 * Missing is what kept an answer from being graded: infrastructure, or a judge that did not answer.
 */
export function readObservation({ outcome, verdict, copy }: Trial): Observation | undefined {
  if (outcome.kind === "broken")
    return outcome.stage === "cancelled" || outcome.stage === "budget" ? undefined : "missing";
  if (copy) return "copy";
  return !verdict || verdict.grade === "not-gradable" ? "missing" : verdict.grade;
}

/** The calls of the model with their arguments. Two answers are the same if these are. */
export function summariseAnswer({ turns }: Trial): string {
  return canonicalJson(turns.map(({ calls }) => calls.map(({ tool, arguments: args = null }) => [tool, args])));
}
