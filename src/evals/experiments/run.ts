import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { SuiteOptions } from "../workspace/suites.ts";
import { type Workspace, withWorkspace } from "../workspace/workspace.ts";
import type { AskOptions } from "./pipeline.ts";
import { recallOptions } from "./recordedOptions.ts";

export type RunOptions = SuiteOptions &
  RequestOptions &
  AskOptions & {
    model: readonly string[];
    host: Workspace["host"];
    seed?: number | undefined;
    check?: "screen" | "thorough" | "anytime" | "off" | undefined;
    blame: boolean;
    margin: number;
    baselines: string;
    dryRun: boolean;
    resume?: string | undefined;
    retryBroken: boolean;
    json: boolean;
  };

/** `evals run`: opens what the suites need, runs what is not on the record, and reports it. */
export async function run(given: RunOptions, io: Io): Promise<ExitCode> {
  const { options, resumed } = await recallOptions("run", given, io.cwd);
  // The rest of the program is loaded while the servers start: it takes about as long.
  const load = () => import("./runSuites.ts");
  return await withWorkspace(
    options,
    io,
    async (workspace) => (await load()).runSuites(workspace, options, resumed, io),
    load,
  );
}
