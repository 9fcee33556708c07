import { rm } from "node:fs/promises";
import { messageOf } from "../../errors.ts";
import type { HostedTrial, HostModel, Message } from "../../types/model.ts";
import type { Broken, Turn } from "../../types/trial.ts";
import { type Folder, fillFolder, makeFolder } from "./folder.ts";
import { type Offer, offerTools } from "./offer.ts";
import { broken, type End, type Given, outcomeOf, startProblem } from "./outcome.ts";
import { startProgram } from "./process.ts";
import type { Relay } from "./relay.ts";
import { type Heard, StreamReader } from "./stream.ts";

/** What all trials of one model share. `args` come before those of a trial; `timeoutMs` is for a whole trial. */
export type Setup = {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  relay: Relay;
};

type Reply = Awaited<ReturnType<HostModel["converse"]>>;

/** Why a trial is stopped from outside; the first reason stands. */
type Brake = { signal: AbortSignal; reason(): Broken | undefined; pull(reason: Broken): void; release(): void };

/** Puts one trial to Claude Code, in a home and a project of its own. Does not reject. */
export async function converse(setup: Setup, trial: HostedTrial, signal: AbortSignal): Promise<Reply> {
  const question = questionOf(trial.messages);
  if ("kind" in question) return { outcome: question, turns: [] };
  const brake = brakeOf(setup.timeoutMs, signal);
  let dir: string | undefined;
  let offer: Offer | undefined;
  try {
    dir = await makeFolder();
    const offered = offerTools(setup.relay, trial, brake.signal, brake.pull);
    offer = offered;
    const folder = await fillFolder(dir, trial, offered.servers, question.system);
    const skills = trial.skills.map(({ name }) => name);
    const given = { servers: [...offered.servers.keys()], tools: offered.shown, skills };
    const { heard, end } = await listen(setup, folder, question.prompt, given, brake);
    const turns = heard.turns.map((turn) => asListed(turn, offered));
    return { outcome: brake.reason() ?? outcomeOf(heard, given, end), turns, ...costOf(heard) };
  } catch (thrown) {
    const failed = broken("model", `Claude Code could not be asked: ${messageOf(thrown)}`);
    return { outcome: brake.reason() ?? failed, turns: [] };
  } finally {
    brake.release();
    offer?.close();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

/** The host takes one prompt; a conversation that has replies in it cannot be put to it. */
function questionOf(messages: readonly Message[]): { system: string; prompt: string } | Broken {
  const system: string[] = [];
  const prompt: string[] = [];
  for (const message of messages) {
    if (message.role === "system") system.push(message.content);
    else if (message.role === "user") prompt.push(message.content);
    else
      return broken("model", "Claude Code keeps its own conversation: a case with earlier replies cannot be put to it");
  }
  return { system: system.join("\n\n"), prompt: prompt.join("\n\n") };
}

function brakeOf(timeoutMs: number, signal: AbortSignal): Brake {
  const controller = new AbortController();
  const pull = (reason: Broken) => controller.abort(reason);
  const cancel = () => pull(broken("cancelled", "the trial was cancelled"));
  const late = broken("timeout", `Claude Code did not end within ${timeoutMs / 1000} s; raise --timeout`);
  const timer = setTimeout(() => pull(late), timeoutMs);
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  return {
    signal: controller.signal,
    reason: () => (controller.signal.aborted ? (controller.signal.reason as Broken) : undefined),
    pull,
    release: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
    },
  };
}

/** Runs the host to its end, or until the brake is pulled: at once when it could not load what it was given. */
async function listen(
  { command, args, env }: Setup,
  folder: Folder,
  prompt: string,
  given: Given,
  brake: Brake,
): Promise<{ heard: Heard; end: End }> {
  brake.signal.throwIfAborted();
  const reader = new StreamReader(performance.now());
  let begun = false;
  const program = startProgram(command, [...args, ...folder.args], {
    cwd: folder.project,
    env: { ...env, ...folder.env },
    input: prompt,
    onLine: (line) => {
      reader.read(line, performance.now());
      if (begun) return;
      const heard = reader.heard();
      begun = heard.init !== undefined;
      const problem = startProblem(heard, given);
      if (problem) brake.pull(problem);
    },
  });
  brake.signal.addEventListener("abort", () => void program.stop(), { once: true });
  const ended = await program.ended;
  return { heard: reader.heard(), end: { ...ended, stderr: program.stderrTail() } };
}

/** Listed names, and for what went through the relay the execution itself instead of the host's account of it. */
function asListed(turn: Turn, offer: Offer): Turn {
  const calls = turn.calls.map((call) => {
    const execution = offer.executionOf(call.id) ?? call.execution;
    return { ...call, tool: offer.listed(call.tool), ...(execution && { execution }) };
  });
  return { ...turn, calls };
}

/** What the host says it cost, where it knows the list price of every model that it asked. */
function costOf({ result }: Heard): Pick<Reply, "costUsd"> {
  const models = Object.values(result?.modelUsage ?? {});
  const known = models.length > 0 && models.every(({ costBasis }) => costBasis === "list");
  return known && result?.total_cost_usd !== undefined ? { costUsd: result.total_cost_usd } : {};
}
