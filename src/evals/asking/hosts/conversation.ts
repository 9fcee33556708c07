import { squeeze } from "../../base/text/text.ts";
import type { Shown } from "../../base/types/exposure.ts";
import { canonicalJson, isJsonObject, type Json } from "../../base/types/json.ts";
import type { HostedTrial } from "../../base/types/model.ts";
import type { Call, Execution, ToolSearch, Turn } from "../../base/types/trial.ts";
import { numberCalls, readQuery, type ToolOutput } from "../protocols/protocol.ts";
import { normalizeSkillName, skillTools } from "../scoring/activity.ts";
import type { HostWording } from "./host.ts";
import type { Exchange } from "./passThrough.ts";
import type { Offer, RelayedCall } from "./relay.ts";

/**
 * The exchanges that belong to the conversation of a trial: those that start like the first one with the prompt.
 * Requests of sub-agents, and side requests such as for a title, start differently or offer no tools, unless no request
 * offers any.
 */
export function selectConversation(exchanges: readonly Exchange[], prompt: string): readonly Exchange[] {
  const asking = exchanges.filter(({ request }) => request.opening.includes(prompt.trim()));
  const offering = asking.filter(({ request }) => request.tools.length > 0);
  const [first, ...others] = offering.length > 0 ? offering : asking;
  if (!first) return [];
  return [first, ...others.filter(({ request }) => request.opening.startsWith(first.request.opening))];
}

/** Whether a turn does more than search for tools, and so counts towards the turn limit. */
export function countsAsTurn(exchange: Exchange, { searchTools }: HostWording): boolean {
  const calls = exchange.reply?.calls;
  return calls !== undefined && (calls.length === 0 || calls.some((call) => !isSearch(call, searchTools)));
}

const isSearch = ({ tool, role }: Call, searchTools: ReadonlySet<string>) => role === "search" || searchTools.has(tool);

/**
 * The turns of a conversation. A call has the listed name of its tool, the execution by the relay if it came through
 * it, else the result that the host sent back. Calls that came through the relay without the model naming them, from
 * code that it wrote or from a sub-agent, follow the calls of the turn in which they were made. `skills`: those of the
 * trial.
 */
export function readTurns(
  conversation: readonly Exchange[],
  offer: Pick<Offer, "toListed" | "toListedArguments" | "relayed"> & { skills: ReadonlySet<string> },
  wording: HostWording,
): Turn[] {
  const replied = conversation.filter((one) => one.reply !== undefined);
  const relayed = new Set(offer.relayed);
  const turns = replied.map((exchange, index) => {
    const rest = conversation.slice(conversation.indexOf(exchange) + 1);
    return readTurn(exchange, rest, index, relayed, offer, wording);
  });
  for (const call of relayed) {
    const at = replied.findLastIndex(({ sentAt, ms }) => sentAt + ms <= call.at);
    const turn = turns[Math.max(at, 0)];
    if (!turn) continue;
    const id = call.id || `${turn.calls[0]?.id ?? "call"}/${turn.calls.length}`;
    turn.calls.push({ id, tool: call.tool, arguments: call.arguments, execution: call.execution });
  }
  return turns;
}

function readTurn(
  { request, reply, ms, sentAt }: Exchange,
  rest: readonly Exchange[],
  index: number,
  relayed: Set<RelayedCall>,
  { skills, toListed, toListedArguments }: Parameters<typeof readTurns>[1],
  wording: HostWording,
): Turn {
  if (!reply) throw new Error("a turn is a reply");
  const next = rest[0];
  const notes = [...(next?.request.notes ?? [])];
  const searches: ToolSearch[] = [];
  // The last call of a reply that was cut off may be incomplete.
  const whole = reply.stop === "cut" ? [] : numberCalls(reply.calls, index + 1);
  const calls = whole.map((made): Call => {
    const output =
      reply.answered.find(({ callId }) => callId === made.id) ??
      rest.map((one) => one.request.outputs.findLast(({ callId }) => callId === made.id)).find(Boolean);
    const tool = toListed(made.tool);
    const args = toListedArguments(made.tool, made.arguments);
    const call: Call = { ...made, tool, ...(args !== undefined && { arguments: args }) };
    const loads = wording.skillTools.has(made.tool);
    if (tool !== made.tool) {
      const execution = takeRelayed(relayed, tool, call);
      return { ...call, ...(execution ? { execution } : output && { execution: toExecution(output, 0, wording) }) };
    }
    if (isSearch(made, wording.searchTools)) {
      const found = (output?.found ?? []).map(toListed);
      searches.push({ query: readQuery(made), found });
      call.role = "search";
    } else if (request.tools.some(({ name }) => name === made.tool) && !loads) {
      call.role = "built-in";
    }
    // Hosts have names of their own for the tool that loads a skill, and for its argument.
    const skill = loads && isJsonObject(args) ? String(args.skill ?? args.name ?? "") : "";
    if (loads) Object.assign(call, { tool: skillTools.load, arguments: { skill } });
    if (!output) return call;
    const execution = toExecution(output, next ? next.sentAt - (sentAt + ms) : 0, wording);
    if (loads && execution.status === "executed" && !execution.result.isError) {
      for (const text of takeBody(notes, made.arguments)) execution.result.content.push({ type: "text", text });
      // A skill that the host brings along is as its own tools.
      if (!skills.has(normalizeSkillName(skill))) call.role = "built-in";
    }
    return { ...call, execution };
  });
  return {
    text: reply.text,
    calls,
    ...(searches.length > 0 && { searches }),
    stop: reply.stop,
    usage: reply.usage,
    ms,
    ...(reply.id !== "" && { responseId: reply.id }),
    ...(reply.model && { model: reply.model }),
  };
}

