import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import * as z from "zod";
import { listExpectedTools } from "../../asking/scoring/labels.ts";
import { labelCase } from "../../asking/scoring/userTurns.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { replaceFile } from "../../base/files/replaceFile.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { sumOf } from "../../base/sum.ts";
import { type ExitCode, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { jsonObjectSchema } from "../../base/types/json.ts";
import type { AskedModel } from "../../base/types/model.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { addCost, multiplyCost, type Trial } from "../../base/types/trial.ts";
import { readText } from "../../input/parsing/read.ts";
import type { TextChange } from "../../reports/document.ts";
import { count, integer, money, some } from "../../reports/format.ts";
import {
  type ExperimentOptions,
  type ExperimentWorkspace,
  type PlayDesign,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import type { DesignResult } from "../pipeline/pipeline.ts";
import { estimateTrialCost } from "../pipeline/price.ts";
import { recallOptions } from "../pipeline/recordedOptions.ts";
import { printReport } from "../reporting/report.ts";
import { recordExperiment } from "../reporting/reportFiles.ts";
import { findBank } from "../variants/ask.ts";
import { type Overlaid, overlay, writeOverlay } from "../variants/file.ts";
import { incumbentArm, PromptSizes, summariseVariants } from "../variants/verdict.ts";
import { openWriter } from "../workspace/models.ts";
import { writeOutput } from "../workspace/writeOutput.ts";
import { forecastLoop, improveLoop, type LoopSetup, type LoopVerdict } from "./design.ts";
import { makePatch } from "./patch.ts";
import { createGate, type LintTools, type NamedVariant, readProposals } from "./proposals.ts";
import { askWriter, Picks, promptHash } from "./propose.ts";
import { listUnproved, minHeldOut, splitCases } from "./split.ts";
import { type ImproveSummary, type ProposalRound, proposalRoundSchema, toOutcome } from "./verdict.ts";

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

/**
 * `evals improve`: searches for a better wording on train cases, proves one on held-out cases, prints the verdict, and writes
 * the winner. `lint`: the linter, by which proposals are checked.
 */
export async function improve(given: ImproveOptions, lint: LintTools, io: Io): Promise<ExitCode> {
  const recalled = await recallOptions("improve", given, io);
  const { options } = recalled;
  if (options.proposals === undefined && options.writer === undefined)
    throw usageError(
      "There is nobody to propose wordings.",
      "Name a model with --writer, or a file of wordings with --proposals.",
    );
  const opened = options.writer === undefined ? undefined : await openWriter(options.writer, options, io);
  return await withExperiment(recalled, io, async (workspace) => {
    const { splits, cases } = split(workspace, io);
    const idsOf = (half: string) => [...cases.keys()].filter((id) => splits.get(id) === half);
    const [train, heldOut] = [idsOf("train"), idsOf("held-out")];
    const fixed =
      options.proposals === undefined ? [] : await readProposals(options.proposals, io.cwd, findSkill(cases));
    const bank = await findBank([...cases.values()], workspace, io);
    const wordings = new Map<string, Overlaid>();
    const setup: LoopSetup = {
      ...{ train, heldOut, seed: workspace.seed, margin: options.margin, bank: new Map(Object.entries(bank)) },
      siblings: (wording) => train.filter((id) => isSibling(cases.get(id), wordings.get(wording))),
      rounds: opened ? options.rounds : 1,
      isDeterministic: workspace.model.deterministic,
      ...(options.harmUnsteady !== undefined && { harmUnsteady: options.harmUnsteady }),
    };
    const forecast = forecastLoop(setup, Math.max(options.wordings, fixed.length));
    announceCost(forecast, workspace, options, io);
    const search = new Search(
      { setup, cases, fixed, wanted: options.wordings, workspace, writer: opened, lint, wordings },
      io,
    );
    const prompts = new PromptSizes();
    const finished = await runExperiment<LoopVerdict>(
      workspace,
      {
        cases: [...cases.values()],
        arms: (arm) => (planned) => (arm === incumbentArm ? planned.toolset : wordings.get(arm)?.getToolset(planned)),
        design: { cap: forecast.most, run: search.run },
        setup: jsonObjectSchema.parse({
          ...{ train, heldOut, bank, margin: options.margin, rounds: setup.rounds, wordings: options.wordings },
          ...(opened && { writer: opened.id }),
          ...(fixed.length > 0 && { proposals: hash(JSON.stringify(fixed)) }),
        }),
        onTrial: (trial: Trial) => {
          prompts.add(trial);
          if (splits.get(trial.cell.case) === "train") search.picks.add(trial);
        },
      },
      io,
    );
    const loop = finished.kind === "decided" ? finished.verdict : undefined;
    const best = loop?.best ?? null;
    const proved = [...heldOut, ...(best === null ? [] : setup.siblings(best))];
    const arms = [incumbentArm, ...(best === null ? [] : [best])];
    const made = [...cases.keys()].flatMap((id) =>
      finished.record.arms(id).map((arm) => finished.record.paid(id, arm)),
    );
    const method = setup.isDeterministic ? "deterministic" : "sampled";
    const proof = summariseVariants({
      facts: finished.facts,
      outcome: loop ? toOutcome(loop, heldOut.length, options.margin, method) : { stopped: finished.stopCode },
      record: finished.record,
      margin: options.margin,
      cap: forecast.most,
      cases: proved,
      untouched: [],
      lists: new Map(arms.map((arm) => [arm, proved.map((id) => search.list(id, arm))])),
      prompts,
    });
    const summary: ImproveSummary = {
      proof: {
        ...proof,
        calls: {
          made: sumOf(made, ({ calls }) => calls),
          missing: sumOf(made, ({ missing }) => missing),
          most: forecast.most,
        },
      },
      search: {
        ...{ train, heldOut, room: [...(loop?.room ?? [])] },
        recorded: [...cases.values()].filter((planned) => planned.case.split).length,
        writer: opened ? { model: opened.id, prompt: promptHash } : null,
        rounds: search.rounds.map((round, at) => ({ ...round, screening: loop?.rounds[at]?.screening ?? [] })),
      },
    };
    const report = await recordExperiment(finished, summary, io);
    // With --output -, standard output contains only the overlay.
    const shown = options.output === "-" ? { ...io, out: io.err } : io;
    printReport(options.json ? "json" : options.format, report, shown);
    const winner = wordings.get(proof.winner ?? "");
    if (options.output !== undefined) await writeOverlay(options.output, winner, io);
    if (options.patch !== undefined && winner) await writePatch(options.patch, proof.best?.changes ?? [], options, io);
    return proof.exitCode as ExitCode;
  });
}

/** Writes the patch of the sources, and reports what it leaves to a person. */
async function writePatch(
  file: string,
  changes: readonly TextChange[],
  options: ImproveOptions,
  io: Io,
): Promise<void> {
  const { patch, left } = await makePatch(changes, [options.out, options.baselines], io);
  if (patch !== "") await writeOutput(resolve(io.cwd, file), patch, io);
  io.err(
    printableLines(patch === "" ? "No source can be patched." : `Wrote ${file}. Read it, then: git apply ${file}`),
  );
  if (left.length > 0)
    io.err(
      printableLines(
        `To change by hand, as the old text does not stand exactly once in the sources: ${some(left, 12)}.`,
      ),
    );
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** The cases, and what each is for. Throws a usage error if too few are held out; warns if none expects no tool. */
function split({ cases: all, suite }: ExperimentWorkspace, io: Io) {
  const cases = new Map(all.map((planned) => [planned.case.id, planned]));
  const labeled = all.map(({ case: one }) => ({ id: one.id, label: labelCase(one), split: one.split }));
  const splits = splitCases(suite.name, labeled);
  const heldOut = [...splits.values()].filter((one) => one === "held-out").length;
  const needed = minHeldOut - heldOut;
  if (needed > 0 || heldOut === all.length) {
    const kinds = listUnproved(labeled, splits);
    const wanted = kinds.length > 0 ? `, first of all for ${some(kinds)}` : "";
    throw usageError(
      needed > 0
        ? `Only ${count(heldOut, "case")} of "${suite.name}" ${heldOut === 1 ? "is" : "are"} held out: a proof needs at least ${minHeldOut}.`
        : `Every case of "${suite.name}" is held out, so there is none to search on.`,
      `Add ${count(2 * Math.max(1, needed), "case")}${wanted}. \`evals init --writer <model>\` drafts queries.`,
      { file: suite.file },
    );
  }
  if (!all.some(({ case: one }) => one.expect?.kind === "none" || one.expect?.kind === "avoid"))
    printProblem(io)({
      severity: "warning",
      message: `No case of "${suite.name}" expects that no tool is called, so a wording that is called too often can win.`,
      hint: "Add cases with `expect: { tool: none }`.",
      place: { file: suite.file },
    });
  return { cases, splits };
}

/** The only skill of the cases. */
function findSkill(cases: ReadonlyMap<string, PlannedCase>): string | undefined {
  const prefix = skillEntryName("");
  const tools = [...cases.values()].flatMap(({ toolset }) => toolset.tools);
  const skills = new Set(tools.flatMap(({ name, origin }) => (origin === "skill" ? [name.slice(prefix.length)] : [])));
  return skills.size === 1 ? [...skills][0] : undefined;
}

/** Whether a wording changes what a case is shown, but none of the tools that it expects. */
function isSibling(planned: PlannedCase | undefined, wording: Overlaid | undefined): boolean {
  if (!planned || !wording || wording.getToolset(planned).hash === planned.toolset.hash) return false;
  return !listExpectedTools(planned.case).some((tool) => tool in wording.variant);
}

/** Prints what the loop can cost. Throws a usage error if the budget cannot pay for a proof. */
function announceCost(
  { least, typical, most }: ReturnType<typeof forecastLoop>,
  { cases, model }: ExperimentWorkspace,
  { budget }: ImproveOptions,
  io: Io,
): void {
  const each = multiplyCost(1 / cases.length, cases.map((one) => estimateTrialCost(one, model)).reduce(addCost, 0));
  const price = (trials: number) => {
    const cost = multiplyCost(trials, each);
    return model.kind === "language model" ? ` (about ${money(cost)})` : "";
  };
  io.err(
    printableLines(
      `Typically ${count(typical, "trial")}${price(typical)} on ${model.id}, at most ${integer(most)}${price(most)}; a proof takes at least ${integer(least)}${price(least)}.`,
    ),
  );
  const needed = multiplyCost(least, each);
  if (budget !== undefined && needed !== "unknown" && needed > budget)
    throw usageError(
      `The budget of ${money(budget)} does not pay for a proof, which takes about ${money(needed)}.`,
      "Raise --budget, or run fewer cases with --case.",
    );
}

/** Everything that the search needs. */
type SearchParts = {
  setup: LoopSetup;
  cases: ReadonlyMap<string, PlannedCase>;
  fixed: readonly NamedVariant[];
  wanted: number;
  workspace: ExperimentWorkspace;
  writer: AskedModel | undefined;
  lint: LintTools;
  /** The proposals that may be asked, by the name of their arm. */
  wordings: Map<string, Overlaid>;
};

/** Runs the loop on a record. Proposals are written into its folder before they are asked, so that it can be resumed. */
class Search {
  readonly rounds: ProposalRound[] = [];
  readonly picks = new Picks();
  readonly #parts: SearchParts;
  readonly #io: Io;

  constructor(parts: SearchParts, io: Io) {
    this.#parts = parts;
    this.#io = io;
  }

  /** The list that a case is shown with a wording. */
  list(id: string, arm: string) {
    const { cases, wordings } = this.#parts;
    const planned = cases.get(id);
    return (planned && (wordings.get(arm)?.getToolset(planned) ?? planned.toolset).tools) ?? [];
  }

  readonly run = async (play: PlayDesign, dir: string): Promise<DesignResult<LoopVerdict>> => {
    const { setup, cases, workspace, lint, wordings } = this.#parts;
    const file = join(dir, "proposals.json");
    const recorded = readRounds(file);
    for (const { costUsd } of recorded) if (costUsd !== "unknown") workspace.context.limits.addSpent(costUsd);
    const gate = createGate([...cases.values()], lint, this.#io);
    let stopped: DesignResult<LoopVerdict> = { kind: "stopped", end: "cancelled" };
    const loop = await improveLoop(
      setup,
      async (design) => {
        const result = await play(design);
        if (result.kind === "decided") return result.verdict;
        stopped = result;
        return undefined;
      },
      async (round, { room, rounds: found }) => {
        const kept = recorded[round - 1];
        const made = kept ?? (await this.#makeRound(round, room, found, gate));
        if (this.#io.signal.aborted && !kept) return undefined;
        this.rounds.push(made);
        if (!kept) await this.#write(file);
        const accepted = made.proposals.filter(({ refused }) => refused === null);
        for (const { name, variant } of accepted) wordings.set(name, overlay(name, variant));
        return accepted.map(({ name }) => name);
      },
    );
    return loop ? { kind: "decided", end: "complete", verdict: loop } : stopped;
  };

  async #makeRound(
    round: number,
    room: readonly string[],
    found: LoopVerdict["rounds"],
    gate: ReturnType<typeof createGate>,
  ): Promise<ProposalRound> {
    const { cases, fixed, wanted, workspace, writer, lint } = this.#parts;
    const check = (by: string) => (one: NamedVariant) => ({ ...one, by, refused: gate(one) });
    const given = round === 1 ? fixed.map(check("file")) : [];
    if (!writer) return { proposals: given, costUsd: 0 };
    const planned = room.flatMap((id) => cases.get(id) ?? []);
    const tools = planned[0]?.toolset.tools ?? [];
    const written = await askWriter(
      workspace.context.limits.guard(writer),
      round,
      {
        ...{ room: planned, picks: this.picks, wanted },
        findings: lint(tools, undefined).map(({ tool = "", message }) => `${tool}: ${message}`),
        before: this.rounds.map(({ proposals }, at) => ({ proposals, screening: found[at]?.screening ?? [] })),
      },
      this.#io,
    );
    const { costUsd, problem } = written;
    const proposals = [...given, ...written.found.map(check(writer.id))];
    return { proposals, costUsd, ...(problem !== undefined && { problem }) };
  }

  async #write(file: string): Promise<void> {
    const { redact } = knownSecrets(this.#io.env);
    await replaceFile(resolve(file), redact(`${JSON.stringify(this.rounds, null, 2)}\n`));
  }
}

const maxRoundsBytes = 64 * 1024 * 1024;

/** The rounds of a record that is resumed; none of a new one. */
function readRounds(file: string): ProposalRound[] {
  const read = readText(file, maxRoundsBytes);
  return "kind" in read ? [] : z.array(proposalRoundSchema).parse(JSON.parse(read.text));
}
