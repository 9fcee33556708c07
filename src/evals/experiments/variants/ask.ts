import { resolve } from "node:path";
import * as z from "zod";
import { countRequests, type PlannedCase } from "../../asking/trials/plan.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import { type PlaceboResult, placeboSchema, toComparedRun } from "../../base/types/check.ts";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { jsonObjectSchema } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";
import { baselineFile, readBaseline } from "../../records/baseline.ts";
import { comparability, describeRun } from "../design/comparable.ts";
import {
  type ExperimentOptions,
  type ExperimentWorkspace,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import type { GetToolset } from "../pipeline/pipeline.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport, recordExperiment } from "../reporting/report.ts";
import { matchesFilter } from "../workspace/suites.ts";
import { chooseDesign } from "./design.ts";
import { applyVariants, type Overlaid, type ReadVariants, readVariants, writeOverlay } from "./file.ts";
import { incumbentArm, PromptSizes, summarizeVariants } from "./verdict.ts";

export type VariantsOptions = ExperimentOptions & {
  file?: string | undefined;
  output?: string | undefined;
  of?: string | undefined;
  margin: number;
  baselines: string;
  harmCases?: readonly string[] | undefined;
  harmUnsteady?: number | undefined;
  json: boolean;
};

/** `evals variants`: applies the wordings to the live tools, tests them, prints the verdict, and writes the winner. */
export async function variants(given: VariantsOptions, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("variants", given, io);
  const { options } = recalled;
  const path = options.file;
  if (path === undefined) throw usageError("There is no variants file.", "Give its path: evals variants <file>.");
  if (options.output === undefined && options.of !== undefined)
    throw usageError("--of has no effect without --output.", "Add --output.");
  refuseOutput(options, path, io);
  const file = await readVariants(path, io.cwd);
  refuseUnknown(options.of, file);
  return await withExperiment(recalled, io, async (workspace) => {
    const overlaid = applyVariants(file, workspace.cases);
    const touched = workspace.cases.filter((planned) => overlaid.some((one) => changesCase(one, planned)));
    const cases = touched.map((planned) => planned.case.id);
    const { bank: known, placebo } = await findBank(touched, workspace, io);
    const setup = {
      cases,
      challengers: overlaid.map(({ name }) => name),
      seed: workspace.seed,
      margin: options.margin,
      bank: known,
      placebo,
      ...(options.harmUnsteady !== undefined && { harmUnsteady: options.harmUnsteady }),
      ...(options.harmCases && { harmCases: selectCases(cases, options.harmCases) }),
    };
    const arms = new Map<string, GetToolset>([
      [incumbentArm, ({ toolset }) => toolset],
      ...overlaid.map(({ name, getToolset }) => [name, getToolset] as const),
    ]);
    const prompts = new PromptSizes();
    const bank = new Map(Object.entries(setup.bank));
    const lists = [...arms.values()];
    const requests = countRequests(touched, (planned) =>
      lists.flatMap((getToolset) => {
        const toolset = getToolset(planned);
        return toolset ? [toolset.tools] : [];
      }),
    );
    const design = chooseDesign({ ...setup, bank, ...requests }, workspace.model.deterministic);
    const { seed: _, ...rest } = setup;
    const asked = {
      ...{ cases: touched, arms, design },
      setup: jsonObjectSchema.parse(JSON.parse(JSON.stringify(rest))),
      onTrial: (trial: Trial) => prompts.add(trial),
    };
    const finished = await runExperiment(workspace, asked, io);
    const summary = summarizeVariants({
      facts: finished.facts,
      outcome: finished.kind === "decided" ? finished.verdict : { stopped: finished.stopCode },
      record: finished.record,
      margin: options.margin,
      placebo,
      cap: design.cap,
      cases,
      notAsked: workspace.cases.filter((one) => !touched.includes(one)).map((one) => one.case.id),
      lists: new Map([...arms].map(([name, getToolset]) => [name, touched.map((one) => getToolset(one)?.tools ?? [])])),
      prompts,
    });
    const chosen = overlaid.find(({ name }) => name === (options.of ?? summary.winner));
    const unwritten = options.output !== undefined && !chosen && summary.exitCode === exitCodes.passed;
    const result = { ...summary, exitCode: unwritten ? exitCodes.failed : summary.exitCode };
    // With --output -, standard output contains only the overlay.
    const shown = options.output === "-" ? { ...io, out: io.err } : io;
    printReport(options.json ? "json" : "terminal", await recordExperiment(finished, result, io), shown);
    if (options.output !== undefined) await writeOverlay(options.output, chosen, io);
    return result.exitCode as ExitCode;
  });
}

type Bank = Record<string, Counts>;
const bankSchema = z.object({
  bank: z.record(z.string(), z.object({ passed: z.number().int(), trials: z.number().int() })).default({}),
  placebo: placeboSchema.nullable().default(null),
});

/**
 * Reads the counts of the current wording from the accepted baseline, for cases that have not changed since and are
 * shown the same list now, and what harmless edits did. Empty without a comparable baseline. A resumed record keeps what it
 * started with.
 */
export async function findBank(
  cases: readonly PlannedCase[],
  { suite, model, options, resumed }: ExperimentWorkspace,
  io: Io,
): Promise<{ bank: Bank; placebo: PlaceboResult | null }> {
  if (resumed) return bankSchema.parse(resumed.manifest.experiment?.setup ?? {});
  const { baselines } = options as VariantsOptions;
  const baseline = await readBaseline(baselineFile(resolve(io.cwd, baselines), suite.name, model.id));
  const none = { bank: {}, placebo: null };
  if (!baseline || model.deterministic) return none;
  const compared = comparability(toComparedRun(baseline), describeRun(cases, model, { host: options.host }), {
    areAskedAnew: true,
  });
  if (compared.kind === "not comparable") return none;
  const lists = new Map(cases.map((planned) => [planned.case.id, planned.toolset.hash]));
  const usable = baseline.cases.filter(
    ({ id, toolset, trials }) => compared.cases.includes(id) && lists.get(id) === toolset && trials > 0,
  );
  const bank = Object.fromEntries(usable.map(({ id, passed, trials }) => [id, { passed, trials }]));
  return { bank, placebo: baseline.placebo ?? null };
}

/** The cases to certify. Throws a usage error if no case matches. */
function selectCases(cases: readonly string[], filters: readonly string[]): string[] {
  const found = cases.filter((id) => filters.some((filter) => matchesFilter(id, filter)));
  if (found.length > 0) return found;
  throw usageError(
    `--harm-cases: no case matches ${filters.map((filter) => `"${filter}"`).join(", ")}.`,
    `The cases that a variant touches are: ${cases.slice(0, 12).join(", ")}.`,
  );
}

/** Throws a usage error if the winner would be written over the file of its wordings, or into the result. */
export function refuseOutput(
  { output, json }: { output?: string | undefined; json: boolean },
  file: string | undefined,
  io: Io,
): void {
  if (output === "-" && json) throw usageError("--json and --output - both use standard output.", "Name a file.");
  if (output !== undefined && file !== undefined && output !== "-" && resolve(io.cwd, output) === resolve(io.cwd, file))
    throw usageError(`--output would replace the variants file "${file}".`, "Name another file.");
}

function refuseUnknown(name: string | undefined, { variants: known }: ReadVariants): void {
  if (name === undefined || known.has(name)) return;
  const hint = didYouMean(name, known.keys(), `Use one of ${[...known.keys()].join(", ")}.`);
  throw usageError(`--of: there is no variant "${name}".`, hint);
}

const changesCase = ({ getToolset }: Overlaid, planned: PlannedCase) =>
  getToolset(planned).hash !== planned.toolset.hash;
