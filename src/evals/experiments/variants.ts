import { resolve } from "node:path";
import { safeJson } from "../reports/escape.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { variantsDocument, variantsJson } from "../reports/variants.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { nearest } from "../types/nearest.ts";
import { incumbent } from "../verdicts/design.ts";
import {
  type DeterministicVerdict,
  deterministicVariants,
  variants as sampledVariants,
} from "../verdicts/variants/designs.ts";
import { PromptSizes, summariseVariants } from "../verdicts/variants/summary.ts";
import type { VariantVerdict } from "../verdicts/variants/verdict.ts";
import {
  describeExperiment,
  type ExperimentOptions,
  type ExperimentSpec,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import type { ListOf } from "./pipeline.ts";
import { recallOptions } from "./recordedOptions.ts";
import { applyVariants, type Overlaid, type ReadVariants, readVariants, writeOverlay } from "./variantsFile.ts";

type Verdict = VariantVerdict | DeterministicVerdict;

export type VariantsOptions = ExperimentOptions & {
  file?: string | undefined;
  write?: string | undefined;
  of?: string | undefined;
  margin: number;
  json: boolean;
};

/** `evals variants`: applies the wordings to the live tools, tests them, prints the verdict, and writes the winner. */
export async function variants(given: VariantsOptions, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("variants", given, io.cwd);
  const { options } = recalled;
  const path = options.file;
  if (path === undefined) throw usageError("There is no variants file.", "Give its path: evals variants <file>.");
  refuseFlags({ ...options, file: path }, io);
  const file = await readVariants(path, io.cwd);
  refuseUnknown(options.of, file);
  return await withBench(recalled, io, async (bench) => {
    const overlaid = applyVariants(file, bench.cases);
    const touched = bench.cases.filter((planned) => overlaid.some((one) => changesCase(one, planned)));
    const setup = {
      cases: touched.map((planned) => planned.case.id),
      challengers: overlaid.map(({ name }) => name),
      margin: options.margin,
    };
    const arms = new Map<string, ListOf>([
      [incumbent, ({ toolset }) => toolset],
      ...overlaid.map(({ name, listOf }) => [name, listOf] as const),
    ]);
    const prompts = new PromptSizes();
    const question: ExperimentSpec<Verdict> = {
      cases: bench.cases,
      arms,
      design: bench.model.deterministic ? deterministicVariants(setup) : sampledVariants(setup),
      setup,
      onTrial: (trial) => prompts.add(trial),
    };
    const performed = await performExperiment(bench, question, io);
    const summary = summariseVariants({
      facts: describeExperiment(bench, performed),
      verdict: performed.kind === "decided" ? performed.verdict : { stopped: stoppedExitCode(performed.end, io) },
      evidence: performed.evidence,
      margin: options.margin,
      cases: setup.cases,
      untouched: bench.cases.filter((one) => !touched.includes(one)).map((one) => one.case.id),
      lists: new Map([...arms].map(([name, listOf]) => [name, touched.map((one) => listOf(one)?.tools ?? [])])),
      prompts,
    });
    const chosen = overlaid.find(({ name }) => name === (options.of ?? summary.winner));
    const unwritten = options.write !== undefined && !chosen && summary.exitCode === exitCodes.passed;
    const result = { ...summary, exitCode: unwritten ? exitCodes.failed : summary.exitCode };
    // Standard output is the overlay's alone when it goes there.
    const print = options.write === "-" ? io.err : io.out;
    print(options.json ? safeJson(variantsJson(result)) : renderTerminal(variantsDocument(result), io));
    if (options.write !== undefined) await writeOverlay(options.write, chosen, io);
    return result.exitCode as ExitCode;
  });
}

/** Refuses flags that contradict each other, before any model call. */
function refuseFlags({ write, of, file, json }: VariantsOptions & { file: string }, io: Io): void {
  if (write === undefined && of !== undefined) throw usageError("--of has no effect without --write.", "Add --write.");
  if (write === "-" && json) throw usageError("--json and --write - both use standard output.", "Name a file.");
  if (write !== undefined && write !== "-" && resolve(io.cwd, write) === resolve(io.cwd, file))
    throw usageError(`--write would replace the variants file "${file}".`, "Name another file.");
}

function refuseUnknown(name: string | undefined, { variants: known }: ReadVariants): void {
  if (name === undefined || known.has(name)) return;
  const near = nearest(name, known.keys());
  const hint = near === undefined ? `Use one of ${[...known.keys()].join(", ")}.` : `Did you mean "${near}"?`;
  throw usageError(`--of: there is no variant "${name}".`, hint);
}

const changesCase = ({ listOf }: Overlaid, planned: PlannedCase) => listOf(planned).hash !== planned.toolset.hash;
