import { resolve } from "node:path";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { variantsReport } from "../reports/variants.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { nearest } from "../types/nearest.ts";
import { incumbent } from "../verdicts/design.ts";
import { type CertainVerdict, deterministicVariants } from "../verdicts/variants/deterministic.ts";
import { PromptSizes, summariseVariants } from "../verdicts/variants/summary.ts";
import { variants as sampledVariants } from "../verdicts/variants/variants.ts";
import type { VariantVerdict } from "../verdicts/variants/verdict.ts";
import {
  decidingFlags,
  type ExperimentFlags,
  type ExperimentPlan,
  factsOf,
  type ListOf,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import { layOver, type Overlaid, type ReadVariants, readVariants, writePatch } from "./overlay.ts";

type Verdict = VariantVerdict | CertainVerdict;

export type VariantsOptions = ExperimentFlags & {
  file: string;
  path?: string | undefined;
  write?: string | undefined;
  of?: string | undefined;
  margin: number;
  json: boolean;
};

/** `evals variants`: lays the wordings over the live list, asks, decides, prints, and writes the winner if asked to. */
export async function variants(flags: VariantsOptions, io: Io): Promise<ExitCode> {
  refuseFlags(flags, io);
  const file = await readVariants(flags.file, io.cwd);
  refuseUnknown(flags.of, file);
  const paths = flags.path === undefined ? [] : [flags.path];
  return await withBench("variants", { ...flags, paths }, io, async (bench) => {
    const overlaid = layOver(file, bench.prepared.cases);
    const touched = bench.prepared.cases.filter((planned) => overlaid.some((one) => touches(one, planned)));
    const setup = {
      cases: touched.map((planned) => planned.case.id),
      challengers: overlaid.map(({ name }) => name),
      margin: flags.margin,
    };
    const arms = new Map<string, ListOf>([
      [incumbent, ({ toolset }) => toolset],
      ...overlaid.map(({ name, listOf }) => [name, listOf] as const),
    ]);
    const prompts = new PromptSizes();
    const plan: ExperimentPlan<Verdict> = {
      command: "variants",
      arms,
      design: bench.model.deterministic ? deterministicVariants(setup) : sampledVariants(setup),
      setup,
      flags: decidingFlags(flags),
      onTrial: (trial) => prompts.add(trial),
    };
    const performed = await performExperiment(bench, plan, flags, io);
    const summary = summariseVariants({
      facts: factsOf(bench, performed),
      verdict: performed.kind === "decided" ? performed.verdict : { stopped: stoppedExitCode(performed.end, io) },
      evidence: performed.evidence,
      margin: flags.margin,
      cases: setup.cases,
      untouched: bench.prepared.cases.filter((one) => !touched.includes(one)).map((one) => one.case.id),
      lists: new Map([...arms].map(([name, listOf]) => [name, touched.map((one) => listOf(one)?.tools ?? [])])),
      prompts,
    });
    const chosen = overlaid.find(({ name }) => name === (flags.of ?? summary.winner));
    const unwritten = flags.write !== undefined && !chosen && summary.exitCode === exitCodes.passed;
    const told = { ...summary, exitCode: unwritten ? exitCodes.failed : summary.exitCode };
    // Standard output is the overlay's alone when it goes there.
    const print = flags.write === "-" ? io.err : io.out;
    print(flags.json ? `${JSON.stringify(told)}\n` : variantsReport(told, io));
    if (flags.write !== undefined) await writePatch(flags.write, chosen, io);
    return told.exitCode as ExitCode;
  });
}

/** Refuses flags that mean nothing, or contradict each other, before anything is asked. */
function refuseFlags({ write, of, file, json }: VariantsOptions, io: Io): void {
  if (write === undefined && of !== undefined) throw usageError("--of says which variant to write", "Add --write.");
  if (write === "-" && json) throw usageError("--json and --write - both want standard output", "Name a file.");
  if (write !== undefined && write !== "-" && resolve(io.cwd, write) === resolve(io.cwd, file))
    throw usageError(`--write would replace the variants file ${file}`, "Name another file.");
}

function refuseUnknown(name: string | undefined, { variants: known }: ReadVariants): void {
  if (name === undefined || known.has(name)) return;
  const near = nearest(name, known.keys());
  const hint = near === undefined ? `There are ${[...known.keys()].join(", ")}.` : `Did you mean ${near}?`;
  throw usageError(`--of: there is no variant ${name}`, hint);
}

const touches = ({ listOf }: Overlaid, planned: PlannedCase) => listOf(planned).hash !== planned.toolset.hash;
