import type { ExitCode } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { withWorkspace } from "../workspace/workspace.ts";
import { recallOptions } from "./recordedOptions.ts";
import type { RunOptions } from "./runSuites.ts";

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
