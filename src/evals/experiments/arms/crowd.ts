import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { askAll } from "../../asking/trials/design.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { getOrAdd } from "../../base/getOrAdd.ts";
import { type ExitCode, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { plannedTrials } from "../../base/types/suite.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import { count, some } from "../../reports/format.ts";
import { openSource } from "../../servers/source.ts";
import { describeOrigin } from "../../servers/toolList.ts";
import {
  type ExperimentOptions,
  type ExperimentSpec,
  type ExperimentWorkspace,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport } from "../reporting/report.ts";
import { recordExperiment } from "../reporting/reportFiles.ts";
import { changeListsOnce } from "../variants/file.ts";
import { CrowdTally, crowdArm, orderForeignTools, summariseCrowd } from "./crowdVerdict.ts";

export type CrowdOptions = ExperimentOptions & {
  distractors?: readonly string[] | undefined;
  sizes?: string | undefined;
  json: boolean;
};

/**
 * `evals crowd`: shows the suite's tools among increasingly many foreign tools, and prints the accuracy at each size.
 * In a suite over a whole configuration, shows the tools of each case's server among those of increasingly many other
 * servers.
 */
export async function crowd(given: CrowdOptions, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("crowd", given, io.cwd);
  const { distractors } = recalled.options;
  const foreign = distractors && (await readForeign(distractors, io));
  return await withExperiment(recalled, io, async (workspace) => {
    const { model, options } = workspace;
    const joining = foreign
      ? planForeignTools(workspace, foreign, options.sizes, io)
      : planOtherServers(workspace, options.sizes, io);
    const { cases, sizes, servers, listAt, isForeign } = joining;
    const ids = cases.map((planned) => planned.case.id);
    const tally = new CrowdTally({ cases: ids, sizes, certain: model.deterministic }, isForeign);
    const asked = cases.map((planned) => ({ id: planned.case.id, trials: plannedTrials(planned.case, model) }));
    const question: ExperimentSpec<"asked"> = {
      cases,
      arms: new Map(sizes.map((size) => [crowdArm(size), listAt(size)])),
      design: askAll(asked, sizes.map(crowdArm), workspace.seed, () => "asked"),
      setup: { sizes: [...sizes], joining: [...joining.names] },
      onTrial: (trial) => tally.add(trial),
    };
    const finished = await runExperiment(workspace, question, io);
    const summary = summariseCrowd(finished.facts, tally.curve(), {
      cases: ids.length,
      certain: model.deterministic,
      servers,
      stopped: finished.kind === "stopped" ? finished.stopCode : undefined,
    });
    printReport(options.json ? "json" : "terminal", await recordExperiment(finished, summary, io), io);
    return summary.exitCode as ExitCode;
  });
}

function planForeignTools(
  workspace: ExperimentWorkspace,
  foreign: readonly OfferedTool[],
  given: string | undefined,
  io: Io,
) {
  const { cases } = workspace;
  const { sizes, tools } = pickTools(workspace, foreign, given === undefined ? undefined : parseSizes(given), io);
  const own = cases.flatMap(({ toolset }) => toolset.tools.filter(({ origin }) => origin === "distractor"));
  const names = new Set([...own, ...tools].map(({ name }) => name));
  return {
    // `servers`: sizes count servers instead of tools. `names`: of what is added, in order, for the record.
    ...{ cases, sizes, servers: false, names: tools.map(({ name }) => name) },
    listAt: (size: number) => changeListsOnce((list) => [...list, ...tools.slice(0, size)]),
    isForeign: (_id: string, tool: string) => names.has(tool),
  };
}

/** Adds the other servers of the configuration to the one that a case is about, in the order of the file. */
function planOtherServers(
  { cases: all, suite, configurations }: ExperimentWorkspace,
  given: string | undefined,
  io: Io,
) {
  const members = configurations.get(suite.name);
  if (!members)
    throw usageError(
      "There are no foreign tools to add.",
      "Name files with tool lists with --distractors, or write a suite over a whole configuration (server: { config, all: true }).",
    );
  const names = members.flatMap(({ name, failure }) => (failure === undefined ? [name] : []));
  const cases = all.filter(({ owner }) => owner !== undefined);
  const left = all.length - cases.length;
  if (cases.length === 0) throw usageError("No case is about one server.", "Expect tools of one server in a case.");
  if (left > 0) io.err(`Left out: ${count(left, "case")} that ${left === 1 ? "is" : "are"} not about one server.\n`);
  const sizes = given === undefined ? names.map((_, at) => at) : parseSizes(given);
  const most = names.length - 1;
  if ((sizes.at(-1) ?? 0) > most)
    throw usageError(
      `--sizes needs ${sizes.at(-1)} other servers, but there are ${most}.`,
      "In a suite over a whole configuration, sizes count servers.",
    );
  const owners = new Map(cases.map((planned) => [planned.case.id, planned.owner ?? ""]));
  const listAt = (size: number) => {
    const byOwner = new Map<string, (planned: PlannedCase) => Toolset>();
    return (planned: PlannedCase): Toolset => {
      const { owner = "" } = planned;
      const hidden = new Set(names.filter((name) => name !== owner).slice(size));
      const makeList = () => changeListsOnce((tools) => tools.filter(({ server }) => !hidden.has(server)));
      return getOrAdd(byOwner, owner, makeList)(planned);
    };
  };
  const servers = new Map(cases.flatMap(({ toolset }) => toolset.tools.map(({ name, server }) => [name, server])));
  const isForeign = (id: string, tool: string) => servers.has(tool) && servers.get(tool) !== owners.get(id);
  return { cases, sizes, servers: true, names, listAt, isForeign };
}

/** Parses sizes such as `0,10,50`. Returns them in ascending order, each once. */
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

/** Picks foreign tools in the order they are added. Default sizes: 0, 10 and 50. Throws if there are too few. */
function pickTools(
  { cases, seed }: ExperimentWorkspace,
  foreign: readonly OfferedTool[],
  given: readonly number[] | undefined,
  io: Io,
): { tools: readonly OfferedTool[]; sizes: readonly number[] } {
  const own = new Set(cases.flatMap(({ toolset }) => toolset.tools.map(({ name }) => name)));
  const { tools, leftOut } = orderForeignTools(foreign, own, seed);
  if (leftOut.length > 0) {
    const which = some(leftOut.map((tool) => `"${tool.name}" of ${describeOrigin(tool)}`));
    const message = `Foreign tools skipped because of a duplicate name: ${which}.`;
    printProblem(io)({ severity: "warning", message });
  }
  const sizes = given ?? [...new Set([0, 10, 50].map((size) => Math.min(size, tools.length)))];
  const largest = sizes.at(-1) ?? 0;
  const skipped = leftOut.length > 0 ? ` (${leftOut.length} skipped)` : "";
  if (tools.length === 0 && !given)
    throw usageError(`There are no foreign tools to add${skipped}.`, "Name more files with --distractors.");
  if (tools.length >= largest) return { tools, sizes };
  throw usageError(
    `--sizes needs ${largest} foreign tools, but there are ${tools.length}${skipped}.`,
    "Give more files with --distractors, or smaller sizes.",
  );
}
