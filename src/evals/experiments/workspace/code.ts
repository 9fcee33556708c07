import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { inspect } from "node:util";
import { type CodeQuestion, type Match, no, yes } from "../../asking/scoring/match.ts";
import { listWorkspace } from "../../asking/scoring/writtenFiles.ts";
import type { CodeCaller } from "../../base/code/caller.ts";
import { showJson } from "../../base/text/text.ts";
import { type AssertionInput, assertionResultSchema, type MatcherInput } from "../../base/types/custom.ts";
import type { Json } from "../../base/types/json.ts";
import type { EvalFile } from "../../base/types/skill.ts";
import type { Case, Suite } from "../../base/types/suite.ts";
import { joinText } from "../../base/types/tool.ts";
import type { Broken, Call, Cell, Turn } from "../../base/types/trial.ts";

type AskedTrial = {
  suite: Suite;
  case: Case;
  messages: Case["messages"];
  turns: readonly Turn[];
  cell: Cell;
  /** The files as a host left them. */
  workspace?: readonly EvalFile[] | undefined;
};

/** Calls a file of user code. If it throws, hangs or returns anything unexpected, the trial breaks. Does not reject. */
export async function askFile(code: CodeCaller, question: CodeQuestion, asked: AskedTrial): Promise<Match | Broken> {
  const { file } = question;
  const call = (input: MatcherInput | AssertionInput) => code.call(resolve(asked.suite.dir, file), input);
  const result =
    question.about === "argument"
      ? await call(describeValue(question))
      : await inWorkspace(asked, (workspace) => call(describeTrial(asked, workspace)));
  if (result.kind === "broken") return breakTrial(`${file}: ${result.why}`);
  const parsed = assertionResultSchema.safeParse(result.value);
  if (!parsed.success)
    return breakTrial(`${file}: it returned ${show(result.value)}, not true, false or { pass, reason }`);
  const { pass, reason } = typeof parsed.data === "boolean" ? { pass: parsed.data, reason: undefined } : parsed.data;
  if (pass) return yes;
  const at = question.about === "argument" ? `${question.at}: ` : "";
  return no(`${at}${reason ?? `${file} returned false`}`);
}

const breakTrial = (message: string): Broken => ({ kind: "broken", stage: "setup", message });

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  try {
    return showJson(JSON.parse(JSON.stringify(value) ?? "null") as Json);
  } catch {
    // A bigint, or an object that contains itself.
    return inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
  }
}

function describeValue({ value, at, with: operand }: Extract<CodeQuestion, { about: "argument" }>): MatcherInput {
  return { value, at, ...(operand !== undefined && { with: operand }) };
}

/** Calls with the folder that an assertion reads: the files of the trial, or without files, the server's folder. */
async function inWorkspace<T>(
  { suite, case: one, turns, workspace }: AskedTrial,
  call: (dir: string) => Promise<T>,
): Promise<T> {
  const { server, dir } = suite;
  if (!one.files && !one.expectedFiles) return call(resolve(dir, (server && "cwd" in server && server.cwd) || "."));
  const folder = await mkdtemp(join(tmpdir(), "evals-workspace-"));
  try {
    for (const { path, content } of workspace ?? listWorkspace(one.files ?? [], turns)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return await call(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function describeTrial({ messages, turns, cell }: AskedTrial, workspace: string): AssertionInput {
  return {
    case: cell.case,
    model: cell.model,
    trial: cell.trial,
    input: messages.findLast(({ role }) => role === "user")?.content ?? "",
    text: turns
      .map(({ text }) => text)
      .filter((text) => text !== "")
      .join("\n"),
    calls: turns.flatMap(({ calls }) => calls.filter(({ role }) => role === undefined).map(describeCall)),
    workspace,
  };
}

function describeCall({ tool, arguments: args, execution }: Call): AssertionInput["calls"][number] {
  const call = { tool, ...(args !== undefined && { arguments: args }) };
  if (execution === undefined) return call;
  if (execution.status === "skipped") return { ...call, skipped: execution.reason };
  const { content, isError, structuredContent } = execution.result;
  const text = joinText({ content });
  return { ...call, result: { text, isError, ...(structuredContent && { structuredContent }) } };
}
