import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type ExitCode, formatProblem, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { crowdReport } from "../reports/crowd.ts";
import { openSource } from "../toolsets/source.ts";
import { ownerOf } from "../toolsets/toolset.ts";
import { trialsOf } from "../trials/plan.ts";
import type { OfferedTool } from "../types/tool.ts";
import { askAll, CrowdTally, crowdArm, crowdOf, summariseCrowd } from "../verdicts/crowd.ts";
import { some } from "../verdicts/words.ts";
import {
  type Bench,
  decidingFlags,
  type ExperimentFlags,
  type ExperimentPlan,
  factsOf,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import { eachListOnce } from "./overlay.ts";

export type CrowdOptions = ExperimentFlags & {
  path?: string | undefined;
  distractors?: readonly string[] | undefined;
  sizes: string;
  json: boolean;
};

/** `evals crowd`: shows the suite's list with more and more foreign tools beside, and prints the rate of each size. */
export async function crowd(flags: CrowdOptions, io: Io): Promise<ExitCode> {
  const sizes = sizesOf(flags.sizes);
  if (!flags.distractors)
    throw usageError("There are no foreign tools to add.", "Name files with tool lists with --distractors.");
  const foreign = await readForeign(flags.distractors, io);
  const paths = flags.path === undefined ? [] : [flags.path];
  return await withBench("crowd", { ...flags, paths }, io, async (bench) => {
    const { model, prepared } = bench;
    const joining = joiningTools(bench, foreign, sizes, io);
    const ids = prepared.cases.map((planned) => planned.case.id);
    const own = prepared.cases.flatMap(({ toolset }) => toolset.tools.filter(({ origin }) => origin === "distractor"));
    const names = new Set([...own, ...joining].map(({ name }) => name));
    const tally = new CrowdTally({ cases: ids, sizes, certain: model.deterministic }, names);
    const asked = prepared.cases.map((planned) => ({ id: planned.case.id, trials: trialsOf(planned, model) }));
    const plan: ExperimentPlan<"asked"> = {
      command: "crowd",
      arms: new Map(
        sizes.map((size) => [crowdArm(size), eachListOnce((tools) => [...tools, ...joining.slice(0, size)])]),
      ),
      design: askAll(asked, sizes.map(crowdArm)),
      setup: { sizes: [...sizes], joining: joining.map(({ name }) => name) },
      flags: decidingFlags(flags),
      onTrial: (trial) => tally.add(trial),
    };
    const performed = await performExperiment(bench, plan, flags, io);
    const summary = summariseCrowd(factsOf(bench, performed), tally.curve(), {
      cases: ids.length,
      certain: model.deterministic,
      stopped: performed.kind === "stopped" ? stoppedExitCode(performed.end, io) : undefined,
    });
    io.out(flags.json ? `${JSON.stringify(summary)}\n` : crowdReport(summary, io));
    return summary.exitCode as ExitCode;
  });
}

/** `0,10,50` as numbers, ascending, each once. */
function sizesOf(text: string): number[] {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,6}$/.test(part));
  if (wrong !== undefined)
    throw usageError(`--sizes: "${wrong}" is no number of tools`, "Give whole numbers, for example --sizes 0,10,50");
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

async function readForeign(files: readonly string[], io: Io): Promise<readonly OfferedTool[]> {
  for (const file of files) {
    const found = await stat(resolve(io.cwd, file)).catch(() => undefined);
    if (!found?.isFile())
      throw usageError(`--distractors: there is no file ${file}`, "Give files with lists of tools.");
  }
  const specs = files.map((tools) => ({ tools }));
  return (await openSource({ distractors: specs, dir: io.cwd }, io.env, io.signal)).tools;
}

/** The foreign tools that may join, in their order, at least as many as the largest size. Warns of those left out. */
function joiningTools(
  { prepared, seed }: Bench,
  foreign: readonly OfferedTool[],
  sizes: readonly number[],
  io: Io,
): readonly OfferedTool[] {
  const own = new Set(prepared.cases.flatMap(({ toolset }) => toolset.tools.map(({ name }) => name)));
  const { tools, leftOut } = crowdOf(foreign, own, seed);
  if (leftOut.length > 0) {
    const which = some(leftOut.map((tool) => `"${tool.name}" of ${ownerOf(tool)}`));
    const message = `left out, for the name is taken: ${which}`;
    io.err(`${formatProblem({ severity: "warning", message })}\n`);
  }
  const largest = sizes.at(-1) ?? 0;
  if (tools.length >= largest) return tools;
  const beside = leftOut.length > 0 ? `, without the ${leftOut.length} left out` : "";
  throw usageError(
    `--sizes asks for ${largest} foreign tools, and there are ${tools.length}${beside}`,
    "Give more files with --distractors, or smaller sizes.",
  );
}
