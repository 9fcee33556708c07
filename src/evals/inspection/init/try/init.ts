import { SpendingLimits } from "../../../asking/trials/limits.ts";
import { printableLines } from "../../../base/secrets/visible.ts";
import type { ExitCode } from "../../../base/types/errors.ts";
import type { Io } from "../../../base/types/io.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import type { Tool } from "../../../base/types/tool.ts";
import { openModels, type RequestOptions } from "../../../experiments/workspace/models.ts";
import { count } from "../../../reports/format.ts";
import type { Draft, DraftCase } from "../draft.ts";
import { type InitOptions, init } from "../init.ts";
import { buildTasks, hashWriting, planQueries, type WrittenQuery } from "./queries.ts";
import {
  buildExpectation,
  confirmSpending,
  describeCost,
  nameCases,
  nothingWritten,
  priceWriting,
  requireWriter,
  writeQueries,
} from "./writer.ts";

type WrittenInitOptions = InitOptions &
  Omit<RequestOptions, "out"> & { model: string; concurrency: number; yes: boolean };

/** `evals init --model`: `init` with queries written by the model. The seed is fixed: equal lists get equal plans. */
export async function initWritten(options: WrittenInitOptions, io: Io): Promise<ExitCode> {
  const [model] = await openModels([options.model], { ...options, out: "reports" }, io);
  if (!model) throw new Error(`no model was opened for ${options.model}`);
  const writer = requireWriter(model);
  const draft = async (tools: readonly Tool[]): Promise<Draft | undefined> => {
    const { wanted, left } = planQueries(tools, 1, 1);
    const tasks = buildTasks(wanted, tools);
    const plan = `${count(tools.length, "tool")}, ${count(wanted.length, "query")} to write, ${describeCost(priceWriting(writer, tasks))}`;
    if (!(await confirmSpending(plan, writer, options, io))) return undefined;
    const guarded = new SpendingLimits({ budgetUsd: options.budget }).guard(writer);
    const { queries, dropped } = await writeQueries(guarded, tasks, tools, options.concurrency, io);
    if (queries.length === 0) throw nothingWritten(dropped);
    if (dropped.length > 0) io.err(printableLines(`Dropped ${count(dropped.length, "query")}: ${dropped[0]?.why}.`));
    const covered = new Set(queries.map(({ wanted: { tool } }) => tool?.name));
    const skipped = tools.map(({ name }) => name).filter((name) => !covered.has(name) && !left.includes(name));
    return {
      cases: [...nameCases(queries)].map(([id, query]) => toDraft(id, query)),
      left: [...left, ...skipped],
      writer: `${writer.id}, prompt ${hashWriting()}`,
    };
  };
  return await init(options, io, draft);
}

function toDraft(id: string, { wanted, input, args }: WrittenQuery): DraftCase {
  if (!wanted.tool) return { id, input, unfilled: [] };
  const { args: expected } = buildExpectation(wanted, args) as { args?: JsonObject };
  return {
    ...{ id, input, tool: wanted.tool.name, unfilled: [] },
    ...(expected && { args: expected }),
    ...(wanted.near && { avoid: wanted.near }),
  };
}
