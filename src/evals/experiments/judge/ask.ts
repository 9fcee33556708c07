import { createHash } from "node:crypto";
import { relative, resolve } from "node:path";
import { hashPrompt, judgeFormat, type Label, type Opinion, parseLabels } from "../../asking/scoring/judge.ts";
import type { Match } from "../../asking/scoring/matchers.ts";
import { askJudge, refuseAsJudge } from "../../asking/trials/judge.ts";
import { SpendingLimits } from "../../asking/trials/limits.ts";
import { schedule } from "../../base/collections.ts";
import { writeOutput } from "../../base/files/files.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { AskedModel } from "../../base/types/model.ts";
import { addCost, type Cost } from "../../base/types/trial.ts";
import { readNamed } from "../../input/parsing/read.ts";
import { printResult } from "../../reports/result.ts";
import { formatJudgeFigure, judgeFigureFile, judgesFolder } from "../workspace/judgeFigure.ts";
import { openModels, type RequestOptions } from "../workspace/models.ts";
import { type JudgeCheckSummary, type JudgedLabel, judgeDocument, summarizeJudgeCheck } from "./report.ts";

export type JudgeOptions = Omit<RequestOptions, "out"> & {
  judge: string;
  labels: string;
  minKappa?: number | undefined;
  output?: string | undefined;
  concurrency: number;
  json: boolean;
};

const maxLabelsBytes = 64 * 1024 * 1024;

/** `evals judge check`: sends every label to the judge, and prints how far it agrees with people. */
export async function judge(flags: JudgeOptions, io: Io): Promise<ExitCode> {
  const file = relative(io.cwd, resolve(io.cwd, flags.labels));
  const hint = "Give the path of a JSON Lines file with labels.";
  const options = { limit: maxLabelsBytes, pipes: true, hint, location: { file } };
  const text = readNamed("The file of labels", resolve(io.cwd, flags.labels), options);
  const labels = parseLabels(text, file);
  const [model] = await openModels([flags.judge], { ...flags, out: "reports" }, io);
  if (!model) throw new Error("one id opens one model");
  refuseAsJudge(model);

  const { judged, costUsd } = await askAll(labels, model, flags, io.signal);
  const checked = summarizeJudgeCheck(judged, {
    judge: model.id,
    prompt: hashPrompt(),
    labels: { file, sha256: createHash("sha256").update(text).digest("hex"), count: labels.length },
    minKappa: flags.minKappa ?? null,
    costUsd,
    stopped: io.signal.aborted ? io.signalExitCode() : undefined,
  });
  const writing = checked.broken.length > 0 ? Promise.resolve(null) : write(checked, model, flags, io);
  // The answers are paid for, so they are printed even if the figure cannot be written.
  const summary: JudgeCheckSummary = { ...checked, written: await writing.catch(() => null) };
  printResult(summary, judgeDocument(summary), flags.json, io);
  await writing;
  return summary.exitCode as ExitCode;
}

/** Sends all labels to the judge. Labels that are not sent because of the budget or a stop are broken. */
async function askAll(
  labels: readonly Label[],
  judge: AskedModel,
  { budget, concurrency }: JudgeOptions,
  signal: AbortSignal,
) {
  const answers = new Map<Label, JudgedLabel>();
  let costUsd: Cost = 0;
  const limits = new SpendingLimits({ budgetUsd: budget });
  const limited = limits.guard(judge);
  await schedule(labels, concurrency, signal, async (label) => {
    if (limits.reached !== undefined) return;
    const { transcript, criterion } = label;
    const cell = { suite: "judge check", case: label.id, arm: "labels", model: judge.id, trial: 1 };
    const asked = { transcript, questions: [{ about: "behavior", criterion } as const] };
    const { judging, stopped, ...reading } = await askJudge(limited, asked, cell, signal);
    costUsd = addCost(costUsd, judging?.costUsd ?? 0);
    if (stopped?.stage === "budget") return;
    const [match] = reading.kind === "answered" ? reading.matches : [];
    if (match) answers.set(label, judgedBy(match, label));
    else if (reading.kind === "broken") answers.set(label, unjudged(label, reading.why));
  });
  const why = signal.aborted ? "not asked: it was stopped" : "not asked: the budget is spent";
  return { judged: labels.map((label) => answers.get(label) ?? unjudged(label, why)), costUsd };
}

const opinions = { yes: "met", no: "not met", unknown: "cannot tell" } as const satisfies Record<Match["met"], Opinion>;

function judgedBy(match: Match, { id, line, criterion, human }: Label): JudgedLabel {
  const why = match.met === "yes" ? null : match.why;
  return { id, line, criterion, human, judge: opinions[match.met], why, evidence: match.evidence ?? null };
}

function unjudged({ id, line, criterion, human }: Label, why: string): JudgedLabel {
  return { id, line, criterion, human, why: null, evidence: null, broken: why };
}

async function write(
  { judge, prompt, labels, counts }: Pick<JudgeCheckSummary, "judge" | "prompt" | "labels" | "counts">,
  { settings }: AskedModel,
  flags: JudgeOptions,
  io: Io,
): Promise<string> {
  const file = flags.output ?? judgeFigureFile(judgesFolder, judge);
  const figure = formatJudgeFigure({
    format: judgeFormat,
    judge,
    settings,
    prompt,
    labels: { file: labels.file, sha256: labels.sha256 },
    measuredAt: new Date().toISOString(),
    counts,
  });
  await writeOutput(resolve(io.cwd, file), figure, io);
  return file;
}
