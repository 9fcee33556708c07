import { resolve } from "node:path";
import { defined, getOrAdd } from "../../base/collections.ts";
import { type ExitCode, exitCodes, printProblem, usageError } from "../../base/types/errors.ts";
import { allDefinitions, nameExposure } from "../../base/types/exposure.ts";
import type { Io } from "../../base/types/io.ts";
import { isModelNamed, isSameModel } from "../../base/types/model.ts";
import type { Trial } from "../../base/types/trial.ts";
import { readBaseline } from "../../records/baseline.ts";
import { findRecord, type Warn } from "../../records/find.ts";
import { readTrials } from "../../records/record.ts";
import { comparisonReport } from "../reporting/experimentForms.ts";
import { printReport } from "../reporting/report.ts";
import { type ComparedRecord, compareSides } from "./report.ts";

/** A run or a baseline, with one side for each suite and model in it. `dir`: the folder of a run. */
type Recorded = {
  name: string;
  what: string;
  dir?: string;
  sides: readonly ComparedRecord[];
  notes: readonly string[];
};

export type CompareOptions = {
  base: string;
  head: string;
  suite?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  margin: number;
  out: string;
  json: boolean;
  format?: Parameters<typeof printReport>[0] | undefined;
};

/** `evals compare`: compares two records and prints the result. */
export async function compare(flags: CompareOptions, io: Io): Promise<ExitCode> {
  const { report, exitCode } = await compareRecords(flags, io);
  const form = flags.json ? "json" : (flags.format ?? "terminal");
  printReport(form, comparisonReport(report, exitCode), io);
  return exitCode;
}

/** Reads two records and compares what they have in common. Throws a usage error if that is nothing. */
export async function compareRecords(flags: Omit<CompareOptions, "json" | "format">, io: Pick<Io, "cwd" | "err">) {
  const out = resolve(io.cwd, flags.out);
  const warn = printProblem(io);
  const [base, head] = await Promise.all([
    flags.base.endsWith(".json") ? readBaselineRecord(flags.base, io) : readRunRecord(flags.base, out, warn),
    readRunRecord(flags.head, out, warn),
  ]);
  if (base.dir !== undefined && base.dir === head.dir)
    throw usageError(`Both name the run ${head.name}.`, "Name two different runs, or a baseline file and a run.");
  const wanted = ({ suite, model }: ComparedRecord) =>
    (flags.suite?.includes(suite) ?? true) && (flags.model?.some((written) => isModelNamed(written, model)) ?? true);
  const [then, now] = [base.sides.filter(wanted), head.sides.filter(wanted)];
  if (then.length === 0 || now.length === 0) throw nothingLeft(then.length === 0 ? base : head, flags);
  const pairs = pairSides(then, now);
  const settings = { margin: flags.margin, families: pairs.length };
  const comparisons = pairs.map(([a, b]) => compareSides(a, b, settings));
  const codes = comparisons.map((one) => one.exitCode);
  const exitCode = [exitCodes.failed, exitCodes.incomplete].find((code) => codes.includes(code)) ?? exitCodes.passed;
  const notes = [...base.notes, ...head.notes, ...unpaired("A", then, pairs), ...unpaired("B", now, pairs)];
  const named = ({ name, what }: Recorded) => ({ name, what });
  const report = { base: named(base), head: named(head), interleaved: false as const, comparisons, notes };
  return { report, exitCode };
}

type Pair = [ComparedRecord, ComparedRecord];

/** Pairs the suites and models that both have; if there are none, each with the nearest, to report what differs. */
function pairSides(base: readonly ComparedRecord[], head: readonly ComparedRecord[]): Pair[] {
  const isSame = (a: ComparedRecord, b: ComparedRecord) =>
    a.suite === b.suite && isSameModel(nameModel(a), nameModel(b));
  const same = head.flatMap((b) => base.filter((a) => isSame(a, b)).map((a): Pair => [a, b]));
  if (same.length > 0) return same;
  return head.flatMap((b): Pair[] => {
    const nearest = base.find((a) => a.suite === b.suite) ?? base.find((a) => a.model === b.model) ?? base[0];
    return nearest ? [[nearest, b]] : [];
  });
}

