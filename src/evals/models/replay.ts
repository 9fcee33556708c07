import { usageError } from "../errors.ts";
import type { AskedModel, ModelRequest, Reply } from "../types/model.ts";
import type { Cell, Outcome, Turn } from "../types/trial.ts";
import type { ModelOptions } from "./index.ts";

type Recorded = { turns: readonly Turn[]; outcome: Outcome };

/**
 * Answers from a recorded run, `replay:<run>` or `replay:<run>#<model>`: for the trial of the same suite, case, arm and
 * number, the turn that was recorded, with the usage of then at no cost. What is not on the record is broken, never
 * made up. Throws a usage error when the run has no such model, or several and none is named.
 */
export async function replay(id: string, name: string, options: Pick<ModelOptions, "recorded">): Promise<AskedModel> {
  if (!options.recorded) throw usageError(`the model "${id}" has no recorded runs to read`);
  const [run, wanted] = splitAtLast(name, "#");
  const byModel = new Map<string, Map<string, Recorded>>();
  for await (const { cell, turns, outcome } of await options.recorded(run)) {
    const rows = byModel.get(cell.model) ?? new Map<string, Recorded>();
    // A cell that was asked again (a resumed run) stands on the record twice: the later row counts.
    byModel.set(cell.model, rows.set(key(cell), { turns, outcome }));
  }
  const model = chosen(run, wanted, [...byModel.keys()]);
  const rows = byModel.get(model) ?? new Map<string, Recorded>();

  return {
    id,
    kind: "recorded answers",
    note: `what ${model} answered in the run ${run}: nothing was asked, and nothing spent`,
    settings: { run, model },
    maxOutputTokens: 0,
    deterministic: false,
    cost: () => 0,
    ask: async (request, signal) =>
      signal.aborted
        ? { kind: "broken", stage: "cancelled", message: "the request was cancelled" }
        : recordedReply(rows.get(key(request.cell)), request),
  };
}

function recordedReply(row: Recorded | undefined, { cell, messages }: ModelRequest): Reply {
  const turn = messages.filter(({ role }) => role === "results").length;
  const recorded = row?.turns[turn];
  if (recorded) {
    const calls = recorded.calls.map(({ execution, ...call }) => call);
    return { kind: "turn", turn: { ...recorded, calls } };
  }
  if (row?.outcome.kind === "broken") return row.outcome;
  const where = `${cell.suite}, case ${cell.case}, ${cell.arm}, trial ${cell.trial}`;
  return { kind: "broken", stage: "model", message: `not on the record: turn ${turn + 1} of ${where}` };
}

function chosen(run: string, wanted: string | undefined, models: readonly string[]): string {
  const [first, ...others] = models;
  if (first === undefined) throw usageError(`the run ${run} holds no trials to replay`);
  if (wanted === undefined && others.length === 0) return first;
  if (wanted !== undefined && models.includes(wanted)) return wanted;
  throw usageError(
    wanted === undefined ? `the run ${run} has several models` : `the run ${run} has no answers of "${wanted}"`,
    `Write one of ${models.map((model) => `replay:${run}#${model}`).join(", ")}.`,
  );
}

function splitAtLast(text: string, separator: string): [string, string | undefined] {
  const at = text.lastIndexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The cell without its model: the new run's is the replay itself. */
function key({ suite, case: id, arm, trial }: Cell): string {
  return JSON.stringify([suite, id, arm, trial]);
}
