import { usageError } from "../../base/types/errors.ts";
import { type AskedModel, judgedByTools, type ModelRequest, type Reply } from "../../base/types/model.ts";
import { broken, type Cell, type Outcome, type Trial, type Turn } from "../../base/types/trial.ts";
import { cancelled } from "./remote.ts";

export type ReplayOptions = {
  /** Reads a recorded run. Absent: there is nothing to replay from. */
  recorded?: (run: string) => Promise<Recording>;
};

type Recording = {
  models: readonly Pick<AskedModel, "id" | "kind">[];
  /** What a cell was asked; several messages of the user are joined by ` > `. Absent: not known. */
  queryOf?: (cell: Cell) => string | undefined;
  trials: Iterable<Trial> | AsyncIterable<Trial>;
};

type Recorded = { turns: readonly Turn[]; outcome: Outcome; toolset: string; query: string | undefined };

/**
 * Answers from a recorded run, `replay:<run>` or `replay:<run>#<model>`: returns the recorded turn of the same suite,
 * case, arm and trial, with its recorded usage at no cost. A turn that is not recorded is broken, and so is a reply to
 * other tools or another query than those of now. Throws a usage error if the run does not have the named model, or has
 * several and none is named.
 */
export async function replay(id: string, name: string, options: ReplayOptions): Promise<AskedModel> {
  if (!options.recorded) throw usageError(`"${id}" has no recorded runs to read.`);
  const [, run = "", wanted] = /^(.*?)(?:#([^#]*))?$/s.exec(name) ?? [];
  const rows = new Map<string, Recorded>();
  const asked = new Set<string>();
  const { models, trials, queryOf } = await options.recorded(run);
  for await (const { cell, turns, outcome, toolset } of trials) {
    asked.add(cell.model);
    // A cell that was run again (a resumed run) is recorded twice: the later row counts.
    rows.set(key(cell, cell.model), { turns, outcome, toolset, query: queryOf?.(cell) });
  }
  const model = chooseModel(run, wanted, [...asked]);
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
    ask: async (request, signal) =>
      signal.aborted ? cancelled : findReply(rows.get(key(request.cell, model)), request),
  };
}

function findReply(row: Recorded | undefined, request: ModelRequest): Reply {
  const { cell, turn: number, loader } = request;
  const other = row && number === 1 ? findDifference(row, request) : undefined;
  if (other) return broken("setup", `recorded with ${other} than now: ask a model again, without replay:`);
  const recorded = row?.turns[number - 1];
  if (recorded) {
    const calls = recorded.calls.map(({ execution, ...call }) => call);
    const { searches, userTurn, listChange, ...turn } = recorded;
    // A search on the client runs again; one of an API or a host is part of the reply.
    return { kind: "turn", turn: { ...turn, calls, ...(searches && !loader && { searches }) } };
  }
  if (row?.outcome.kind === "broken") return row.outcome;
  const where = `${cell.suite}, case ${cell.case}, ${cell.arm}, trial ${cell.trial}`;
  return broken("model", `not recorded: turn ${number} of ${where}`);
}

/** What a recorded reply was given to, if not to this request. The key of a list of tools holds its hash. */
function findDifference({ toolset, query }: Recorded, request: ModelRequest): string | undefined {
  if (!request.toolset.includes(toolset)) return "other tools or descriptions";
  const asked = request.messages.flatMap((one) => (one.role === "user" ? [one.content] : [])).at(-1);
  const isSame = query === undefined || asked === undefined || `${query} > `.startsWith(`${asked} > `);
  return isSame ? undefined : "another query";
}

function chooseModel(run: string, wanted: string | undefined, models: readonly string[]): string {
  const [first, ...others] = models;
  if (first === undefined) throw usageError(`Run "${run}" has no trials to replay.`, "Choose another run.");
  if (wanted === undefined && others.length === 0) return first;
  if (wanted !== undefined && models.includes(wanted)) return wanted;
  const problem = wanted === undefined ? "several models" : `no answers of "${wanted}"`;
  const ids = models.map((model) => `replay:${run}#${model}`);
  throw usageError(`Run "${run}" has ${problem}.`, `Use one of: ${ids.join(", ")}.`);
}

/** A cell of the recorded run. In the new run, the model of a cell is the replay. */
const key = ({ suite, case: id, arm, trial }: Cell, model: string) => JSON.stringify([suite, id, arm, model, trial]);
