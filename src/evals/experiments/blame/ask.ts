import { countRequests, type PlannedCase } from "../../asking/trials/plan.ts";
import { findRanker } from "../../base/search/rankers.ts";
import { EvalsError, type ExitCode, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { some } from "../../reports/format.ts";
import { renderMarkdown } from "../../reports/markdown.ts";
import { printJson } from "../../reports/result.ts";
import { renderTerminal } from "../../reports/terminal.ts";
import { listChanges, type ToolChange } from "../../servers/changes/changes.ts";
import { applyChanges } from "../../servers/changes/edits.ts";
import { createToolset } from "../../servers/toolList.ts";
import { comparability, describeRun } from "../design/comparable.ts";
import {
  type ExperimentOptions,
  type ExperimentWorkspace,
  runExperiment,
  withExperiment,
} from "../pipeline/experiment.ts";
import type { AskOptions, GetToolset } from "../pipeline/pipeline.ts";
import { type Resumed, recallOptions } from "../pipeline/recordedOptions.ts";
import { recordExperiment } from "../reporting/report.ts";
import type { RequestOptions } from "../workspace/models.ts";
import { blameCases } from "./design.ts";
import { type BlameQuestion, findRunQuestions, readBaselineQuestion } from "./question.ts";
import { blameDocument, blameJson } from "./report.ts";
import { maskOfArm } from "./sampled.ts";
import { type BlameReport, blameExitCode, summarizeBlame } from "./verdict.ts";

export type BlameOptions = RequestOptions &
  AskOptions & {
    run?: string | undefined;
    case?: readonly string[] | undefined;
    suite?: string | undefined;
    baseline?: string | undefined;
    paths?: string[] | undefined;
    model?: string | undefined;
    seed?: number | undefined;
    resume?: string | undefined;
    json: boolean;
  };

/** The results, as printed by `--json`. */
export type BlameResult = { blames: readonly BlameReport[]; exitCode: ExitCode };

/** `evals blame`: finds and prints the changes that broke cases. */
export async function blame(given: BlameOptions, io: Io): Promise<ExitCode> {
  const { options, resumed } = await recallOptions("blame", given, io);
  const questions =
    options.baseline === undefined
      ? await findRunQuestions(options.run ?? "latest", options, io)
      : [await readBaselineQuestion(options.baseline, options, io)];
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
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as GivenOptions;
  const { run = defined.run } = recorded;
  const shown = { exposure: exposure.kind, ranker: findRanker(exposure.ranker) };
  const asked = { paths, suite, model, host, ...shown, case: given.case };
  return { ...recorded, ...defined, ...(run !== undefined && { run }), ...asked, given: new Set(["model"]) };
}

/** A case with its tools before, its tools now, and what changed between them. */
type Suspect = { planned: PlannedCase; base: readonly OfferedTool[]; changes: readonly ToolChange[] };

async function answer(question: BlameQuestion, workspace: ExperimentWorkspace, io: Io) {
  const { model, seed } = workspace;
  const { from } = question;
  const suspects = new Map(findSuspects(question, workspace).map((one) => [one.planned.case.id, one]));
  const cases = [...suspects].map(([id, { changes }]) => {
    return { case: id, changed: changes.map((change) => change.id), ...question.known(id) };
  });
  const planned = [...suspects.values()].map((one) => one.planned);
  const requests = countRequests(planned, (one) => [suspects.get(one.case.id)?.base ?? [], one.toolset.tools]);
  const design = blameCases(cases, { seed, deterministic: model.deterministic, ...requests });
  const asked = {
    cases: planned,
    arms:
      (arm: string): GetToolset =>
      (planned) =>
        makeList(arm, suspects.get(planned.case.id)),
    design,
    setup: {
      from,
      cases: cases.map(({ case: id, changed }) => ({ case: id, changed: [...changed] })),
    },
  };
  const finished = await runExperiment(workspace, asked, io);
  const searched = cases.map(({ case: id, old, new: now }) => ({
    case: id,
    input: suspects.get(id)?.planned.case.messages.findLast(({ role }) => role === "user")?.content ?? "",
    known: { old, ...(now && { new: now }) },
    changes: suspects.get(id)?.changes ?? [],
  }));
  const report = summarizeBlame(
    finished.facts,
    { from, deterministic: model.deterministic, cap: design.cap, risen: question.risen },
    searched,
    finished.kind === "decided"
      ? { verdict: finished.verdict }
      : {
          stopped:
            finished.end === "budget"
              ? "the budget is spent"
              : finished.end === "stopped"
                ? finished.why
                : "interrupted",
          made: finished.manifest.totals?.trials ?? 0,
        },
  );
  await recordExperiment(finished, report, io);
  const stopped = finished.kind === "stopped" ? finished.stopCode : undefined;
  return { report, exitCode: blameExitCode(report, stopped) };
}

/** The tools of an arm: the old ones with only the changes that the arm's mask selects. */
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
  const compared = comparability(question.identity, describeRun(cases, model, question), { areAskedAnew: true });
  if (compared.kind === "not comparable") throw refusal(question, compared.reasons);
  const wanted = question.wanted ?? compared.cases;
  const unfit = wanted.filter((id) => !compared.cases.includes(id));
  if (unfit.length > 0) throw refusal(question, [`these cases changed: ${some(unfit)}`]);
  if (wanted.length === 0) throw refusal(question, ["all of its cases changed", ...compared.notes]);
  const suspects = wanted.flatMap((id): Suspect[] => {
    const planned = live.get(id);
    const base = question.base(id);
    if (!planned || !base) return [];
    const { tools, hash } = planned.toolset;
    const before = question.head(id);
    if (before && before.hash !== hash) {
      const since = listChanges(before.tools, tools).map(({ label }) => label);
      throw refusal(question, [`the live tools are no longer those of the run: ${some(since)}`]);
    }
    return [{ planned, base, changes: listChanges(base, tools) }];
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
