import { once } from "node:events";
import { isAbsolute, resolve } from "node:path";
import type { PlannedCase, PlannedCell } from "../../asking/trials/plan.ts";
import type { TrialContext } from "../../asking/trials/runTrial.ts";
import { excerpt } from "../../base/text/text.ts";
import { formatIssues, usageError } from "../../base/types/errors.ts";
import { describePolicy, type ExecutionPolicy, isWithin } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import { parseJsonText } from "../../base/types/json.ts";
import type { SuiteSettings } from "../../base/types/suiteFile.ts";
import type { Toolset } from "../../base/types/tool.ts";
import { isWithin as isWithinFolder, realPath } from "../../input/parsing/folders.ts";
import { readSuiteBaselines } from "../../records/baseline.ts";
import { interleaveArms } from "../workspace/arms.ts";
import { listFurtherExposures, verifySearches } from "../workspace/exposures.ts";
import { version } from "../workspace/version.ts";
import { type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { hashSettings, nameProvider, type Plan, planSchema, type TrialJob } from "./connection.ts";

/** What a worker permits, whatever is on the queue. */
export type Permissions = {
  /** Files and folders whose suites it runs; default: `evals/`. */
  paths?: readonly string[] | undefined;
  providers: ReadonlySet<string>;
  /** The most permissive policy with which a run may override that of a suite. */
  execute: ExecutionPolicy;
  baseUrl?: string | undefined;
  header?: readonly string[] | undefined;
  suiteSettings?: Readonly<Record<string, SuiteSettings>> | undefined;
};

/** A plan whose suites, servers and models are open here, until `close`. */
export type OpenPlan = { context: TrialContext; find(job: TrialJob): PlannedCell; close(): Promise<void> };

/** Opens a plan here. Throws EvalsError if it is not permitted, or what affects answers differs. */
export async function openPlanHere(text: string, permissions: Permissions, io: Io): Promise<OpenPlan> {
  const { data: plan, error } = planSchema.safeParse(parseJsonText(text));
  if (!plan) throw usageError(`the plan of the run cannot be read: ${excerpt(formatIssues(error), 500)}`);
  if (plan.harness !== version) throw usageError(`tool-evals is ${version} here and ${plan.harness} there`);
  refuseForbidden(plan, permissions, io.cwd);
  const { providers, paths: _, execute: __, ...own } = permissions;
  const { model = [], host = "plain", given, ...flags } = plan.flags;
  const isServed = (id: string) => providers.has(nameProvider(id));
  const options = { ...flags, model, host, out: "reports", given: new Set(given), isServed, ...own };
  return await new Promise<OpenPlan>((resolve, reject) => {
    const closing = new AbortController();
    const open = withWorkspace(options, io, async (workspace) => {
      await verifySearches(workspace.models, io.signal);
      const commits = [workspace.git?.commit, plan.commit].map((commit) => commit?.slice(0, 10));
      if (new Set(commits).size > 1 && !commits.includes(undefined))
        throw usageError(`the commit is ${commits.join(" here and ")} there`);
      const find = await indexCells(workspace, plan, io.cwd);
      const close = async () => {
        closing.abort();
        await open.catch(() => {});
      };
      resolve({ context: workspace.context, find, close });
      await once(closing.signal, "abort");
    });
    open.catch(reject);
  });
}

/** Whoever writes to the queue must not control what is executed here: neither which files nor what tools may do. */
function refuseForbidden({ flags }: Plan, permissions: Permissions, cwd: string): void {
  const { paths = [], execute, providers } = permissions;
  const allowed = paths.length > 0 ? paths : ["evals"];
  for (const path of flags.paths ?? [])
    if (!isInside(path, allowed, cwd))
      throw usageError(
        `this worker runs suites in ${allowed.join(", ")}, not ${path}: name it when starting the worker`,
      );
  const { judge } = flags;
  const asked = [flags.model ?? [], judge ?? []].flat();
  const files = asked.filter((id) => id.startsWith("custom:")).map((id) => id.slice("custom:".length));
  for (const path of [...files, ...(flags.hostDir ?? []), flags.prices, flags.baselines])
    if (path !== undefined && !isInside(path, ["."], cwd))
      throw usageError(`${path} is not in the folder of this worker`);
  if (judge !== undefined && !providers.has(nameProvider(judge)))
    throw usageError(`this worker does not ask the judge ${judge}: start it with --hosts ${nameProvider(judge)}`);
  if (flags.execute !== undefined && !isWithin(flags.execute, execute))
    throw usageError(`the run asks for --execute ${describePolicy(flags.execute)}: start the worker with it, too`);
}

/** Whether a relative path is one of these roots or inside one, with symbolic links resolved. */
function isInside(path: string, roots: readonly string[], cwd: string): boolean {
  const real = (one: string) => realPath(resolve(cwd, one)) ?? resolve(cwd, one);
  return !isAbsolute(path) && roots.some((root) => isWithinFolder(real(root), real(path)));
}

const key = (...parts: readonly string[]) => JSON.stringify(parts);

/** Indexes the planned cells. The result throws EvalsError for a job that is not planned here with these tools. */
async function indexCells(workspace: Workspace, { flags }: Plan, cwd: string): Promise<OpenPlan["find"]> {
  const { suites, cases, armCases, models, judge } = workspace;
  const inArms = interleaveArms(cases, listFurtherExposures(flags), armCases);
  const byKey = new Map(inArms.map((planned) => [key(planned.suite.name, planned.case.id, planned.arm), planned]));
  // The arm `base` of a check has the tools of a committed baseline. Read all, because a suite may have been renamed.
  const accepted = new Map<string, Toolset>();
  for (const { baseline } of await readSuiteBaselines(resolve(cwd, flags.baselines ?? "evals/baselines")))
    for (const [hash, tools] of Object.entries(baseline.toolsets)) accepted.set(hash, { hash, tools });
  const findPlanned = ({ cell: { suite, case: id, arm }, toolset: hash }: TrialJob): PlannedCase | undefined => {
    const head = byKey.get(key(suite, id, "head"));
    const toolset = arm === "base" ? accepted.get(hash) : undefined;
    return byKey.get(key(suite, id, arm)) ?? (head && toolset && { ...head, arm, toolset });
  };
  return (job) => {
    const { cell, orderSeed, suite, toolset, settings } = job;
    if (suites.find(({ name }) => name === cell.suite)?.hash !== suite)
      throw usageError(`the suite "${cell.suite}" was edited`);
    const planned = findPlanned(job);
    const model = models.find(({ id }) => id === cell.model);
    if (!planned || !model)
      throw usageError(`${cell.case} of ${cell.suite} is not asked in ${cell.arm} on ${cell.model}`);
    if (hashSettings(model, judge) !== settings)
      throw usageError(`the settings of ${cell.model} or of the judge differ`);
    if (planned.unavailable) throw usageError(planned.unavailable.message);
    if (planned.toolset.hash !== toolset)
      throw usageError(`the tools of ${cell.case} (${planned.suite.file}) differ in ${cell.arm}`);
    return { planned, model, cell, orderSeed };
  };
}
