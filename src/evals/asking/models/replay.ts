import { usageError } from "../../base/types/errors.ts";
import { type AskedModel, judgedByTools, type ModelRequest, type Reply } from "../../base/types/model.ts";
import type { Cell, Outcome, Trial, Turn } from "../../base/types/trial.ts";
import { cancelled } from "./remote.ts";

export type ReplayOptions = {
  /** Reads a recorded run. Absent: there is nothing to replay from. */
  recorded?: (run: string) => Promise<Recording>;
};

type Recording = {
  models: readonly Pick<AskedModel, "id" | "kind">[];
  trials: Iterable<Trial> | AsyncIterable<Trial>;
};

type Recorded = { turns: readonly Turn[]; outcome: Outcome };

/**
 * Answers from a recorded run, `replay:<run>` or `replay:<run>#<model>`: returns the recorded turn of the same suite,
 * case, arm and trial, with its recorded usage at no cost. A turn that is not recorded is broken. Throws a usage error if
 * the run does not have the named model, or has several and none is named.
 */
export async function replay(id: string, name: string, options: ReplayOptions): Promise<AskedModel> {
  if (!options.recorded) throw usageError(`"${id}" has no recorded runs to read.`);
  const [run, wanted] = splitAtLast(name, "#");
  const byModel = new Map<string, Map<string, Recorded>>();
  const { models, trials } = await options.recorded(run);
  for await (const { cell, turns, outcome } of trials) {
    const rows = byModel.get(cell.model) ?? new Map<string, Recorded>();
    // A cell that was run again (a resumed run) is recorded twice: the later row counts.
    byModel.set(cell.model, rows.set(key(cell), { turns, outcome }));
  }
  const model = chooseModel(run, wanted, [...byModel.keys()]);
  const rows = byModel.get(model) ?? new Map<string, Recorded>();
  const isKeywordSearch = models.find((one) => one.id === model)?.kind === "retrieval baseline";

  return {
    id,
    kind: "recorded answers",
    note: `recorded answers of ${model} in run ${run}: no model calls, no cost`,
    settings: { run, model, ...(isKeywordSearch && judgedByTools) },
    makesUpArguments: isKeywordSearch,
    maxOutputTokens: 0,
    deterministic: false,
    searches: { recorded: "recorded" },
    cost: () => 0,
    ask: async (request, signal) => (signal.aborted ? cancelled : findReply(rows.get(key(request.cell)), request)),
  };
}

function findReply(row: Recorded | undefined, { cell, turn: number, loader }: ModelRequest): Reply {
  const recorded = row?.turns[number - 1];
  if (recorded) {
    const calls = recorded.calls.map(({ execution, ...call }) => call);
    const { searches, userTurn, listChange, ...turn } = recorded;
    // A search on the client runs again; one of an API or a host is part of the reply.
    return { kind: "turn", turn: { ...turn, calls, ...(searches && !loader && { searches }) } };
  }
  if (row?.outcome.kind === "broken") return row.outcome;
  const where = `${cell.suite}, case ${cell.case}, ${cell.arm}, trial ${cell.trial}`;
  return { kind: "broken", stage: "model", message: `not recorded: turn ${number} of ${where}` };
}

function chooseModel(run: string, wanted: string | undefined, models: readonly string[]): string {
  const [first, ...others] = models;
  if (first === undefined) throw usageError(`Run "${run}" has no trials to replay.`, "Choose another run.");
  if (wanted === undefined && others.length === 0) return first;
  if (wanted !== undefined && models.includes(wanted)) return wanted;
  throw usageError(
    wanted === undefined ? `Run "${run}" has several models.` : `Run "${run}" has no answers of "${wanted}".`,
    `Use one of: ${models.map((model) => `replay:${run}#${model}`).join(", ")}.`,
  );
}

function splitAtLast(text: string, separator: string): [string, string | undefined] {
  const at = text.lastIndexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The cell without its model, which is the replay in the new run. */
function key({ suite, case: id, arm, trial }: Cell): string {
  return JSON.stringify([suite, id, arm, trial]);
}
