import { resolve } from "node:path";
import { listChanges } from "../changes/lists.ts";
import type { VariantsFlags } from "../commands/variants.ts";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { variantsReport } from "../reports/variants.ts";
import { comparable } from "../stats/counts.ts";
import { wilson } from "../stats/intervals.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { nearest } from "../types/nearest.ts";
import type { Toolset } from "../types/tool.ts";
import type { Trial } from "../types/trial.ts";
import type { VariantsSummary, WordingSummary } from "../types/variants.ts";
import { incumbent } from "../verdicts/design.ts";
import { madeTrials } from "../verdicts/evidence.ts";
import { type CertainVerdict, deterministicVariants } from "../verdicts/variants/deterministic.ts";
import type { Trialled } from "../verdicts/variants/trial.ts";
import { variants as sampledVariants } from "../verdicts/variants/variants.ts";
import { standingOf, type VariantVerdict } from "../verdicts/variants/verdict.ts";
import { plural } from "../verdicts/words.ts";
import {
  type Arms,
  type Bench,
  decidingFlags,
  type ExperimentPlan,
  type Performed,
  performExperiment,
  stoppedExitCode,
  withBench,
} from "./experiment.ts";
import { layOver, type Overlaid, type ReadVariants, readVariants, writePatch } from "./overlay.ts";

type Verdict = VariantVerdict | CertainVerdict;

