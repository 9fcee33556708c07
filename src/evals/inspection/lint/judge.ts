import { SpendingLimits } from "../../asking/trials/limits.ts";
import { groupBy, schedule } from "../../base/collections.ts";
import type { Problem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { AskedModel } from "../../base/types/model.ts";
import { addCost, type Cost } from "../../base/types/trial.ts";
import { openJudge, type RequestOptions } from "../../experiments/workspace/models.ts";
import { count, money, some } from "../../reports/format.ts";
import type { Collected } from "./collect.ts";
import type { JudgedSubject, LintSubject, LintSubjectOf } from "./rule.ts";
import { blameJudge, buildRubricRequest, type Rubric, readRubric } from "./rules/rubric.ts";

/** The options of the judge; `concurrency` is the maximum of concurrent requests. */
export type LintJudgeOptions = Omit<RequestOptions, "out"> & {
  judge?: string | undefined;
  concurrency: number;
};

/** Opens the model of --judge. Returns what grades all tools. Throws EvalsError for a model that cannot judge. */
export async function openJudging(
  options: LintJudgeOptions,
  io: Io,
): Promise<((subjects: readonly LintSubject[]) => Promise<Collected>) | undefined> {
  const judge = await openJudge({ ...options, out: "reports" }, io);
  return judge && ((subjects) => gradeTools(subjects, judge, options, io));
}

type Asked = { list: LintSubjectOf<"toolsets">; index: number; tool: JsonObject };

/** Asks the judge about every tool: a subject for each graded one, and for the others one problem per reason. */
async function gradeTools(
  subjects: readonly LintSubject[],
  judge: AskedModel,
  { budget, concurrency }: Pick<LintJudgeOptions, "budget" | "concurrency">,
  io: Io,
): Promise<Collected> {
  const lists = subjects.flatMap((subject) => (subject.kind === "toolsets" ? [subject] : []));
  const all = lists.flatMap((list) => list.subject.tools.map((tool, index): Asked => ({ list, index, tool })));
  const known = new Map<Asked, Rubric>();
  let requests = 0;
  let costUsd: Cost = 0;
  const limits = new SpendingLimits({ budgetUsd: budget });
  const limited = limits.guard(judge);
  await schedule(all, concurrency, io.signal, async (asked) => {
    if (limits.reached !== undefined) return;
    requests++;
    const { outcome, cost } = await ask(asked, limited, io.signal);
    costUsd = addCost(costUsd, cost);
    known.set(asked, outcome);
  });
  io.err(
    `Sent ${count(requests, "request")} about ${count(all.length, "tool")} to ${judge.id}, cost ${money(costUsd)}\n`,
  );
  const notAsked = { kind: "problem", why: io.signal.aborted ? "the run was stopped" : "the budget is spent" } as const;
  const outcomes = all.map((asked) => ({ asked, outcome: known.get(asked) ?? notAsked }));
  return {
    subjects: outcomes.flatMap(({ asked, outcome }) =>
      outcome.kind === "graded" ? [makeSubject(asked, judge.id, outcome.grades)] : [],
    ),
    problems: describeUngraded(outcomes),
  };
}

async function ask({ list, tool }: Asked, judge: AskedModel, signal: AbortSignal) {
  const { server, tools } = list.subject;
  const siblings = tools.filter((one) => one !== tool);
  const { system, user, answerSchema } = buildRubricRequest(tool, siblings);
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ] as const;
  const cell = { suite: "lint", case: getName(tool), arm: server, model: judge.id, trial: 1 };
  const reply = await judge.ask({ cell, turn: 1, messages, tools: [], toolset: "", answerSchema }, signal);
  if (reply.kind === "broken") return { outcome: blameJudge(` failed (${reply.stage}): ${reply.message}`), cost: 0 };
  const { text, stop, usage, calls } = reply.turn;
  const cost = judge.cost(usage);
  if (stop === "cut") return { outcome: blameJudge("'s reply was cut off; raise --max-tokens"), cost };
  if (calls.length > 0 && text.trim() === "")
    return { outcome: blameJudge(" called a tool instead of answering"), cost };
  return { outcome: stop === "refused" ? blameJudge(" refused to answer") : readRubric(text), cost };
}

const getName = ({ name }: JsonObject) => (typeof name === "string" ? name : "without a name");

function makeSubject({ list, index, tool }: Asked, judge: string, grades: JudgedSubject["grades"]): LintSubject {
  return {
    kind: "judged tools",
    subject: { judge, grades },
    names: [getName(tool)],
    settings: list.settings,
    where: (at) => list.where([index, ...at]),
  };
}

function describeUngraded(outcomes: readonly { asked: Asked; outcome: Rubric }[]): Problem[] {
  const reasons = outcomes.flatMap(({ asked, outcome }) =>
    outcome.kind === "problem" ? [{ asked, why: outcome.why.replace(/\.$/, "") }] : [],
  );
  return [...groupBy(reasons, ({ why }) => why)].map(([why, own]) => {
    const names = own.map(({ asked }) => getName(asked.tool));
    const [first] = own;
    const { file, line, via } = first?.asked.list.where([first.asked.index]) ?? {};
    const location = file === undefined ? via : { file, ...(line !== undefined && { line }) };
    return {
      severity: "error",
      message: `${count(own.length, "tool")} not judged (${some(names, 5)}): ${why}.`,
      hint: "Run it again. The findings of the other rules are complete.",
      ...(location && { location }),
    };
  });
}
