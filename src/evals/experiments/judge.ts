import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import type { JudgeFlags } from "../commands/judge.ts";
import { type ExitCode, exitCodes, messageOf, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type JudgeCheckSummary, type JudgeMeasures, judgeReport } from "../reports/judge.ts";
import { type Label, parseLabels } from "../scoring/judge/labels.ts";
import { promptHash } from "../scoring/judge/question.ts";
import type { Match } from "../scoring/match.ts";
import { askJudge, refuseAsJudge } from "../trials/judge.ts";
import { schedule } from "../trials/schedule.ts";
import { judgeFormat, type Opinion, type OpinionCounts } from "../types/judge.ts";
import type { AskedModel } from "../types/model.ts";
import { addCost, type Cost } from "../types/trial.ts";
import { judgeFigureFile, judgesFolder, measuresOf, writeJudgeFigure } from "../workspace/judgeFigure.ts";
import { openModels } from "../workspace/models.ts";

/** What a judge came to on one label. `why` of a broken one says what kept it from an answer. */
type Judged = { label: Label } & ({ kind: "answered"; match: Match } | { kind: "broken"; why: string });

type Asked = { judged: Judged[]; costUsd: Cost };

/** `evals judge check`: puts every label to the judge and prints how far it agrees with people. */
export async function judge(flags: JudgeFlags, io: Io): Promise<ExitCode> {
  refuseWrongNumbers(flags);
  const file = relative(io.cwd, resolve(io.cwd, flags.labels));
  const text = await readFile(resolve(io.cwd, flags.labels), "utf8").catch((error) => {
    throw usageError(`the labels cannot be read: ${messageOf(error)}`, "Give the path of a file of JSON lines.");
  });
  const labels = parseLabels(text, file);
  const [model] = await openModels([flags.judge], { ...flags, out: "reports" }, io);
  if (!model) throw new Error("one id opens one model");
  refuseAsJudge(model);

  const { judged, costUsd } = await askAll(labels, model, flags, io.signal);
  const counts = countsOf(judged);
  const broken = judged.flatMap((one) =>
    one.kind === "broken" ? [{ id: one.label.id, line: one.label.line, why: one.why }] : [],
  );
  const found = {
    judge: model.id,
    prompt: promptHash(),
    labels: { file, sha256: createHash("sha256").update(text).digest("hex"), count: labels.length },
    counts,
    ...measuresOf(counts),
    stopped: io.signal.aborted && broken.length > 0,
    minKappa: flags.minKappa ?? null,
    disagreements: judged.flatMap(disagreement).sort((a, b) => harm(a) - harm(b) || a.line - b.line),
    broken,
    costUsd,
  };
  const written = broken.length > 0 ? null : await write(found, model, flags, io);
  const exitCode = found.stopped ? io.signalExitCode() : exitCodeOf(found);
  const summary: JudgeCheckSummary = { ...found, written, exitCode };
  io.out(flags.json ? `${JSON.stringify(summary)}\n` : judgeReport(summary, io));
  return exitCode;
}

function refuseWrongNumbers({ minKappa, concurrency }: JudgeFlags): void {
  if (minKappa !== undefined && !(minKappa >= -1 && minKappa <= 1))
    throw usageError(`--min-kappa is ${minKappa}`, "Give a number from -1 to 1, for example 0.6.");
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    throw usageError(`--concurrency is ${concurrency}`, "Give a whole number, 1 or more.");
}

/** Asks for all labels. Those that were not asked, for want of budget or because it was stopped, are broken. */
async function askAll(
  labels: readonly Label[],
  judge: AskedModel,
  { budget, concurrency }: JudgeFlags,
  signal: AbortSignal,
): Promise<Asked> {
  const answers = new Map<Label, Judged>();
  let costUsd: Cost = 0;
  const spent = () => budget !== undefined && costUsd !== "unknown" && costUsd >= budget;
  await schedule(labels, concurrency, signal, async (label) => {
    if (spent()) return;
    const { transcript, criterion } = label;
    const cell = { suite: "judge check", case: label.id, arm: "labels", model: judge.id, trial: 1 };
    const asked = { transcript, questions: [{ about: "behaviour", criterion } as const] };
    const { judging, ...reading } = await askJudge(judge, asked, cell, signal);
    costUsd = addCost(costUsd, judging?.costUsd ?? 0);
    const [match] = reading.kind === "answered" ? reading.matches : [];
    if (match) answers.set(label, { label, kind: "answered", match });
    else if (reading.kind === "broken") answers.set(label, { label, ...reading });
  });
  const why = signal.aborted ? "not asked: it was stopped" : "not asked: the budget is spent";
  return { judged: labels.map((label) => answers.get(label) ?? { label, kind: "broken", why }), costUsd };
}

const opinionOf = { yes: "met", no: "not met", unknown: "cannot tell" } as const satisfies Record<
  Match["met"],
  Opinion
>;

function countsOf(judged: readonly Judged[]): OpinionCounts {
  const none = () => ({ met: 0, "not met": 0, "cannot tell": 0 });
  const counts: OpinionCounts = { met: none(), "not met": none(), "cannot tell": none() };
  for (const one of judged) if (one.kind === "answered") counts[one.label.human][opinionOf[one.match.met]]++;
  return counts;
}

type Disagreement = JudgeCheckSummary["disagreements"][number];

function disagreement(one: Judged): Disagreement[] {
  if (one.kind === "broken") return [];
  const { label, match } = one;
  const { id, line, criterion, human } = label;
  const said = opinionOf[match.met];
  const why = match.met === "yes" ? null : match.why;
  return said === human ? [] : [{ id, line, criterion, human, judge: said, why, evidence: match.evidence ?? null }];
}

/** The order of the report: what a judge passes wrongly does the most harm, a doubt the least. */
function harm({ human, judge }: Disagreement): number {
  if (judge === "cannot tell") return 4;
  return (judge === "met" ? 0 : 2) + (human === "cannot tell" ? 1 : 0);
}

async function write(
  { judge, prompt, labels, counts }: Pick<JudgeCheckSummary, "judge" | "prompt" | "labels" | "counts">,
  { settings }: AskedModel,
  flags: JudgeFlags,
  io: Io,
): Promise<string> {
  const file = flags.write ?? judgeFigureFile(judgesFolder, judge);
  await writeJudgeFigure(resolve(io.cwd, file), {
    format: judgeFormat,
    judge,
    settings,
    prompt,
    labels: { file: labels.file, sha256: labels.sha256 },
    measuredAt: new Date().toISOString(),
    counts,
  });
  return file;
}

/** What broke makes the measurement incomplete, whatever it shows; only a whole one passes or fails the gate. */
function exitCodeOf({
  broken,
  kappa,
  minKappa,
}: Pick<JudgeCheckSummary, "broken" | "minKappa"> & Pick<JudgeMeasures, "kappa">) {
  if (broken.length > 0) return exitCodes.incomplete;
  return minKappa !== null && (kappa === null || kappa.value < minKappa) ? exitCodes.failed : exitCodes.passed;
}
