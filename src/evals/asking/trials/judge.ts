import { usageError } from "../../base/types/errors.ts";
import { canonicalJson } from "../../base/types/json.ts";
import { type AskedModel, type Model, noUsage } from "../../base/types/model.ts";
import type { Case } from "../../base/types/suite.ts";
import { addCost, addUsage, type Broken, type Cell, type Judging, type Turn } from "../../base/types/trial.ts";
import { buildJudgeRequest, type JudgeQuestions, type Reading, readJudgment } from "../scoring/judge.ts";
import { type CodeQuestion, type Match, noJudge, type Question, unknown } from "../scoring/matchers.ts";
import type { Grade } from "../scoring/score.ts";
import { buildTranscript } from "../scoring/transcript.ts";
import type { Graded } from "./runTrial.ts";

/** An answered trial, with the grader and messages of its case, and what answers the grader's questions. */
type JudgedTrial = {
  grade: Grade;
  turns: readonly Turn[];
  messages: Case["messages"];
  followUps?: readonly string[] | undefined;
  judge: AskedModel | undefined;
  /** Calls a file of user code. Does not reject. */
  askCode(question: CodeQuestion): Promise<Match | Broken>;
  cell: Cell;
};

const notAsked = unknown("not asked: the trial failed already");

/**
 * Grades a trial whose case may need user code or a judge. Code runs first; if it breaks, the trial is broken. The
 * judge gets one request with all questions, and only if needed: always for sentences of expected behavior, because
 * each is reported separately; for a value only while the trial is undecided. If the judge breaks or gives no evidence,
 * its assertions are unknown, with the reason. Does not throw.
 */
export async function judgeTrial(
  { grade, turns, messages, followUps, judge, askCode, cell }: JudgedTrial,
  signal: AbortSignal,
): Promise<Graded | Broken> {
  const decided = new Map<string, Match>();
  const first = collectQuestions(grade, turns, decided);
  if (first.questions.length === 0) return { verdict: first.verdict };
  for (const question of first.questions) {
    if (!isForCode(question)) continue;
    const answer = await askCode(question);
    if ("kind" in answer) return answer;
    decided.set(getKey(question), answer);
  }
  if (!judge) return { verdict: grade(turns, (question) => decided.get(getKey(question)) ?? noJudge(question)) };
  const { verdict, questions: all } = collectQuestions(grade, turns, decided);
  const questions = all.filter((question) => !isForCode(question));
  const open = verdict.grade === "not-gradable" || questions.some(({ about }) => about === "behavior");
  if (questions.length === 0 || !open) return { verdict };

  const asked = { transcript: buildTranscript(messages, turns, followUps), questions };
  const { judging, stopped, ...reading } = await askJudge(judge, asked, cell, signal);
  for (const [index, question] of questions.entries()) {
    const match = reading.kind === "answered" ? reading.matches[index] : undefined;
    if (match) decided.set(getKey(question), match);
  }
  const otherwise = unknown(reading.kind === "broken" ? reading.why : "the judge was not asked this");
  const graded = grade(turns, (question) => decided.get(getKey(question)) ?? otherwise);
  return { verdict: graded, ...(judging && { judging }), ...(stopped && { stopped }) };
}

/** Grades with the answers known so far. Returns the verdict and the open questions, each once. */
function collectQuestions(grade: Grade, turns: readonly Turn[], decided: ReadonlyMap<string, Match>) {
  const open = new Map<string, Question>();
  const verdict = grade(turns, (question) => {
    const key = getKey(question);
    const match = decided.get(key);
    if (!match) open.set(key, question);
    return match ?? notAsked;
  });
  return { verdict, questions: [...open.values()] };
}

const isForCode = (question: Question): question is CodeQuestion =>
  question.about === "trial" || question.about === "argument";

/**
 * Sends one request to a judge and reads its reply. `judging` is absent when nothing was paid for. `stopped` is set
 * when the judge will answer no further request, or a limit of the run is reached. Does not throw.
 */
export async function askJudge(
  judge: AskedModel,
  asked: JudgeQuestions,
  cell: Cell,
  signal: AbortSignal,
): Promise<Reading & { judging?: Judging; stopped?: Broken }> {
  const began = performance.now();
  const reply = await judge.ask({ cell, turn: 1, tools: [], toolset: "", ...buildJudgeRequest(asked) }, signal);
  const { lost, ...rest } = reply;
  const { usage: used, ms } = reply.kind === "turn" ? reply.turn : { ms: performance.now() - began };
  const usages = [lost, used].filter((usage) => usage !== undefined);
  const costUsd = usages.map((usage) => judge.cost(usage)).reduce(addCost, 0);
  const judging = { model: judge.id, usage: usages.reduce(addUsage, noUsage), costUsd, ms };
  const paid = usages.length > 0 && { judging };
  if (rest.kind === "turn") return { ...readJudgment(rest.turn, asked), ...paid };
  const { stage, message, again } = rest;
  const isEnd = again === true || stage === "budget";
  const stopped = isEnd && { stopped: { ...rest, message: `the judge ${judge.id}: ${message}` } };
  return { kind: "broken", why: `the judge broke (${stage}): ${message}`, ...paid, ...stopped };
}

const getKey = (question: Question): string => canonicalJson(question);

/** Throws a usage error for a model that cannot judge: only a language model that answers single requests can. */
export function refuseAsJudge(model: Model): asserts model is AskedModel {
  if (model.kind === "language model" && "ask" in model) return;
  const message = `${model.id} cannot be a judge: it is not a language model that answers single requests.`;
  throw usageError(message, "Name a language model, for example --judge anthropic:claude-opus-5-5.");
}
