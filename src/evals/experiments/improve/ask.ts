import { hash } from "node:crypto";
import { resolve } from "node:path";
import { sumOf } from "../../base/collections.ts";
import { writeOutput } from "../../base/files/files.ts";
import { printableLines } from "../../base/text/display.ts";
import { type ExitCode, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { jsonObjectSchema } from "../../base/types/json.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import type { TextChange } from "../../reports/document.ts";
import { count, some } from "../../reports/format.ts";
import { defaultMargin } from "../design/statistics.ts";
import { type ExperimentOptions, type ExperimentRun, runExperiment, withExperiment } from "../pipeline/experiment.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport, recordExperiment } from "../reporting/report.ts";
import { findBank, type Overlaid, refuseOutput, writeOverlay } from "../variants/ask.ts";
import { incumbentArm, summarizeVariants, type VariantsResult } from "../variants/verdict.ts";
import { listTrackedFiles } from "../workspace/git.ts";
import { openWriter } from "../workspace/models.ts";
import { forecastLoop, type LoopSetup, type LoopVerdict } from "./design.ts";
import { makePatch } from "./patch.ts";
import { announceCost, expectsNothing, isSibling, listSubjects, splitSuite } from "./plan.ts";
import { createGate, type LintTools, type NamedVariant, readProposals } from "./proposals.ts";
import { promptHash } from "./propose.ts";
import { recordSplits } from "./recordSplits.ts";
import { createSearch } from "./search.ts";
import { type ImproveSummary, type ProposalRound, toOutcome } from "./verdict.ts";

export type ImproveOptions = ExperimentOptions & {
  proposals?: string | undefined;
  writer?: string | undefined;
  rounds: number;
  wordings: number;
  margin: number;
  baselines: string;
  harmUnsteady?: number | undefined;
  output?: string | undefined;
  patch?: string | undefined;
  format: "terminal" | "markdown";
  json: boolean;
};

/** `evals improve`: searches a wording on train cases, and proves it on held-out ones. `lint`: checks proposals. */
export async function improve(given: ImproveOptions, lint: LintTools, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("improve", given, io);
  const { options } = recalled;
  if (options.proposals === undefined && options.writer === undefined)
    throw usageError(
      "No source of wordings is named.",
      "Name a model that proposes some with --writer, or a file of them with --proposals.",
    );
  refuseOutput(options, options.proposals, io);
  if (options.patch !== undefined && (await listTrackedFiles(io)).length === 0)
    throw usageError("--patch is about files that git tracks, and there are none here.", "Use --output instead.");
  const listProposals = options.proposals === undefined ? undefined : await readProposals(options.proposals, io.cwd);
  const opened = options.writer === undefined ? undefined : await openWriter(options.writer, options, io);
  return await withExperiment(recalled, io, async (workspace) => {
    const { splits, cases } = splitSuite(workspace, io);
    const recorded = await recordSplits(workspace.suite.file, splits, [...cases.values()], io);
    const idsOf = (half: string) => [...cases.keys()].filter((id) => splits.get(id) === half);
    const [train, heldOut] = [idsOf("train"), idsOf("held-out")];
    const fixed = listProposals?.(listSubjects(cases)) ?? [];
    if (!opened) refuseAll(fixed, createGate([...cases.values()], lint, io));
    const { bank, placebo } = await findBank([...cases.values()], workspace, io);
    const wordings = new Map<string, Overlaid>();
    const setup: LoopSetup = {
      train,
      heldOut,
      seed: workspace.seed,
      margin: options.margin,
      bank: new Map(Object.entries(bank)),
      guards: train.filter((id) => [cases.get(id) ?? []].flat().some(expectsNothing)),
      siblings: (wording) => train.filter((id) => isSibling(cases.get(id), wordings.get(wording))),
      rounds: opened ? options.rounds : 1,
      isDeterministic: workspace.model.deterministic,
      ...(options.harmUnsteady !== undefined && { harmUnsteady: options.harmUnsteady }),
    };
    const forecast = forecastLoop(setup, Math.max(options.wordings, fixed.length));
    const asked = opened && `up to ${count(setup.rounds, "request")} to ${opened.id} for wordings`;
    announceCost(forecast, workspace, { budget: options.budget, writer: asked }, io);
    const search = createSearch(
      { setup, cases, fixed, wanted: options.wordings, workspace, writer: opened, lint, wordings },
      io,
    );
    const finished = await runExperiment<LoopVerdict>(
      workspace,
      {
        cases: [...cases.values()],
        arms: (arm) => (planned) => (arm === incumbentArm ? planned.toolset : wordings.get(arm)?.getToolset(planned)),
        design: { cap: forecast.most, run: search.run },
        setup: jsonObjectSchema.parse({
          train,
          heldOut,
          bank,
          placebo,
          margin: options.margin,
          wordings: options.wordings,
          rounds: setup.rounds,
          ...(opened && { writer: opened.id }),
          ...(fixed.length > 0 && { proposals: hash("sha256", JSON.stringify(fixed)) }),
        }),
        onTrial: (trial: Trial) => {
          if (splits.get(trial.cell.case) === "train") search.picks.add(trial);
        },
      },
      io,
    );
    const list = (id: string, arm: string) => {
      const planned = cases.get(id);
      return (planned && (wordings.get(arm)?.getToolset(planned) ?? planned.toolset).tools) ?? [];
    };
    const found = { setup, placebo, recorded, writer: opened?.id, most: forecast.most };
    const summary = summarize(finished, { rounds: search.rounds, list, ...found });
    const report = await recordExperiment(finished, summary, io);
    // With --output -, standard output contains only the overlay.
    const shown = options.output === "-" ? { ...io, out: io.err } : io;
    printReport(options.json ? "json" : options.format, report, shown);
    const { winner, best, exitCode } = summary.proof;
    const won = wordings.get(winner ?? "");
    if (options.output !== undefined && won) await writeOverlay(options.output, won, io);
    if (options.patch !== undefined && won) await writePatch(options.patch, best?.changes ?? [], options, io);
    if (!won && (options.output ?? options.patch) !== undefined) io.err("No wording won, so nothing was written.\n");
    return exitCode as ExitCode;
  });
}

function refuseAll(fixed: readonly NamedVariant[], gate: ReturnType<typeof createGate>): void {
  const refusals = fixed.map((one) => ({ name: one.name, why: gate(one) }));
  if (refusals.some(({ why }) => why === null)) return;
  const reasons = some(refusals.map(({ name, why }) => `${name}: ${why}`));
  throw usageError("Every proposal is refused, so there is nothing to search.", reasons);
}

function summarize(
  finished: ExperimentRun<LoopVerdict>,
  asked: Pick<VariantsResult, "placebo"> & {
    setup: LoopSetup;
    rounds: readonly ProposalRound[];
    /** The tools that a case is shown with a wording. */
    list(id: string, arm: string): readonly OfferedTool[];
    recorded: number;
    writer: string | undefined;
    most: number;
  },
): ImproveSummary {
  const { setup, rounds, list, placebo, recorded, writer, most } = asked;
  const { train, heldOut, margin = defaultMargin } = setup;
  const { facts, record } = finished;
  const loop = finished.kind === "decided" ? finished.verdict : undefined;
  const best = loop?.best ?? null;
  const proved = [...heldOut, ...(best === null ? [] : setup.siblings(best))];
  const paid = [...train, ...heldOut].flatMap((id) => record.arms(id).map((arm) => record.paid(id, arm)));
  const made = sumOf(paid, ({ calls }) => calls);
  const proof = summarizeVariants({
    facts,
    record,
    margin,
    placebo,
    cap: most,
    cases: proved,
    notAsked: [],
    outcome: loop ? toOutcome(loop, setup) : { stopped: finished.stopCode },
    lists: new Map(
      [incumbentArm, ...(best === null ? [] : [best])].map((arm) => [arm, proved.map((id) => list(id, arm))]),
    ),
  });
  return {
    proof: { ...proof, calls: { made, missing: sumOf(paid, ({ missing }) => missing), most } },
    search: {
      train: [...train],
      heldOut: [...heldOut],
      room: loop ? [...loop.room] : null,
      recorded,
      writer: writer === undefined ? null : { model: writer, prompt: promptHash },
      rounds: rounds.map((round, at) => ({ ...round, screening: loop?.rounds[at] ?? [] })),
    },
  };
}

async function writePatch(file: string, changes: readonly TextChange[], options: ImproveOptions, io: Io) {
  const { patch, left } = await makePatch(changes, [options.out, options.baselines], io);
  if (patch !== "") await writeOutput(resolve(io.cwd, file), patch, io);
  const byHand = `To change by hand, as the old text does not stand exactly once in the sources, or the new one needs quotes: ${some(left, 12)}.`;
  const lines = [
    ...patch.split("\n").slice(0, -1),
    patch === "" ? "No source can be patched." : `Wrote ${file}. Read it, then: git apply ${file}`,
    ...(left.length > 0 ? [byHand] : []),
  ];
  io.err(printableLines(...lines));
}
