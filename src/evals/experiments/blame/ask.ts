import { join, resolve } from "node:path";
import { countPasses, TrialRecord } from "../../asking/trials/design.ts";
import { countRequests, type PlannedCase } from "../../asking/trials/plan.ts";
import { defined } from "../../base/collections.ts";
import { findRanker } from "../../base/search/rankers.ts";
import { rate } from "../../base/stats/counts.ts";
import { printableLines } from "../../base/text/display.ts";
import type { ComparedCheck, ComparePlan } from "../../base/types/check.ts";
import { EvalsError, type ExitCode, exitCodes, printProblem, usageError } from "../../base/types/errors.ts";
import { allDefinitions, type Exposure, nameExposure } from "../../base/types/exposure.ts";
import type { Io } from "../../base/types/io.ts";
import { isModelNamed } from "../../base/types/model.ts";
import type { ManifestSuite, RunManifest } from "../../base/types/run.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import { findRecord, listRecords } from "../../records/find.ts";
import { some } from "../../reports/format.ts";
import { renderMarkdown } from "../../reports/markdown.ts";
import { printJson } from "../../reports/result.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { listChanges, pickTexts, type ToolChange } from "../../servers/changes/changes.ts";
import { applyChanges } from "../../servers/changes/edits.ts";
import { createToolset } from "../../servers/toolList.ts";
import { type ComparedRun, comparability, describeRun } from "../design/comparable.ts";
import {
  type ExperimentOptions,
  type ExperimentWorkspace,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import type { AskOptions } from "../pipeline/pipeline.ts";
import { type OpenRecord, readResults } from "../pipeline/record.ts";
import { type RecordedOptions, type Resumed, readRecorded, recallOptions } from "../pipeline/recordedOptions.ts";
import { recordExperiment } from "../reporting/report.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { blameCases, type CaseToBlame } from "./design.ts";
import { blameDocument, blameJson } from "./report.ts";
import { maskOfArm } from "./sampled.ts";
import { type BlameReport, blameExitCode, summarizeBlame } from "./verdict.ts";

export type BlameOptions = RequestOptions &
  AskOptions & {
    run?: string | undefined;
    case?: readonly string[] | undefined;
    suite?: string | undefined;
    model?: string | undefined;
    seed?: number | undefined;
    resume?: string | undefined;
    json: boolean;
  };

type BlameResult = { blames: readonly BlameReport[]; exitCode: ExitCode };

/** `evals blame`: finds and prints the changes that broke cases. */
export async function blame(given: BlameOptions, io: Io): Promise<ExitCode> {
  const { options, resumed } = await recallOptions("blame", given, io);
  const questions = await findRunQuestions(options.run ?? "latest", options, io);
  const result = await answerAll(questions, options, resumed, io);
  printBlame(result, options.json, io);
  return result.exitCode;
}

/** Explains the regressions of a run; undefined if there are none. Throws EvalsError if the run cannot be repeated. */
export async function blameRun(
  dir: string,
  { out, concurrency, budget }: AskOptions,
  io: Io,
): Promise<BlameResult | undefined> {
  const questions = await findRunQuestions(dir, { out, quiet: true }, io);
  return questions.length === 0 ? undefined : await answerAll(questions, { out, concurrency, budget }, undefined, io);
}

/** Prints the result as a report, or as one JSON object. */
export function printBlame(result: BlameResult, json: boolean, io: Io): void {
  const documents = result.blames.map(blameDocument);
  if (json) printJson({ blames: describeBlames(result), exitCode: result.exitCode }, documents.flat(), io);
  else io.out(documents.map((blocks) => renderTerminal(blocks, io)).join("\n"));
}

/** The blames as a part of a JSON object. */
export const describeBlames = ({ blames }: BlameResult) => blames.map(blameJson);

/** Renders the result as Markdown. */
export function blameMarkdown({ blames }: BlameResult): string {
  return blames.map((report) => renderMarkdown(blameDocument(report))).join("\n");
}

type GivenOptions = AskOptions & Partial<BlameOptions>;

async function answerAll(
  questions: readonly BlameQuestion[],
  given: GivenOptions,
  resumed: Resumed | undefined,
  io: Io,
): Promise<BlameResult> {
  const answers: { report: BlameReport; exitCode: ExitCode }[] = [];
  for (const question of questions) {
    const options = combineOptions(question, given);
    answers.push(
      await withExperiment({ command: "blame", options, ...(resumed && { resumed }) }, io, (workspace) =>
        answer(question, workspace, io),
      ),
    );
    if (io.signal.aborted) break;
  }
  const worst = answers.find(({ exitCode }) => exitCode !== exitCodes.passed);
  return { blames: answers.map(({ report }) => report), exitCode: worst?.exitCode ?? exitCodes.passed };
}

function combineOptions(
  { recorded, paths, suite, model, host, exposure }: BlameQuestion,
  given: GivenOptions,
): ExperimentOptions {
  const { run = given.run } = recorded;
  const shown = { exposure: exposure.kind, ranker: findRanker(exposure.ranker) };
  const asked = { paths, suite, model, host, ...shown, case: given.case };
  const { out, concurrency } = given;
  return { ...recorded, ...defined(given), out, concurrency, ...defined({ run }), ...asked, given: new Set(["model"]) };
}

type Suspect = { planned: PlannedCase; base: OfferedTool[]; changes: ToolChange[]; known: CaseToBlame["known"] };

async function answer(question: BlameQuestion, workspace: ExperimentWorkspace, io: Io) {
  const { model, seed } = workspace;
  const { from } = question;
  const found = findSuspects(question, workspace);
  const suspects = new Map(found.map((one) => [one.planned.case.id, one]));
  const cases = found.map(({ planned, changes, known }) => {
    return { case: planned.case.id, changed: changes.map((change) => change.id), known };
  });
  const planned = found.map((one) => one.planned);
  const requests = countRequests(planned, (one) => [suspects.get(one.case.id)?.base ?? [], one.toolset.tools]);
  const design = blameCases(cases, { seed, deterministic: model.deterministic, ...requests });
  const asked = {
    cases: planned,
    arms: (arm: string) => (one: PlannedCase) => makeList(arm, suspects.get(one.case.id)),
    design,
    setup: { from, cases: cases.map(({ case: id, changed }) => ({ case: id, changed })) },
  };
  const finished = await runExperiment(workspace, asked, io);
  const searched = found.map(({ planned: { case: one }, changes, known }) => ({
    case: one.id,
    input: one.messages.findLast(({ role }) => role === "user")?.content ?? "",
    known,
    changes: changes.map((change) => ({ id: change.id, ...pickTexts(change) })),
  }));
  const why = {
    budget: "the budget is spent",
    stopped: finished.why,
    cancelled: "interrupted",
    complete: "interrupted",
  };
  const report = summarizeBlame(
    finished.facts,
    { from, deterministic: model.deterministic, cap: design.cap, risen: question.risen },
    searched,
    finished.kind === "decided"
      ? { verdict: finished.verdict }
      : { stopped: why[finished.end], made: finished.manifest.totals?.trials ?? 0 },
  );
  await recordExperiment(finished, report, io);
  const stopped = finished.kind === "stopped" ? finished.stopCode : undefined;
  return { report, exitCode: blameExitCode(report, stopped) };
}

function makeList(arm: string, suspect: Suspect | undefined) {
  if (!suspect) return undefined;
  const { base, planned, changes } = suspect;
  const mask = maskOfArm(arm);
  const taken = new Set(changes.flatMap(({ id }, i) => (mask[i] ? [id] : [])));
  return createToolset(applyChanges(base, planned.toolset.tools, taken));
}

/** The cases to explain, worst first. Throws EvalsError with all reasons if they can no longer be repeated. */
function findSuspects(question: BlameQuestion, { cases, model }: ExperimentWorkspace): Suspect[] {
  const live = new Map(cases.map((planned) => [planned.case.id, planned]));
  const compared = comparability(question.identity, describeRun(cases, model, question));
  if (compared.kind === "not comparable") throw refusal(question, compared.reasons);
  const wanted = question.wanted ?? compared.cases;
  const unfit = wanted.filter((id) => !compared.cases.includes(id));
  if (unfit.length > 0) throw refusal(question, [`these cases changed: ${some(unfit)}`]);
  if (wanted.length === 0) throw refusal(question, ["all of its cases changed", ...compared.notes]);
  const suspects = wanted.flatMap((id): Suspect[] => {
    const planned = live.get(id);
    const { base, head, known } = question.cases.get(id) ?? {};
    if (!planned || !base || !known) return [];
    const { tools, hash } = planned.toolset;
    if (head && head.hash !== hash) {
      const since = listChanges(head.tools, tools).map(({ label }) => label);
      throw refusal(question, [`the live tools are no longer those of the run: ${some(since)}`]);
    }
    return [{ planned, base, changes: listChanges(base, tools), known }];
  });
  if (suspects.length === 0) throw refusal(question, [`it did not compare ${some(wanted)}`]);
  return suspects;
}

function refusal({ from }: BlameQuestion, reasons: readonly string[]): EvalsError {
  const hint = "Run `evals run --check on` again, then `evals blame`.";
  const problems = reasons.map((reason, at) => ({
    severity: "error" as const,
    message: `${from[0]?.toUpperCase()}${from.slice(1)} cannot be explained: ${reason.replace(/\.$/, "")}.`,
    ...(at === reasons.length - 1 && { hint }),
  }));
  return new EvalsError(problems, exitCodes.incomplete);
}

/** `base`: its tools before the change. `head`: the recorded tools it failed with, which the live ones must equal. */
type RecordedCase = { base: OfferedTool[] | undefined; head?: Toolset | undefined; known: CaseToBlame["known"] };

/** Cases of one suite on one model to explain. `wanted` is absent if `--case` selects them. */
type BlameQuestion = {
  from: string;
  paths: string[];
  suite: string;
  model: string;
  host: Workspace["host"];
  exposure: Exposure;
  /** The options of the run, and its id or folder. */
  recorded: RecordedOptions;
  /** What the live suite must match to be comparable. */
  identity: ComparedRun;
  wanted?: readonly string[];
  /** Cases that got better in the check. */
  risen?: ComparedCheck["rose"];
  cases: ReadonlyMap<string, RecordedCase>;
};

const defaultCases = 3;

/** `quiet`: returns no question, instead of throwing, if there is nothing to explain. */
type RunSelection = Pick<BlameOptions, "out" | "suite" | "model" | "case"> & { quiet?: boolean };

/** One for each suite and model that regressed; with `--case`, that was checked. `latest`: the newest such run. */
async function findRunQuestions(run: string, flags: RunSelection, io: Io): Promise<BlameQuestion[]> {
  const out = resolve(io.cwd, flags.out);
  const newest = await findRecord("run", run, out);
  let checks = 0;
  for await (const { dir, manifest } of run === "latest" ? listRecords("run", out, printProblem(io)) : [newest]) {
    if (!manifest.suites.some((suite) => suite.checks?.some(({ kind }) => kind === "compare"))) continue;
    const { questions, checked } = await readQuestions(dir, manifest, flags, out);
    if (manifest.id !== newest.manifest.id && questions.length > 0)
      io.err(printableLines(`Explaining the run ${manifest.id}, the latest one with a check to explain.`));
    if (questions.length > 0) return questions;
    checks += checked;
  }
  if (flags.quiet) return [];
  throw nothingToExplain(newest.manifest, checks, flags);
}

async function readQuestions(dir: string, manifest: RunManifest, flags: RunSelection, out: string) {
  const results = await readResults(dir, manifest);
  const { suites } = results.summary();
  const checked = manifest.suites.flatMap((suite) =>
    (suite.checks ?? []).flatMap((plan) => {
      const fits = (flags.suite ?? suite.name) === suite.name && isModelNamed(flags.model ?? plan.model, plan.model);
      const verdict = suites.find(({ name, model }) => name === suite.name && model === plan.model)?.verdict;
      return fits && plan.kind === "compare" && verdict ? [{ suite, plan, verdict }] : [];
    }),
  );
  const regressed = checked.filter(({ verdict }) => verdict.kind === "regressed" || verdict.kind === "changed");
  const questions = (flags.case === undefined ? regressed : checked).map(({ suite, plan, verdict }): BlameQuestion => {
    const flagged = "flagged" in verdict ? listFallen(verdict) : [];
    const recorded = { ...readRecorded(manifest), run: dir === join(out, manifest.id) ? manifest.id : dir };
    const risen = "rose" in verdict ? verdict.rose : [];
    const question = { ...createQuestion(manifest, suite, plan, results), recorded, risen };
    if (flags.case !== undefined) return question;
    return { ...question, wanted: flagged.length > 0 ? flagged.slice(0, defaultCases) : [findWorst(question)] };
  });
  return { questions, checked: checked.length };
}

function nothingToExplain({ id }: RunManifest, checked: number, { suite, model }: RunSelection) {
  const of = [suite, model].filter((one) => one !== undefined).join(" on ");
  return usageError(
    `The run ${id} has no ${checked > 0 ? "regression" : "regression check"}${of ? ` of ${of}` : ""} to explain.`,
    checked > 0 ? "Name a case with --case to explain it anyway." : "Run a check first with `evals run --check on`.",
  );
}

function createQuestion(
  manifest: RunManifest,
  suite: ManifestSuite,
  plan: ComparePlan,
  results: OpenRecord["results"],
): Omit<BlameQuestion, "recorded"> {
  const { toolsets, host, harness } = manifest;
  const now = new Map(suite.cases.map(({ id, toolset }) => [id, toolset]));
  const record = results.check(suite.name, plan.model)?.record ?? new TrialRecord();
  const { settings = {}, exposures } = manifest.models.find(({ id }) => id === plan.model) ?? {};
  const exposure = exposures?.[0] ?? allDefinitions;
  const about = { suite: suite.name, model: plan.model };
  return {
    from: `the run ${manifest.id}`,
    paths: [suite.file],
    ...about,
    host: host as BlameQuestion["host"],
    exposure,
    identity: { ...about, settings, host, exposure: nameExposure(exposure), harness, cases: suite.cases },
    cases: new Map(
      plan.cases.map(({ id, bank, toolset }) => {
        const hash = now.get(id) ?? "";
        const tools = toolsets[hash];
        const fresh = countPasses(record, id, "base");
        // A case that was cleared against the counts of the baseline has no fresh trials with the base list.
        const known = { old: fresh.trials > 0 ? fresh : bank, new: countPasses(record, id, "head") };
        return [id, { base: toolsets[toolset], head: tools && { hash, tools }, known }];
      }),
    ),
  };
}

/** The cases that a verdict names: those that dropped, otherwise those with more flips from pass to fail than back. */
function listFallen({ flagged, flips }: ComparedCheck): string[] {
  const fell = flagged.length > 0 ? flagged : flips.filter(({ down, up }) => down > up);
  return fell.map((one) => one.case);
}

/** The case that dropped most, for a suite that regressed although no single case did. */
function findWorst({ cases }: Pick<BlameQuestion, "cases">): string {
  const drop = ({ known: { old, new: now } }: RecordedCase) =>
    old.trials === 0 || now.trials === 0 ? 0 : rate(old) - rate(now);
  return [...cases].toSorted(([, a], [, b]) => drop(b) - drop(a))[0]?.[0] ?? "";
}
