import { isAbsolute, relative, resolve } from "node:path";
import { createLocalAsker } from "../../asking/trials/runTrial.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { cellKey } from "../../base/types/trial.ts";
import { connectBroker } from "../queue/connection.ts";
import { defaultQueued, openQueuedAsker } from "../queue/coordinator.ts";
import { nameProvider, nameRun } from "../queue/messages.ts";
import { describePlan } from "../queue/plan.ts";
import type { RunOptions } from "../run/runOptions.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { computeTrialCeiling } from "./price.ts";
import type { OpenRecord } from "./record.ts";
import type { Resumed } from "./recordedOptions.ts";

/** Connects to the queue of `--queue` before anything is opened. Throws like `connectBroker`, and for a partial run. */
export async function connectQueue(url: string, options: RunOptions, resumed: Resumed | undefined, io: Io) {
  if (resumed?.manifest.partial)
    throw usageError(
      `The run ${resumed.manifest.id} is partial, and --queue supports only whole runs.`,
      "Omit --queue.",
    );
  const broker = await connectBroker(url, io);
  return {
    /** The number of trials on the queue at a time. Workers have their own limits. */
    concurrency: options.given?.has("concurrency") ? options.concurrency : defaultQueued,
    close: broker.close,
    openAsker: async (workspace: Workspace, given: RunOptions, { manifest, done }: OpenRecord, io: Io) => {
      refuseReplay(workspace);
      const { context, judge } = workspace;
      const local = createLocalAsker(context);
      const plan = describePlan(workspace, relativeTo(io.cwd, given), given.given);
      return await openQueuedAsker(
        broker,
        {
          run: nameRun(manifest),
          plan,
          limits: context.limits,
          isRecorded: (cell) => done.has(cellKey(cell)),
          ceiling: ({ planned, model }) => computeTrialCeiling(planned, model, judge),
          askHere: local.ask,
          rate: given.rate,
        },
        io,
      );
    },
  };
}

/** The queue of a run whose trials are asked on workers. */
export type RunQueue = Awaited<ReturnType<typeof connectQueue>>;

/** Throws a usage error for options that ask in this process, or that workers do not support. */
export function refuseWithQueue({ blame, userSkills, inline, changed, watch, batch, cache }: RunOptions): void {
  const local = Object.entries({ "--changed": changed, "--watch": watch, "--batch": batch, "--cache": cache }).find(
    ([, given]) => given,
  );
  if (local) throw usageError(`${local[0]} cannot be used with --queue.`, "Omit one of them.");
  if (blame) throw usageError("--blame cannot be used with --queue.", "Run `evals blame` after the run.");
  if (userSkills)
    throw usageError("--user-skills reads skills of this machine, which workers do not have.", "Omit one of them.");
  if (inline) throw usageError("Inline suites cannot be used with --queue.", "Write them to files.");
}

function refuseReplay({ models }: Workspace): void {
  const replay = models.find(({ id }) => nameProvider(id) === "replay");
  if (replay) throw usageError(`${replay.id} answers from a local record, which workers cannot read.`, "Omit --queue.");
}

/** Makes the paths in options relative to the working directory. Throws for paths outside of it. */
function relativeTo(cwd: string, options: RunOptions): object {
  const move = (path: string) => {
    const way = relative(cwd, resolve(cwd, path));
    if (way.startsWith("..") || isAbsolute(way))
      throw usageError(
        `${path} is outside of the working directory, so workers cannot find it.`,
        "Start the run and the workers in the folder of the project.",
      );
    return way === "" ? "." : way;
  };
  const { paths, prices, baselines } = options;
  return {
    ...options,
    ...(paths && { paths: paths.map(move) }),
    ...(prices !== undefined && { prices: move(prices) }),
    baselines: move(baselines),
  };
}
