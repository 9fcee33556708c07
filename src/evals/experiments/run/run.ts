import { resolve } from "node:path";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { findRecord } from "../../records/find.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { caseKey } from "../workspace/suites.ts";
import { type WorkspaceOptions, withWorkspace } from "../workspace/workspace.ts";
import { refuseWithQueue } from "./runOptions.ts";
import type { WatchOptions } from "./runPartial.ts";
import type { FinalReport } from "./runSuites.ts";

/** `evals run`: opens what the suites need, runs what is not on the record, and reports it. */
export async function run(given: WatchOptions, io: Io): Promise<ExitCode> {
  if (given.queue !== undefined) refuseWithQueue(given);
  if (given.watch) return (await import("./runPartial.ts")).watchRuns(given, io);
  const wanted = given.changed ? (await import("./runPartial.ts")).toPartialOptions(given) : given;
  const { options: recalled, resumed } = await recallOptions("run", wanted, io);
  const selected = recalled.failed && !resumed ? await listFailed(recalled, io) : recalled.selected;
  if (selected?.length === 0) {
    io.err("Every case passed in the last run, so there is none to run again.\n");
    return exitCodes.passed;
  }
  const options = { ...recalled, selected };
  const { queue: url } = options;
  const isQueued = url !== undefined && !options.dryRun;
  if (isQueued && resumed?.manifest.partial)
    throw usageError(`The run ${resumed.manifest.id} is partial, and --queue supports only whole runs.`);
  // Loaded only for runs with a queue.
  const queue = isQueued ? await (await import("../queue/asker.ts")).connectQueue(url, options, io) : undefined;
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

/** The cases that did not pass in the last run, of its own command. Throws a usage error without a run. */
async function listFailed({ out, cacheIn }: WatchOptions, io: Io): Promise<string[]> {
  const { dir, manifest } = await findRecord("run", "latest", resolve(io.cwd, cacheIn ?? out));
  const { readResults } = await import("../pipeline/record.ts");
  const { suites } = (await readResults(dir, manifest)).summary();
  return suites.flatMap(({ name, cases }) => cases.filter(({ ok }) => !ok).map(({ id }) => caseKey(name, id)));
}
