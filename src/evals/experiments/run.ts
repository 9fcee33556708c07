import { type ExitCode, formatProblem } from "../errors.ts";
import type { Io } from "../io.ts";
import type { HostName } from "../toolsets/host.ts";
import { gitState } from "../workspace/git.ts";
import { openJudge, openModels, type RequestOptions } from "../workspace/models.ts";
import { closeServers, openServers } from "../workspace/servers.ts";
import { type SuiteOptions, selectSuites } from "../workspace/suites.ts";
import type { AskOptions } from "./asking.ts";
import { type Resumed, resumedFlags } from "./resume.ts";

export type RunOptions = SuiteOptions &
  RequestOptions &
  AskOptions & {
    model: readonly string[];
    host: HostName;
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

/** `evals run`: loads the suites, opens their servers and the models, then plans, asks, scores, records and reports. */
export async function run(given: RunOptions, io: Io): Promise<ExitCode> {
  const resumed: Resumed | undefined =
    given.resume === undefined ? undefined : await resumedFlags(given.resume, given, io);
  const flags = resumed?.flags ?? given;
  const git = gitState(io.cwd);
  const { suites, skills, warnings } = await selectSuites(flags, io);
  const opening = openServers(suites, io);
  try {
    for (const problem of warnings) io.err(`${formatProblem(problem)}\n`);
    // The rest of the program is loaded while the servers start: it takes about as long.
    const [models, judge, { perform }] = await Promise.all([
      openModels(flags.model, flags, io),
      openJudge(flags, io),
      import("./perform.ts"),
    ]);
    return await perform(
      { flags, retryBroken: given.retryBroken, resumed, models, skills, judge, opened: await opening, git: await git },
      io,
    );
  } finally {
    await closeServers(await opening);
  }
}
