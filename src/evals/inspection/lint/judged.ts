import type { LintFlags } from "../../commands/lint.ts";
import type { Problem } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { JudgedSubject, Target, TargetOf } from "../../lint/rule.ts";
import { readRubric, rubricRequest } from "../../lint/rules/rubric.ts";
import { count, money } from "../../reports/format.ts";
import { schedule } from "../../trials/schedule.ts";
import type { JsonObject } from "../../types/json.ts";
import type { AskedModel } from "../../types/model.ts";
import { addCost, type Cost } from "../../types/trial.ts";
import { openJudge } from "../../workspace/models.ts";
import { type Gathered, nothing } from "./gathered.ts";

/** Opens the model of --judge, which is then put to the tools. Throws a usage error when it cannot judge. */
export async function openJudging(
  flags: LintFlags,
  io: Io,
): Promise<((targets: readonly Target[]) => Promise<Gathered>) | undefined> {
  const judge = await openJudge({ ...flags, out: "reports", claudePath: undefined }, io);
  return judge && ((targets) => judgedTargets(targets, judge, flags, io));
}

/** A tool of a list, by its place there. */
type Asked = { list: TargetOf<"toolsets">; index: number; tool: JsonObject };
/** What became of one: a target with the grades, or why there are none. */
type End = { kind: "graded"; grades: JudgedSubject["grades"] } | { kind: "problem"; why: string };

/**
 * Puts every tool of the lists to the judge, one request each: a target for each that was graded, and a problem for the
 * others, once for all with the same reason. What it took is said on stderr.
 */
async function judgedTargets(
  targets: readonly Target[],
  judge: AskedModel,
  { budget, concurrency }: Pick<LintFlags, "budget" | "concurrency">,
  io: Io,
): Promise<Gathered> {
  const lists = targets.flatMap((target) => (target.kind === "toolsets" ? [target] : []));
  const all = lists.flatMap((list) => list.subject.tools.map((tool, index): Asked => ({ list, index, tool })));
  const known = new Map<Asked, End>();
  let requests = 0;
  let costUsd: Cost = 0;
  const spent = () => budget !== undefined && costUsd !== "unknown" && costUsd >= budget;
  await schedule(all, concurrency, io.signal, async (asked) => {
    if (spent()) return;
    requests++;
    const { end, cost } = await ask(asked, judge, io.signal);
    costUsd = addCost(costUsd, cost);
    known.set(asked, end);
  });
  io.err(`${judge.id} was asked ${count(requests, "request")} about ${count(all.length, "tool")}: ${money(costUsd)}\n`);
  const notAsked = { kind: "problem", why: io.signal.aborted ? "it was stopped" : "the budget is spent" } as const;
  const ends = all.map((asked) => ({ asked, end: known.get(asked) ?? notAsked }));
  return {
    ...nothing,
    targets: ends.flatMap(({ asked, end }) =>
      end.kind === "graded" ? [judgedTarget(asked, judge.id, end.grades)] : [],
    ),
    problems: problemsOf(ends),
  };
}

async function ask({ list, tool }: Asked, judge: AskedModel, signal: AbortSignal): Promise<{ end: End; cost: Cost }> {
  const { server, tools } = list.subject;
  const { system, user, answerSchema } = rubricRequest(
    tool,
    tools.filter((one) => one !== tool),
  );
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ] as const;
  const cell = { suite: "lint", case: nameOf(tool), arm: server, model: judge.id, trial: 1 };
  const reply = await judge.ask({ cell, turn: 1, messages, tools: [], toolset: "", answerSchema }, signal);
  if (reply.kind === "broken") {
    return { end: { kind: "problem", why: `the judge broke (${reply.stage}): ${reply.message}` }, cost: 0 };
  }
  const { text, stop, usage } = reply.turn;
  const end =
    stop === "refused" ? ({ kind: "problem", why: "the judge refused to answer" } as const) : readRubric(text);
  return { end, cost: judge.cost(usage) };
}

const nameOf = ({ name }: JsonObject) => (typeof name === "string" ? name : "without a name");

function judgedTarget({ list, index, tool }: Asked, judge: string, grades: JudgedSubject["grades"]): Target {
  return {
    kind: "judged tools",
    subject: { judge, grades },
    names: [nameOf(tool)],
    settings: list.settings,
    where: (at) => list.where([index, ...at]),
  };
}

const mostNamed = 5;

/** One problem for each reason, with the names of its first tools and the place of the first. */
function problemsOf(ends: readonly { asked: Asked; end: End }[]): Problem[] {
  const byReason = new Map<string, Asked[]>();
  for (const { asked, end } of ends)
    if (end.kind === "problem") byReason.set(end.why, [...(byReason.get(end.why) ?? []), asked]);
  return [...byReason].map(([why, asked]) => {
    const named = asked.slice(0, mostNamed).map(({ tool }) => nameOf(tool));
    const more = asked.length > mostNamed ? [`${asked.length - mostNamed} more`] : [];
    const { file, line, column, via } = asked[0]?.list.where([asked[0].index]) ?? {};
    const place =
      file === undefined ? via : { file, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
    return {
      severity: "error",
      message: `${count(asked.length, "tool")} not judged (${[...named, ...more].join(", ")}): ${why}`,
      hint: "Ask again; what the rules found stands all the same.",
      ...(place && { place }),
    };
  });
}
