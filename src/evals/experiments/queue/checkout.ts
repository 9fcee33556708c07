import { once } from "node:events";
import { isAbsolute, resolve } from "node:path";
import type { PlannedCase, PlannedCell } from "../../asking/trials/plan.ts";
import type { TrialContext } from "../../asking/trials/runTrial.ts";
import { describePolicy, type ExecutionPolicy, isWithin } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { SuiteSettings } from "../../base/types/suiteFile.ts";
import type { Toolset } from "../../base/types/tool.ts";
import { isWithin as isWithinFolder, realPath } from "../../input/parsing/folders.ts";
import { readSuiteBaselines } from "../../records/baseline.ts";
import { createManifest } from "../pipeline/manifest.ts";
import { interleaveArms } from "../workspace/arms.ts";
import { listFurtherExposures, verifySearches } from "../workspace/exposures.ts";
import { type Workspace, withWorkspace } from "../workspace/workspace.ts";
import { listPlanDifferences, nameProvider, type Plan, Refusal, type TrialJob } from "./connection.ts";

/** What a worker permits, whatever is on the queue. */
export type Permissions = {
  /** Files and folders whose suites it runs; default: `evals/`. */
  paths?: readonly string[] | undefined;
  providers: ReadonlySet<string>;
  /** The most permissive policy with which a run may override that of a suite. */
  execute: ExecutionPolicy;
  baseUrl?: string | undefined;
  header?: readonly string[] | undefined;
  claudePath?: string | undefined;
  suiteSettings?: Readonly<Record<string, SuiteSettings>> | undefined;
};

/** A plan whose suites, servers and models are open here, until `close`. */
export type OpenPlan = { context: TrialContext; find(job: TrialJob): PlannedCell; close(): Promise<void> };

/** Opens a plan here. Throws a Refusal or EvalsError if it is not permitted, or what affects answers differs. */
export async function openPlanHere(plan: Plan, permissions: Permissions, io: Io): Promise<OpenPlan> {
  refuseForbidden(plan, permissions, io.cwd);
  const { providers, paths: _, execute: __, ...own } = permissions;
  const { model = [], host = "plain", given, ...flags } = plan.flags;
  const isServed = (id: string) => providers.has(nameProvider(id));
  const options = { ...flags, model, host, out: "reports", given: new Set(given), isServed, ...own };
  return await new Promise<OpenPlan>((resolve, reject) => {
    const closing = new AbortController();
    const open = withWorkspace(options, io, async (workspace) => {
      await verifySearches(workspace.models, io.signal);
      const differences = listPlanDifferences(plan, createManifest({ ...workspace, seed: 0, flags: {} }));
      if (differences.length > 0) throw new Refusal(differences.join("; "));
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
function refuseForbidden({ flags, models, judge }: Plan, permissions: Permissions, cwd: string): void {
  const { paths = [], execute, providers } = permissions;
  const allowed = paths.length > 0 ? paths : ["evals"];
  for (const path of flags.paths ?? [])
    if (!isInside(path, allowed, cwd))
      throw new Refusal(
        `this worker runs suites in ${allowed.join(", ")}, not ${path}: name it when starting the worker`,
      );
  const judges = [flags.judge ?? [], judge?.model ?? []].flat();
  const asked = [flags.model ?? [], models.map(({ id }) => id), judges].flat();
  const files = asked.filter((id) => id.startsWith("custom:")).map((id) => id.slice("custom:".length));
  for (const path of [...files, ...(flags.hostDir ?? []), flags.prices, flags.baselines])
    if (path !== undefined && !isInside(path, ["."], cwd))
      throw new Refusal(`${path} is not in the folder of this worker`);
  const unserved = judges.find((id) => !providers.has(nameProvider(id)));
  if (unserved !== undefined)
    throw new Refusal(
      `this worker does not ask the judge ${unserved}: start it with --hosts ${nameProvider(unserved)}`,
    );
  if (flags.execute !== undefined && !isWithin(flags.execute, execute))
    throw new Refusal(`the run asks for --execute ${describePolicy(flags.execute)}: start the worker with it, too`);
}

/** Whether a relative path is one of these roots or inside one, with symbolic links resolved. */
function isInside(path: string, roots: readonly string[], cwd: string): boolean {
  const real = (one: string) => realPath(resolve(cwd, one)) ?? resolve(cwd, one);
  return !isAbsolute(path) && roots.some((root) => isWithinFolder(real(root), real(path)));
}

const key = (...parts: readonly string[]) => JSON.stringify(parts);

/** Indexes the planned cells. The result throws a Refusal for a job that is not planned here with these tools. */
async function indexCells(workspace: Workspace, { flags }: Plan, cwd: string): Promise<OpenPlan["find"]> {
  const { cases, armCases, models } = workspace;
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
    const { cell, orderSeed, toolset } = job;
    const planned = findPlanned(job);
    const model = models.find(({ id }) => id === cell.model);
    if (!planned || !model)
      throw new Refusal(`${cell.case} of ${cell.suite} is not asked in ${cell.arm} on ${cell.model}`);
    if (planned.unavailable) throw new Refusal(planned.unavailable.message);
    if (planned.toolset.hash !== toolset)
      throw new Refusal(`the tools of ${cell.case} (${planned.suite.file}) differ in ${cell.arm}`);
    return { planned, model, cell, orderSeed };
  };
}
