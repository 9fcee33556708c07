import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { crowdDocument } from "../reports/crowd.ts";
import { safeJson } from "../reports/escape.ts";
import { some } from "../reports/format.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { openSource } from "../toolsets/source.ts";
import { describeOrigin } from "../toolsets/toolList.ts";
import { type ExitCode, formatProblem, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { plannedTrials } from "../types/suite.ts";
import type { OfferedTool } from "../types/tool.ts";
import { askAll, CrowdTally, crowdArm, orderForeignTools, summariseCrowd } from "../verdicts/crowd.ts";
import {
  type Bench,
  describeExperiment,
  type ExperimentOptions,
  type ExperimentSpec,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import { recallOptions } from "./recordedOptions.ts";
import { writeExperimentReports } from "./report.ts";
import { changeListsOnce } from "./variantsFile.ts";

export type CrowdOptions = ExperimentOptions & {
  distractors?: readonly string[] | undefined;
  sizes: string;
  json: boolean;
};

/** `evals crowd`: shows the suite's tools with more and more foreign tools, and prints the accuracy at each size. */
export async function crowd(given: CrowdOptions, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("crowd", given, io.cwd);
  const { options } = recalled;
  const sizes = parseSizes(options.sizes);
  if (!options.distractors)
    throw usageError("There are no foreign tools to add.", "Name files with tool lists with --distractors.");
  const foreign = await readForeign(options.distractors, io);
  return await withBench(recalled, io, async (bench) => {
    const { model, cases } = bench;
    const joining = pickTools(bench, foreign, sizes, io);
    const ids = cases.map((planned) => planned.case.id);
    const own = cases.flatMap(({ toolset }) => toolset.tools.filter(({ origin }) => origin === "distractor"));
    const names = new Set([...own, ...joining].map(({ name }) => name));
    const tally = new CrowdTally({ cases: ids, sizes, certain: model.deterministic }, names);
    const asked = cases.map((planned) => ({ id: planned.case.id, trials: plannedTrials(planned.case, model) }));
    const question: ExperimentSpec<"asked"> = {
      cases,
      arms: new Map(
        sizes.map((size) => [crowdArm(size), changeListsOnce((tools) => [...tools, ...joining.slice(0, size)])]),
      ),
      design: askAll(asked, sizes.map(crowdArm), bench.seed),
      setup: { sizes: [...sizes], joining: joining.map(({ name }) => name) },
      onTrial: (trial) => tally.add(trial),
    };
    const performed = await performExperiment(bench, question, io);
    const summary = summariseCrowd(describeExperiment(bench, performed), tally.curve(), {
      cases: ids.length,
      certain: model.deterministic,
      stopped: performed.kind === "stopped" ? stoppedExitCode(performed.end, io) : undefined,
    });
    const document = crowdDocument(summary);
    await writeExperimentReports(performed, document, io);
    io.out(options.json ? safeJson(summary) : renderTerminal(document, io));
    return summary.exitCode as ExitCode;
  });
}

/** `0,10,50` as numbers, ascending, each once. */
function parseSizes(text: string): number[] {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,6}$/.test(part));
  if (wrong !== undefined)
    throw usageError(`--sizes: "${wrong}" is not a number of tools.`, "Give integers, for example --sizes 0,10,50.");
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

async function readForeign(files: readonly string[], io: Io): Promise<readonly OfferedTool[]> {
  for (const file of files) {
    const found = await stat(resolve(io.cwd, file)).catch(() => undefined);
    if (!found?.isFile()) throw usageError(`--distractors: there is no file "${file}".`, "Give files with tool lists.");
  }
  const specs = files.map((tools) => ({ tools }));
  return (await openSource({ distractors: specs, dir: io.cwd }, io.env, io.signal)).tools;
}

/** The foreign tools in the order they are added, at least as many as the largest size. Warns about skipped ones. */
function pickTools(
  { cases, seed }: Bench,
  foreign: readonly OfferedTool[],
  sizes: readonly number[],
  io: Io,
): readonly OfferedTool[] {
  const own = new Set(cases.flatMap(({ toolset }) => toolset.tools.map(({ name }) => name)));
  const { tools, leftOut } = orderForeignTools(foreign, own, seed);
  if (leftOut.length > 0) {
    const which = some(leftOut.map((tool) => `"${tool.name}" of ${describeOrigin(tool)}`));
    const message = `Foreign tools skipped because of a duplicate name: ${which}.`;
    io.err(`${formatProblem({ severity: "warning", message })}\n`);
  }
  const largest = sizes.at(-1) ?? 0;
  if (tools.length >= largest) return tools;
  const skipped = leftOut.length > 0 ? ` (${leftOut.length} skipped)` : "";
  throw usageError(
    `--sizes needs ${largest} foreign tools, but there are ${tools.length}${skipped}.`,
    "Give more files with --distractors, or smaller sizes.",
  );
}