/** `evals variants`: lays the wordings over the live list, asks, decides, prints, and writes the winner if asked to. */
export async function variants(flags: VariantsFlags, io: Io): Promise<ExitCode> {
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
    const arms: Arms = new Map([
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
    const summary = summaryOf({ bench, overlaid, touched, margin: flags.margin, performed, prompts }, io);
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
function refuseFlags({ write, of, file, json, margin }: VariantsFlags, io: Io): void {
  if (!(margin > 0 && margin <= 1)) throw usageError("--margin must be above 0 and at most 1", "0.1 is 10 points.");
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

/** Input tokens of the first request of each trial, by arm: the list, and what is asked beside it. */
class PromptSizes {
  readonly #arms = new Map<string, { sum: number; trials: number }>();

  add({ cell, turns: [first] }: Trial): void {
    if (!first) return;
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = first.usage;
    const known = this.#arms.get(cell.arm) ?? { sum: 0, trials: 0 };
    const sum = known.sum + inputTokens + cacheReadTokens + cacheWriteTokens;
    this.#arms.set(cell.arm, { sum, trials: known.trials + 1 });
  }

  /** The mean of an arm; 0 where nothing was reported. */
  mean(arm: string): number {
    const { sum, trials } = this.#arms.get(arm) ?? { sum: 0, trials: 1 };
    return sum / trials;
  }
}

type Parts = {
  bench: Bench;
  overlaid: readonly Overlaid[];
  touched: readonly PlannedCase[];
  margin: number;
  performed: Performed<Verdict>;
  prompts: PromptSizes;
};

function summaryOf(parts: Parts, io: Io): VariantsSummary {
  const { bench, overlaid, touched, margin, performed } = parts;
  const { evidence, manifest } = performed;
  const verdict = performed.kind === "decided" ? performed.verdict : undefined;
  const cases = touched.map((planned) => planned.case.id);
  const spent = [incumbent, ...overlaid.map(({ name }) => name)].map((arm) => madeTrials(evidence, cases, arm));
  const best = verdict?.best;
  return {
    run: manifest.id,
    dir: performed.dir,
    suite: bench.suite.name,
    model: bench.model.id,
    note: bench.model.note ?? null,
    kind: verdict?.kind ?? "inconclusive",
    headline: verdict ? headlineOf(verdict) : "INCONCLUSIVE: stopped before the verdict",
    reason: verdict?.reason ?? "what was asked so far is on the record",
    method: verdict?.method ?? null,
    margin,
    winner: verdict?.winner ?? null,
    wordings: wordingsOf(parts, verdict),
    best: best ? bestOf(best, touched, overlaid) : null,
    rounds: verdict?.rounds ?? [],
    untouched: bench.prepared.cases.filter((one) => !touched.includes(one)).map((one) => one.case.id),
    cases: cases.length,
    calls: {
      made: spent.reduce((sum, one) => sum + one.made, 0),
      broken: spent.reduce((sum, one) => sum + one.broken, 0),
      saved: verdict?.calls.saved ?? 0,
    },
    costUsd: manifest.totals?.costUsd ?? "unknown",
    exitCode: performed.kind === "stopped" ? stoppedExitCode(performed.end, io) : exitCodeOf(performed.verdict),
  };
}

function headlineOf({ kind, winner, furtherTrials }: Verdict): string {
  if (kind === "adopt") return `ADOPT ${winner}`;
  if (kind === "keep") return "KEEP the incumbent";
  if (furtherTrials === undefined) return "INCONCLUSIVE";
  return `INCONCLUSIVE: ${plural(furtherTrials, "more trial")} per case and wording would settle it`;
}

/** An open verdict on scored trials is no alarm; one for want of scored trials is never a pass. */
function exitCodeOf({ kind, best }: Verdict): ExitCode {
  const scored = best !== undefined && comparable(best.counts).length === best.counts.length;
  return kind === "inconclusive" && !scored ? exitCodes.incomplete : exitCodes.passed;
}

function wordingsOf({ overlaid, touched, performed, prompts }: Parts, verdict: Verdict | undefined): WordingSummary[] {
  const ids = touched.map((planned) => planned.case.id);
  const current = { name: incumbent, listOf: ({ toolset }: PlannedCase): Toolset => toolset };
  const wordings = [current, ...overlaid];
  // Tokens and bytes cannot be compared, so it is tokens for all or for none.
  const measured = wordings.every(({ name }) => prompts.mean(name) > 0);
  return wordings.map(({ name, listOf }) => {
    const { passed, trials } = standingOf(performed.evidence, ids, name);
    const test = verdict?.tests.find((one) => one.variant === name);
    const bytes = touched.reduce((sum, planned) => sum + bytesOf(listOf(planned)), 0) / touched.length;
    return {
      name,
      passed,
      trials,
      interval: wilson({ passed, trials }) ?? null,
      size: measured ? { kind: "tokens", mean: prompts.mean(name) } : { kind: "bytes", mean: bytes },
      test: test ? testOf(test, verdict?.method === "deterministic") : null,
    };
  });
}

/** What a model is sent of a list. */
function bytesOf({ tools }: Toolset): number {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return Buffer.byteLength(JSON.stringify(shown));
}

function testOf({ gain, adjusted, harm, flipped }: Trialled, certain: boolean): WordingSummary["test"] {
  const lost = flipped.filter(({ direction }) => direction === "broken").map((one) => one.case);
  return {
    gain:
      gain.kind === "estimated" ? { change: gain.change, interval: certain ? null : [gain.lower, gain.upper] } : null,
    p: certain ? null : adjusted,
    harmed: certain ? lost.length > 0 : harm.harmed,
    harms: certain ? lost : harm.harmed ? harm.cases : [],
  };
}

function bestOf(
  { variant, flipped }: Trialled,
  touched: readonly PlannedCase[],
  overlaid: readonly Overlaid[],
): VariantsSummary["best"] {
  const wording = overlaid.find(({ name }) => name === variant);
  const changes = touched.flatMap((one) => listChanges(one.toolset.tools, wording?.listOf(one).tools ?? []));
  const texts = changes.map(({ label, before, after }) => {
    return { label, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  });
  return {
    name: variant,
    flipped: flipped.map(({ case: id, direction, base, head }) => {
      return { case: id, direction, incumbent: base, challenger: head };
    }),
    changes: [...new Map(texts.map((change) => [change.label, change])).values()],
  };
}
