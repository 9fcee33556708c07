import type { ProbeFlags } from "../../commands/probe.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { asciiJson, type ProbeReport, probeText } from "../../reports/probe.ts";
import { type Severity, severitySchema } from "../../types/lint.ts";
import { isUnavailable } from "../../workspace/servers.ts";
import { type Probed, probeServer } from "./server.ts";
import { catalogue } from "./tally.ts";
import { type Target, targetsOf } from "./targets.ts";

/** `evals probe`: probes every server that the flags name, each on its own, and prints what was found. Throws EvalsError. */
export async function probe(flags: ProbeFlags, io: Io): Promise<ExitCode> {
  const { targets, warnings } = await targetsOf(flags, io);
  if (flags.call && targets.length !== 1)
    throw usageError(
      `--call makes calls of one server, and ${targets.length} are named`,
      "Name one with --server, --url, --config and --name, or one suite.",
    );
  const seed = flags.seed ?? Math.floor(Math.random() * 2 ** 31);
  const probed = await Promise.all(targets.map((target) => probeOne(target, targets.length, { flags, seed, io })));
  const report = reportOf(probed, seed, flags, io);
  io.out(flags.json ? `${asciiJson(report, 2)}\n` : probeText(report, io));
  const asides = [...warnings, ...probed.flatMap((one) => one.warnings), ...report.problems];
  // They quote servers, which may write what a terminal obeys.
  for (const problem of asides) io.err(`${formatProblem(problem)}\n`);
  return report.exitCode as ExitCode;
}

/** A server that cannot be had, or one of several that is written down wrongly, does not stop the others. */
async function probeOne(target: Target, of: number, asked: Parameters<typeof probeServer>[1]): Promise<Probed> {
  try {
    return await probeServer(target, asked);
  } catch (error) {
    if (asked.io.signal.aborted && error instanceof EvalsError) return { problems: [], warnings: [] };
    if (isUnavailable(error) || (of > 1 && error instanceof EvalsError))
      return { problems: error.problems, warnings: [] };
    throw error;
  }
}

function reportOf(probed: readonly Probed[], seed: number, { failOn }: ProbeFlags, io: Io): ProbeReport {
  const servers = probed.flatMap(({ server }) => server ?? []);
  const problems: Problem[] = probed.flatMap((one) => one.problems);
  const found = servers.flatMap(({ findings }) => findings);
  const count = (severity: Severity) => found.filter((one) => one.severity === severity).length;
  const counts = { error: count("error"), warning: count("warning"), info: count("info") };
  const levels = severitySchema.options;
  const failed = levels.slice(0, levels.indexOf(failOn) + 1).some((level) => counts[level] > 0);
  const stopped = io.signal.aborted;
  const done = failed ? exitCodes.failed : problems.length > 0 ? exitCodes.incomplete : exitCodes.passed;
  const exitCode = stopped ? io.signalExitCode() : done;
  return {
    ...{ seed, servers, problems, counts, checks: catalogue, failOn, stopped },
    ...{ ok: exitCode === exitCodes.passed, exitCode },
  };
}
