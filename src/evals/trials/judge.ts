import { buildJudgeRequest, type JudgeQuestions, type Reading, readJudgement } from "../scoring/judge.ts";
import { type Question, unknown } from "../scoring/match.ts";
import type { Grade } from "../scoring/score.ts";
import { buildTranscript } from "../scoring/transcript.ts";
import { usageError } from "../types/errors.ts";
import { canonicalJson } from "../types/json.ts";
import type { AskedModel, Model } from "../types/model.ts";
import type { Case } from "../types/suite.ts";
import type { Cell, Judging, Turn } from "../types/trial.ts";
import type { Graded } from "./runTrial.ts";

/** An answered trial, with the grader and the messages of its case and the judge to ask. */
type Judged = {
  grade: Grade;
  turns: readonly Turn[];
  messages: Case["messages"];
  judge: AskedModel;
  cell: Cell;
};

const notAsked = unknown("not asked: the trial failed already");

/**
 * Grades a trial whose case may need a judge. The judge gets one request for all questions, and only when it is needed:
 * always for sentences of expected behaviour, because each is reported on its own; for a value only while the trial is
 * undecided. When the judge breaks or gives no evidence, its assertions are unknown, with the reason. Does not throw.
 */
export async function judgeTrial(
  { grade, turns, messages, judge, cell }: Judged,
  signal: AbortSignal,
): Promise<Graded> {
  const noted = new Map<string, Question>();
  const verdict = grade(turns, (question) => {
    noted.set(getKey(question), question);
    return notAsked;
  });
  const questions = [...noted.values()];
  const open = verdict.grade === "not-gradable" || questions.some(({ about }) => about === "behaviour");
  if (questions.length === 0 || !open) return { verdict };

  const { judging, ...reading } = await askJudge(
    judge,
    { transcript: buildTranscript(messages, turns), questions },
    cell,
    signal,
  );
  const answers = new Map(
    [...noted.keys()].map((key, index) => [key, reading.kind === "answered" ? reading.matches[index] : undefined]),
  );
  const otherwise = unknown(reading.kind === "broken" ? reading.why : "the judge was not asked this");
  return {
    verdict: grade(turns, (question) => answers.get(getKey(question)) ?? otherwise),
    ...(judging && { judging }),
  };
}

/** Sends one request to a judge and reads its reply. `judging` is absent when there was no reply. Does not throw. */
export async function askJudge(
  judge: AskedModel,
  asked: JudgeQuestions,
  cell: Cell,
  signal: AbortSignal,
): Promise<Reading & { judging?: Judging }> {
  const reply = await judge.ask({ cell, turn: 1, tools: [], toolset: "", ...buildJudgeRequest(asked) }, signal);
  if (reply.kind === "broken") return { kind: "broken", why: `the judge broke (${reply.stage}): ${reply.message}` };
  const { usage, ms } = reply.turn;
  const judging = { model: judge.id, usage, costUsd: judge.cost(usage), ms };
  return { ...readJudgement(reply.turn, asked), judging };
}

const getKey = (question: Question): string => canonicalJson(question);

/** Throws a usage error for a model that cannot judge: only a language model that answers single requests can. */
export function refuseAsJudge(model: Model): asserts model is AskedModel {
  if (model.kind === "language model" && "ask" in model) return;
  throw usageError(
    `${model.id} cannot be a judge: it is not a language model that answers single requests.`,
    "Name a language model, for example --judge anthropic:claude-opus-5-5.",
  );
}
