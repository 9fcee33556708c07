import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type Exit, startGroup } from "../../processes/group.ts";
import { messageOf } from "../../types/errors.ts";
import type { Json } from "../../types/json.ts";
import type { HostedTrial, HostModel, Message } from "../../types/model.ts";
import type { Broken, Outcome, Turn } from "../../types/trial.ts";
import { fillFolder, makeFolder, type TrialFolder } from "./project.ts";
import { type Offer, offerTools, type Relay } from "./relay.ts";
import { StreamReader, type StreamSummary } from "./stream.ts";

/** What all trials of one model share. `args` come before those of a trial; `timeoutMs` is for a whole trial. */
export type Setup = {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  relay: Relay;
};

type Reply = Awaited<ReturnType<HostModel["converse"]>>;

/** Runs one trial in Claude Code, in a separate home and project. Does not reject. */
export async function converse(setup: Setup, trial: HostedTrial, signal: AbortSignal): Promise<Reply> {
  const question = readQuestion(trial.messages);
  if ("kind" in question) return { outcome: question, turns: [] };
  const stop = createStop(setup.timeoutMs, signal);
  let dir: string | undefined;
  let offer: Offer | undefined;
  try {
    dir = await makeFolder();
    const offered = offerTools(setup.relay, trial, stop.signal, stop.request);
    offer = offered;
    const folder = await fillFolder(dir, trial, offered.servers, question.system);
    const skills = trial.skills.map(({ name }) => name);
    const expected = { servers: [...offered.servers.keys()], tools: offered.shown, skills };
    const { summary, exit } = await runProgram(setup, folder, question.prompt, expected, stop);
    const turns = summary.turns.map((turn) => restoreCalls(turn, offered));
    return { outcome: stop.reason() ?? readOutcome(summary, expected, exit), turns, ...readCost(summary) };
  } catch (thrown) {
    const failed = broken("model", `Claude Code could not run the trial: ${messageOf(thrown)}`);
    return { outcome: stop.reason() ?? failed, turns: [] };
  } finally {
    stop.release();
    offer?.close();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

/** The host accepts one prompt only: a case with earlier replies cannot run in it. */
function readQuestion(messages: readonly Message[]): { system: string; prompt: string } | Broken {
  const join = (role: "system" | "user") =>
    messages.flatMap((message) => (message.role === role ? [message.content] : [])).join("\n\n");
  const isPlain = messages.every(({ role }) => role === "system" || role === "user");
  if (isPlain) return { system: join("system"), prompt: join("user") };
  return broken("model", "Claude Code cannot start from earlier replies: use a case without them, or another model");
}

/** Stops a trial from outside; the first reason counts. */
type Stop = { signal: AbortSignal; reason(): Broken | undefined; request(reason: Broken): void; release(): void };

function createStop(timeoutMs: number, signal: AbortSignal): Stop {
  const controller = new AbortController();
  const request = (reason: Broken) => controller.abort(reason);
  const cancel = () => request(broken("cancelled", "the trial was cancelled"));
  const late = broken("timeout", `Claude Code did not finish within ${timeoutMs / 1000} s; raise --timeout`);
  const timer = setTimeout(() => request(late), timeoutMs);
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  return {
    signal: controller.signal,
    reason: () => (controller.signal.aborted ? (controller.signal.reason as Broken) : undefined),
    request,
    release: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
    },
  };
}

/** What the host must have loaded for a trial: names as the host writes them. */
type Expected = { servers: readonly string[]; tools: readonly string[]; skills: readonly string[] };

/** How the host's process ended, with the end of its stderr. */
type ProgramExit = { how: string; isSuccess: boolean; stderr: string };

const maxStderr = 2_000;

/** Runs the host until it ends or is stopped, which happens at once when it did not load what is expected. */
async function runProgram(
  { command, args, env }: Setup,
  folder: TrialFolder,
  prompt: string,
  expected: Expected,
  stop: Stop,
): Promise<{ summary: StreamSummary; exit: ProgramExit }> {
  stop.signal.throwIfAborted();
  const reader = new StreamReader(performance.now());
  let isChecked = false;
  // Its folder is removed right after it ends, so orphans get no grace period.
  const options = { cwd: folder.project, env: { ...env, ...folder.env }, orphanMs: 0 };
  const { child, ended, stderrTail, end } = startGroup(command, [...args, ...folder.args], options);
  child.stdin.end(prompt);
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    reader.read(line, performance.now());
    if (isChecked) return;
    const summary = reader.summarize();
    isChecked = summary.init !== undefined;
    const problem = findStartProblem(summary, expected);
    if (problem) stop.request(problem);
  });
  stop.signal.addEventListener("abort", () => void end(), { once: true });
  const exit = describeExit(await ended);
  child.stdout.destroy();
  child.stderr.destroy();
  return { summary: reader.summarize(), exit: { ...exit, stderr: stderrTail().slice(-maxStderr) } };
}