const nameModel = ({ model: id, repliedBy }: ComparedRecord) => ({ id, repliedBy });

function unpaired(name: string, sides: readonly ComparedRecord[], pairs: readonly Pair[]): string[] {
  const paired = new Set<ComparedRecord>(pairs.flat());
  return sides.filter((side) => !paired.has(side)).map(({ suite, model }) => `Only in ${name}: ${suite} on ${model}`);
}

function nothingLeft({ name, sides }: Recorded, { suite, model }: Pick<CompareOptions, "suite" | "model">) {
  const asked = [...(suite ?? []), ...(model ?? [])].join(", ");
  const known = sides.map((side) => `${side.suite} on ${side.model}`).join(", ");
  return usageError(`${name} does not contain ${asked}.`, `It contains ${known}.`);
}

async function readRunRecord(run: string, out: string, warn: Warn): Promise<Recorded> {
  if (run.endsWith(".json"))
    throw usageError(
      `"${run}" is a file, but B must be a run.`,
      "Put the baseline first: `evals compare <baseline> <run>`.",
    );
  const { dir, manifest } = await findRecord("run", run, out, warn);
  const { id, finishedAt, startedAt } = manifest;
  if (manifest.cache)
    throw usageError(
      `The run ${id} was made with --cache: it repeats replies of earlier runs, so it cannot be compared.`,
      "Run again without --cache, and compare that run.",
    );
  const makeKey = (suite: string, model: string) => JSON.stringify([suite, model]);
  const seen = new Map<string, { trials: Trial[]; repliedBy: Set<string> }>();
  for await (const { turns, ...trial } of readTrials(dir, id)) {
    const { suite, model, arm } = trial.cell;
    if (arm !== "head") continue;
    const side = getOrAdd(seen, makeKey(suite, model), () => ({ trials: [], repliedBy: new Set<string>() }));
    for (const turn of turns) if (turn.model !== undefined) side.repliedBy.add(turn.model);
    // Only scores are compared. Do not keep the replies in memory.
    side.trials.push({ ...trial, turns: [] });
  }
  const { host, harness, toolsets } = manifest;
  const sides = manifest.models.flatMap((model) => {
    const { id, settings, deterministic } = model;
    const exposure = nameExposure(model.exposures?.[0] ?? allDefinitions);
    return manifest.suites.map(({ name: suite, file, cases }): ComparedRecord => {
      const { trials = [], repliedBy = [] } = seen.get(makeKey(suite, id)) ?? {};
      const [named, ...others] = repliedBy;
      const alone = named !== undefined && others.length === 0 && { repliedBy: named };
      const common = { suite, file, model: id, settings, deterministic, host, exposure, harness, cases, toolsets };
      return { ...common, ...alone, seen: { kind: "trials", trials } };
    });
  });
  const unfinished = `The run ${id} was interrupted: only its recorded trials are compared`;
  return {
    name: id,
    what: `the run of ${startedAt.slice(0, 16).replace("T", " ")} UTC`,
    dir: resolve(dir),
    sides,
    notes: finishedAt === undefined ? [unfinished] : [],
  };
}

async function readBaselineRecord(given: string, io: Pick<Io, "cwd">): Promise<Recorded> {
  const baseline = await readBaseline(resolve(io.cwd, given));
  if (!baseline) throw usageError(`There is no baseline "${given}".`, "Write one with `evals baseline accept`.");
  const { suite, model, host, harness, cases, toolsets, exposure = allDefinitions, acceptedAt, run } = baseline;
  const { id, settings, deterministic, repliedBy } = model;
  const counts = new Map(cases.map((one) => [one.id, { passed: one.passed, trials: one.trials }]));
  const asked = { model: id, settings, deterministic, ...defined({ repliedBy }) };
  const common = { suite, host, exposure: nameExposure(exposure), harness, cases, toolsets };
  const side: ComparedRecord = { ...common, ...asked, seen: { kind: "counts", counts } };
  const what = `the baseline of ${acceptedAt.slice(0, 10)}, from the run ${run}`;
  return { name: given, what, sides: [side], notes: [] };
}
