import type { ExitCode } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { type WorkspaceOptions, withWorkspace } from "../workspace/workspace.ts";
import { refuseWithQueue } from "./runOptions.ts";
import type { FinalReport } from "./runSuites.ts";
import type { WatchOptions } from "./runWatch.ts";

/** `evals run`: opens what the suites need, runs what is not on the record, and reports it. */
export async function run(given: WatchOptions, io: Io): Promise<ExitCode> {
  if (given.queue !== undefined) refuseWithQueue(given);
  if (given.watch) return (await import("./runWatch.ts")).watchRuns(given, io);
  const wanted = given.changed ? (await import("./runPartial.ts")).toPartialOptions(given) : given;
  const { options, resumed } = await recallOptions("run", wanted, io);
  if (options.cancelBatch) return await (await import("../pipeline/batches.ts")).cancelBatches(resumed, options, io);
  const { queue: url } = options;
  const isQueued = url !== undefined && !options.dryRun;
  // Loaded only for runs with a queue.
  const queue = isQueued
    ? await (await import("../queue/asker.ts")).connectQueue(url, options, resumed, io)
    : undefined;
  // Load the rest of the program while the servers start: it takes about as long.
  const load = () => import("./runSuites.ts");
  const isAccepted: WorkspaceOptions["isAccepted"] = async (...asked) =>
    options.check !== "off" && (await import("../check/ask.ts")).isAccepted(options, ...asked, io);
  const rest = await withWorkspace(
    { ...options, isAccepted },
    io,
    async (whole): Promise<FinalReport> => {
      if (!options.changed && !resumed?.manifest.partial)
        return (await load()).runSuites(whole, options, resumed, io, { queue });
      const { reportNothing, selectCases } = await import("./runPartial.ts");
      const { workspace, partial } = await selectCases(whole, options, resumed, io);
      if (partial?.asked.length === 0) return () => reportNothing(options, partial, io);
      return (await load()).runSuites(workspace, options, resumed, io, { partial, queue });
    },
    load,
  ).finally(queue?.close);
  return await rest();
}