function describeExit(exit: Exit): { how: string; isSuccess: boolean } {
  if ("error" in exit) return { how: `could not be started: ${exit.error.message}`, isSuccess: false };
  const { code, signal } = exit;
  return { how: signal ? `was killed by ${signal}` : `exited with code ${code}`, isSuccess: code === 0 };
}

/** Restores listed names, and the executions of the relay in place of the host's report of them. */
function restoreCalls(turn: Turn, offer: Offer): Turn {
  const calls = turn.calls.map((call) => {
    const execution = offer.getExecution(call.id) ?? call.execution;
    return { ...call, tool: offer.toListed(call.tool), ...(execution && { execution }) };
  });
  return { ...turn, calls };
}

/** The cost that the host reports, if it knows the list price of every model it used. */
function readCost({ result }: StreamSummary): Pick<Reply, "costUsd"> {
  const models = Object.values(result?.modelUsage ?? {});
  const isKnown = models.length > 0 && models.every(({ costBasis }) => costBasis === "list");
  return isKnown && result?.total_cost_usd !== undefined ? { costUsd: result.total_cost_usd } : {};
}

/** Why the trial did not start as intended: the host did not load a server, a tool or a skill. */
function findStartProblem({ init }: StreamSummary, expected: Expected): Broken | undefined {
  if (!init) return undefined;
  const errors = showErrors(init.mcp_server_errors);
  if (errors) return broken("server", `Claude Code skipped a tool server: ${errors}`);
  for (const name of expected.servers) {
    const status = init.mcp_servers.find((server) => server.name === name)?.status ?? "not listed";
    if (status !== "connected") return broken("server", `Claude Code is not connected to server "${name}": ${status}`);
  }
  const tool = expected.tools.find((name) => !init.tools.includes(name));
  if (tool) return broken("server", `Claude Code does not offer tool "${tool}"`);
  const skill = expected.skills.find((name) => !init.skills.includes(name));
  return skill ? broken("model", `Claude Code did not load skill "${skill}"`) : undefined;
}

/**
 * The outcome of a conversation that ended without being stopped. Reaching the turn limit is an answer: the turns made
 * until then. An API error is not, although the host prints it as one.
 */
export function readOutcome(summary: StreamSummary, expected: Expected, exit: ProgramExit): Outcome {
  const { init, result, turns } = summary;
  const stderr = exit.stderr === "" ? "" : `: ${exit.stderr}`;
  if (!init) return broken("model", `Claude Code ${exit.how} before it started${stderr}`);
  const problem = findStartProblem(summary, expected);
  if (problem) return problem;
  if (!result) return broken("model", `Claude Code ${exit.how} without a result${stderr}`);
  if (result.subtype === "error_max_turns") return { kind: "answered" };
  const text = result.result || result.errors?.join("; ") || "no reason given";
  if (result.is_error || result.subtype !== "success") {
    return broken("model", `Claude Code failed (${result.subtype}): ${text}`);
  }
  if (!exit.isSuccess) return broken("model", `Claude Code ${exit.how}${stderr}`);
  if (turns.length === 0) return broken("model", `Claude Code answered without calling the model: ${text}`);
  return { kind: "answered" };
}

export function broken(stage: Broken["stage"], message: string): Broken {
  return { kind: "broken", stage, message };
}

/** The text of a field that is empty when there are no errors, whatever its shape. */
function showErrors(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return ["[]", "{}", ""].includes(text) ? "" : text;
}