/** Takes the body of a skill from the notes after its output, where the host sends it apart. */
function takeBody(notes: string[], args: Json | undefined): string[] {
  const names = isJsonObject(args) ? Object.values(args).filter((one) => typeof one === "string" && one !== "") : [];
  const at = notes.findIndex((note) => names.some((name) => note.includes(String(name))));
  return at < 0 ? [] : notes.splice(at, 1);
}

/** Takes the relay's execution of a call: by its id if the host passes it on, else the first with these arguments. */
function takeRelayed(relayed: Set<RelayedCall>, tool: string, made: Call): Execution | undefined {
  const all = [...relayed].filter((one) => one.tool === tool);
  const written = canonicalJson(made.arguments ?? {});
  const match =
    all.find(({ id }) => id !== "" && id === made.id) ??
    all.find((one) => one.id === "" && canonicalJson(one.arguments) === written);
  if (match) relayed.delete(match);
  return match?.execution;
}

function toExecution(output: ToolOutput, ms: number, { readRefusal, denial }: HostWording): Execution {
  const reason = readRefusal(output);
  if (reason !== undefined) return { status: "skipped", reason, ...(denial?.test(reason) && { denied: true }) };
  const result = { isError: output.isError, content: [{ type: "text", text: output.text }] };
  return { status: "executed", result, ms };
}

/** Words in a text that can be the name of a tool or skill. */
const nameWords = /[A-Za-z0-9_.:-]+/g;

/** How many characters of a description must be shown for it to count as cut rather than missing. */
const recognizedCharacters = 24;
/** The longest markup between the name of a skill and its description, in characters. */
const markupCharacters = 60;

const escapes: Readonly<Record<string, string>> = { quot: '"', apos: "'", "#39": "'", lt: "<", gt: ">", amp: "&" };
const plainText = (text: string) =>
  squeeze(text.replace(/&(quot|apos|#39|lt|gt|amp);/g, (_, name) => escapes[name] ?? ""));

/**
 * What a conversation showed. A tool is `named` when its name is a word of the prompt; a skill is shown in full or cut
 * when its description, or the beginning of it, is in the prompt. White space is not compared, and escapes of XML, as
 * hosts write them in lists of skills, are read.
 */
export function describeShown(
  exchanges: readonly Exchange[],
  conversation: readonly Exchange[],
  { skills, instructions }: Pick<HostedTrial, "skills" | "instructions">,
  { toListed, shown }: Pick<Offer, "toListed" | "shown">,
  { searchTools }: HostWording,
): Shown | undefined {
  const first = conversation[0]?.request;
  if (!first) return undefined;
  const defined = new Map(first.tools.map((tool) => [tool.name, tool]));
  const prompt = [...first.texts, ...first.tools.map(({ description }) => description)].join("\n");
  const words = new Set([...prompt.matchAll(nameWords)].map(([word]) => word.replace(/(?<![.:-])[.:-]+$/, "")));
  const plain = plainText(prompt);
  const level = (name: string) => {
    const tool = defined.get(name);
    if (tool) return tool.deferred ? "deferred" : "full";
    return words.has(name) ? "named" : "hidden";
  };
  const shownTools: Shown["tools"] = { full: [], deferred: [], named: [], hidden: [] };
  for (const name of shown) shownTools[level(name)].push(toListed(name));
  const shownSkills: Shown["skills"] = { full: [], cut: [], named: [], hidden: [] };
  for (const { name, description } of skills) shownSkills[findListing(plain, name, plainText(description))].push(name);
  const offered = new Set(shown);
  const added = conversation.slice(1).flatMap(({ request: { tools } }) => tools.map(({ name }) => name));
  // If deferred definitions are in every request, a search makes the provider show them.
  const outputs = conversation.flatMap(({ request, reply }) => [...request.outputs, ...(reply?.answered ?? [])]);
  const later = [...added.filter((name) => !defined.has(name)), ...outputs.flatMap(({ found }) => found ?? [])];
  const loaded = [...new Set(later)].filter((name) => offered.has(name)).map(toListed);
  const search = first.tools.find(({ name }) => searchTools.has(name))?.name;
  return {
    tools: shownTools,
    loaded: loaded.filter((name) => !shownTools.full.includes(name)),
    skills: shownSkills,
    builtIns: [...defined.keys()].filter((name) => !offered.has(name)),
    ...(search !== undefined && { search }),
    ...(instructions.length > 0 && { instructions: instructions.every(({ text }) => plain.includes(plainText(text))) }),
    requests: exchanges.length,
    firstRequestBytes: conversation[0]?.bytes ?? 0,
  };
}

/** How a listing in the prompt shows a skill: its description follows its name, with any markup between them. */
function findListing(prompt: string, name: string, description: string): keyof Shown["skills"] {
  const beginning = description.slice(0, recognizedCharacters);
  let found: keyof Shown["skills"] = "hidden";
  for (let at = prompt.indexOf(name); at >= 0; at = prompt.indexOf(name, at + 1)) {
    const isWord = !/[\w-]/.test(prompt[at - 1] ?? "") && !/[\w-]/.test(prompt[at + name.length] ?? "");
    if (!isWord) continue;
    const rest = prompt.slice(at + name.length, at + name.length + markupCharacters + description.length);
    if (rest.includes(description)) return "full";
    if (rest.slice(0, markupCharacters + beginning.length).includes(beginning)) found = "cut";
    else if (found === "hidden") found = "named";
  }
  return found;
}
