import { resolve } from "node:path";
import * as z from "zod";
import { countRequests, type PlannedCase } from "../../asking/trials/plan.ts";
import { getOrAdd } from "../../base/collections.ts";
import { writeOutput } from "../../base/files/files.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { printableLines } from "../../base/text/display.ts";
import { countsSchema, type PlaceboResult, placeboSchema, toComparedRun } from "../../base/types/check.ts";
import { EvalsError, type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from "../../base/types/json.ts";
import type { Toolset } from "../../base/types/tool.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { explain, locateProblem, type PathProblem, reportType } from "../../input/suites/explain.ts";
import { baselineFile, readBaseline } from "../../records/baseline.ts";
import {
  applyVariant,
  checkVariant,
  replacementSchema,
  reservedVariants,
  rewordingSchema,
  type Variant,
  type VariantsFile,
  variantsFileSchema,
} from "../../servers/overlay.ts";
import { createToolset } from "../../servers/toolList.ts";
import { comparability, describeRun } from "../design/comparable.ts";
import {
  type ExperimentOptions,
  type ExperimentWorkspace,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport, recordExperiment } from "../reporting/report.ts";
import { matchesFilter } from "../workspace/suites.ts";
import { chooseDesign } from "./design.ts";
import { incumbentArm, summarizeVariants } from "./verdict.ts";

/** The variants of a file by name, in file order. `refuse` throws the given problems with their places, if any. */
export type ReadVariants = { variants: ReadonlyMap<string, Variant>; refuse(problems: readonly PathProblem[]): void };

/** A variant. `getToolset` returns the list of a case with the variant applied. */
export type Overlaid = { name: string; variant: Variant; getToolset(planned: Pick<PlannedCase, "toolset">): Toolset };

const exampleHint = "Write variants: { <name>: { <tool>: <its description> } }.";

/** Reads a variants file, YAML or JSON. Throws EvalsError with the place of everything in it that is malformed. */
export async function readVariants(file: string, cwd: string): Promise<ReadVariants> {
  const parsed = await readParsed(resolve(cwd, file), file);
  if (!isJsonObject(parsed.value)) throw usageError("This is not a variants file.", exampleHint, parsed.location([]));
  const refuse: ReadVariants["refuse"] = (found) => {
    const problems = [...parsed.problems, ...found.map((problem) => locateProblem(problem, parsed))];
    if (problems.length > 0) throw new EvalsError(problems);
  };
  refuse(checkForm(parsed.value));
  const { variants } = variantsFileSchema.parse(parsed.value);
  refuse(checkNames(Object.keys(variants)));
  return { variants: new Map(Object.entries(variants)), refuse };
}

/** Checks each change against the form that its author intended, so that messages refer to that form. */
function checkForm(value: JsonObject): PathProblem[] {
  const { variants, ...rest } = value;
  if (!isJsonObject(variants)) return explain(variantsFileSchema, value);
  return [
    ...explain(variantsFileSchema, { ...rest, variants: {} }),
    ...Object.entries(variants).flatMap(([name, variant]) => {
      const path = ["variants", name];
      if (!isJsonObject(variant)) return reportType(path, "an object", variant, exampleHint);
      return Object.entries(variant).flatMap(([tool, change]) => checkChange(change, [...path, tool]));
    }),
  ];
}

function checkChange(change: Json, path: readonly string[]): PathProblem[] {
  if (typeof change === "string") return [];
  if (isJsonObject(change)) return explain("tool" in change ? replacementSchema : rewordingSchema, change, path);
  const hint = 'Give a description, or an object with "description", "parameters" or "tool".';
  return reportType(path, "text or an object", change, hint);
}

function checkNames(names: readonly string[]): PathProblem[] {
  if (names.length === 0)
    return [{ path: ["variants"], part: "key", message: "There are no variants.", hint: exampleHint }];
  return names.flatMap((name): PathProblem[] => {
    const path = ["variants", name];
    if (name.trim() === "") return [{ path, part: "key", message: "A variant has no name.", hint: "Name it." }];
    if (!reservedVariants.has(name)) return [];
    const hint = `Use another name: ${[...reservedVariants].join(", ")} are reserved.`;
    return [{ path, part: "key", message: `A variant cannot be named "${name}".`, hint }];
  });
}

/** Applies each variant. Throws EvalsError with the place of unknown names, and of variants that change nothing. */
export function applyVariants({ variants, refuse }: ReadVariants, cases: readonly PlannedCase[]): Overlaid[] {
  const lists = [...new Map(cases.map(({ toolset }) => [toolset.hash, toolset])).values()];
  const tools = lists.map((list) => list.tools);
  refuse(
    [...variants].flatMap(([name, variant]) =>
      checkVariant(tools, variant).map((problem): PathProblem => {
        return { ...problem, path: ["variants", name, ...problem.path], part: "key" };
      }),
    ),
  );
  const overlaid = [...variants].map(([name, variant]) => {
    const one = overlay(name, variant);
    return { ...one, hashes: lists.map((list) => one.getToolset({ toolset: list }).hash).join() };
  });
  const seen = new Map([[lists.map(({ hash }) => hash).join(), "changes nothing"]]);
  refuse(
    overlaid.flatMap(({ name, hashes }): PathProblem[] => {
      const same = seen.get(hashes);
      if (same === undefined) seen.set(hashes, `equals "${name}"`);
      const message = `The variant "${name}" ${same}.`;
      const hint = "Change its wording, or remove it.";
      return same === undefined ? [] : [{ path: ["variants", name], part: "key", message, hint }];
    }),
  );
  return overlaid;
}

/** Lays a variant over lists. Equal lists share the result, so it is computed once. */
export function overlay(name: string, variant: Variant): Overlaid {
  const made = new Map<string, Toolset>();
  const getToolset: Overlaid["getToolset"] = ({ toolset }) =>
    getOrAdd(made, toolset.hash, () => createToolset(applyVariant(toolset.tools, variant)));
  return { name, variant, getToolset };
}

/** Writes one variant as a variants file, or prints it. Reports if there is none to write. */
export async function writeOverlay(target: string, chosen: Overlaid | undefined, io: Io): Promise<void> {
  if (!chosen) {
    io.err("No wording won, so no variants file was written.\n");
    return;
  }
  const patch: VariantsFile = { variants: { [chosen.name]: chosen.variant } };
  const text = `${JSON.stringify(patch, null, 2)}\n`;
  if (target === "-") {
    io.out(text);
    return;
  }
  await writeOutput(resolve(io.cwd, target), text, io);
  io.err(printableLines(`Wrote ${chosen.name} to ${target}.`));
}

export type VariantsOptions = ExperimentOptions & {
  file?: string | undefined;
  output?: string | undefined;
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
  if (path === undefined) throw usageError("There is no variants file.", "Give its path: `evals variants <file>`.");
  refuseOutput(options, path, io);
  const file = await readVariants(path, io.cwd);
  return await withExperiment(recalled, io, async (workspace) => {
    const overlaid = applyVariants(file, workspace.cases);
    const touched = workspace.cases.filter((planned) =>
      overlaid.some(({ getToolset }) => getToolset(planned).hash !== planned.toolset.hash),
    );
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
    const arms = new Map<string, Overlaid["getToolset"]>([
      [incumbentArm, ({ toolset }) => toolset],
      ...overlaid.map(({ name, getToolset }) => [name, getToolset] as const),
    ]);
    const bank = new Map(Object.entries(known));
    const requests = countRequests(touched, (planned) => [...arms.values()].map((list) => list(planned).tools));
    const design = chooseDesign({ ...setup, bank, ...requests }, workspace.model.deterministic);
    const { seed: _, ...rest } = setup;
    const asked = {
      cases: touched,
      arms,
      design,
      setup: jsonObjectSchema.parse(JSON.parse(JSON.stringify(rest))),
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
      lists: new Map([...arms].map(([name, getToolset]) => [name, touched.map((one) => getToolset(one).tools)])),
    });
    const chosen = overlaid.find(({ name }) => name === summary.winner);
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
  bank: z.record(z.string(), countsSchema).default({}),
  placebo: placeboSchema.nullable().default(null),
});

/**
 * Reads the counts of the current wording from a comparable baseline, of cases that are unchanged and shown the same
 * list now, and what harmless edits did. A resumed record keeps what it started with.
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
  const compared = comparability(toComparedRun(baseline), describeRun(cases, model, { host: options.host }));
  if (compared.kind === "not comparable") return none;
  const lists = new Map(cases.map((planned) => [planned.case.id, planned.toolset.hash]));
  const usable = baseline.cases.filter(
    ({ id, toolset, trials }) => compared.cases.includes(id) && lists.get(id) === toolset && trials > 0,
  );
  const bank = Object.fromEntries(usable.map(({ id, passed, trials }) => [id, { passed, trials }]));
  return { bank, placebo: baseline.placebo ?? null };
}

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
