import { listLoadedSkills } from "../scoring/activity.ts";
import { createDispatchReader, type ReadDispatch } from "../scoring/dispatch.ts";
import { isWritable } from "../scoring/writtenFiles.ts";
import type { AskedModel, HostedTrial, HostModel, Message, ModelRequest } from "../types/model.ts";
import { type SkillPackage, skillEntryName } from "../types/skill.ts";
import { type Case, getMessages } from "../types/suite.ts";
import { isCallable, type OfferedTool } from "../types/tool.ts";
import {
  type Answer,
  addUsage,
  type Broken,
  type Call,
  type Cell,
  type ToolSearch,
  type Turn,
  type Usage,
} from "../types/trial.ts";
import { type Executor, renderResult } from "./execution.ts";
import { getExposure, orderSurface, orderTools, type PlannedCell } from "./plan.ts";
import { createLibrary, offerSkills, type SkillShelf } from "./skills.ts";
import { isDeferred, type ToolIndex, TrialSearch } from "./toolSearch.ts";

/**
 * How a host shows tools: under their shown names, and the way back. `index`: only the names of the tools in it are shown,
 * and the client searches. `search`: definitions are deferred, and this search of the API finds them.
 */
export type Shown = {
  tools: readonly OfferedTool[];
  listedName: (shown: string) => string;
  index?: ToolIndex;
  search?: string;
};

/** How the tools of a cell are shown, and the skills that its suite offers, if any. */
export type Surface = { show(cell: PlannedCell): Shown; skills(cell: PlannedCell): SkillShelf | undefined };

/** One conversation. `tools` have the order and names to be shown; `listedName` returns the listed name. */
export type Conversation = {
  cell: Cell;
  model: AskedModel;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  toolset: string;
  listedName: (shown: string) => string;
  catalogue?: ModelRequest["catalogue"];
  /** Where definitions are deferred: the search of the client, or what the API has to search. */
  search?: TrialSearch;
  deferred?: NonNullable<ModelRequest["deferred"]>;
  /** What the user says next, each when the replies to the message before it are complete. */
  followUps?: readonly string[];
  /** Maximum replies to one message of the user. */
  maxTurns: number;
  executor: Pick<Executor, "execute">;
  /** Reads calls through dispatchers, where the suite has some. */
  readDispatch?: ReadDispatch;
  /** Whether the calls so far decide the trial, so that it can end. */
  isDecided?(calls: readonly Call[]): boolean;
};

/** Turns that only search are none of the turns of a case; after so many of them a trial ends. */
export const mostSearchTurns = 5;

/**
 * Sends the messages, executes the calls of each reply in their order and sends the results back, until the model makes no
 * call, `maxTurns` is reached or the calls decide the trial; then the same for each further message of the user. Does not
 * throw.
 */
export async function converse(conversation: Conversation, signal: AbortSignal): Promise<Answer> {
  const { model, listedName, maxTurns, isDecided, followUps = [] } = conversation;
  const messages = [...conversation.messages];
  const turns: Turn[] = [];
  let lost: Usage | undefined;
  const deferred = listDeferred(conversation);
  const end = (outcome: Answer["outcome"], last: readonly Turn[] = []): Answer => {
    return { outcome, turns: [...turns, ...last], ...(deferred && { deferred }), ...(lost && { lost }) };
  };
  for (let asked = 1, counted = 0, searching = 0; counted < maxTurns && searching <= mostSearchTurns; ) {
    const reply = await model.ask(createRequest(conversation, turns.length + 1, messages), signal);
    if (reply.lost) lost = addUsage(lost, reply.lost);
    if (reply.kind === "broken") {
      const { lost: _, ...outcome } = reply;
      return end(outcome);
    }
    const calls = reply.turn.calls.map((call) => ({ ...call, tool: listedName(call.tool) }));
    const executed = await executeAll(calls, conversation, signal);
    if ("kind" in executed) return end(executed, [{ ...reply.turn, calls }]);
    const searches = [...(reply.turn.searches ?? []), ...executed.searches].map(({ query, found }) => {
      return { query, found: found.map(listedName) };
    });
    const userTurn = asked > 1 && { userTurn: asked };
    turns.push({ ...reply.turn, calls: executed.calls, ...(searches.length > 0 && { searches }), ...userTurn });
    if (isDecided?.(turns.flatMap((one) => one.calls))) break;
    const isComplete = calls.length === 0;
    if (!isComplete && executed.calls.every(({ role }) => role === "search")) searching++;
    else counted++;
    const next = isComplete || counted === maxTurns || searching > mostSearchTurns ? followUps[asked - 1] : undefined;
    if (isComplete && next === undefined) break;
    // The provider's own payload goes back unchanged; its calls have the names that were shown. Silence has no form.
    if (!isComplete || reply.turn.text !== "")
      messages.push({ role: "assistant", content: reply.turn.text, turn: reply.turn, native: reply.native });
    if (!isComplete) messages.push(toResults(executed.calls));
    if (next === undefined) continue;
    messages.push({ role: "user", content: next });
    asked++;
    counted = 0;
    searching = 0;
  }
  return end({ kind: "answered" });
}

function createRequest(
  { cell, tools, toolset, catalogue, search, deferred }: Conversation,
  turn: number,
  messages: readonly Message[],
): ModelRequest {
  const request = { cell, turn, messages, ...(catalogue && { catalogue }), ...(deferred && { deferred }) };
  if (!search) return { ...request, tools, toolset };
  const shown = [...search.tools, ...tools];
  const names = shown.map(({ name }) => name).sort();
  return { ...request, tools: shown, toolset: JSON.stringify([toolset, names]), ...search.loader };
}

/** The listed names of the tools that are deferred; undefined where all definitions are shown. */
function listDeferred({ search, deferred, listedName }: Conversation): ReadonlySet<string> | undefined {
  const names = search?.deferred ?? deferred?.names;
  return names && new Set([...names].map(listedName));
}

/** More calls of one reply are recorded and not executed: no request needs as many. */
const mostExecuted = 128;
const notExecuted = {
  status: "skipped",
  reason: `no more than ${mostExecuted} calls of a reply are executed`,
} as const;

async function executeAll(
  calls: readonly Call[],
  { executor, search, readDispatch }: Conversation,
  signal: AbortSignal,
): Promise<{ calls: Call[]; searches: ToolSearch[] } | Broken> {
  const done: Call[] = [];
  const searches: ToolSearch[] = [];
  for (const call of calls) {
    const found = search?.answer(call);
    if (found) {
      done.push({ ...call, role: "search", execution: found.execution });
      searches.push(found.search);
      continue;
    }
    const execution = done.length < mostExecuted ? await executor.execute(call, signal) : notExecuted;
    if ("kind" in execution) return execution;
    const executed: Call = { ...call, execution };
    const read: ReturnType<NonNullable<typeof readDispatch>> = readDispatch?.(executed) ?? { call: executed };
    done.push(read.call);
    if (read.search) searches.push(read.search);
  }
  return { calls: done, searches };
}

function toResults(calls: readonly Call[]): Message {
  const results = calls.flatMap(({ id, tool, execution }) =>
    execution ? [{ callId: id, tool, ...renderResult(execution) }] : [],
  );
  return { role: "results", results };
}

/** The conversation of a cell: the messages of the case, with tools and skills in the order of the trial. */
export function createConversation(
  place: PlannedCell & { model: AskedModel },
  surface: Surface,
  executor: Executor,
): Conversation {
  const { cell, orderSeed, model, planned } = place;
  const { case: one, toolset } = planned;
  const skills = surface.skills(place);
  const { tools, listedName, index, search: apiSearch } = surface.show(place);
  const ordered = orderSurface(tools, orderSeed, listedName);
  const search = index && new TrialSearch(index, ordered);
  const files = one.files ?? [];
  const readable = measuresBehaviour(one);
  const entries = orderTools(toolset.tools.filter(isSkill), orderSeed);
  const instructions = renderInstructions(listInstructions(toolset.tools));
  const offer = offerSkills(entries, skills?.form ?? "skill-tool", {
    files: files.map(({ path }) => path),
    writable: isWritable(one),
    readable,
    listing: skills?.listing,
  });
  const readDispatch = createDispatchReader(one.dispatch, one.expect, toolset);
  const library = createLibrary(skills ?? noSkills, new Set(offer.catalogue?.map(({ name }) => name)), files, {
    readable,
    writable: isWritable(one),
  });
  return {
    cell,
    model,
    messages: addPrompt(
      getMessages(one, cell.trial),
      [instructions, search?.prompt, offer.prompt].filter(Boolean).join("\n\n"),
    ),
    tools: search ? offer.tools : [...ordered, ...offer.tools],
    toolset: toolset.hash,
    ...(search && { search }),
    ...(apiSearch !== undefined && {
      deferred: { names: new Set(tools.filter(isDeferred).map(({ name }) => name)), search: apiSearch },
    }),
    ...(offer.catalogue && { catalogue: offer.catalogue }),
    listedName,
    ...(one.turns && { followUps: one.turns.slice(1).map(({ content }) => content) }),
    maxTurns: one.maxTurns,
    executor: {
      execute: async (call, signal) => (await library.execute(call)) ?? (await executor.execute(call, signal)),
    },
    ...(readDispatch && { readDispatch }),
    isDecided: createDecision(one),
  };
}

/** Why a case cannot be asked in a host: it is given one prompt, and few hosts can be allowed to write files alone. */
export function findUnfit(
  { id, writesFiles }: HostModel,
  { turns, expectedFiles }: Pick<Case, "turns" | "expectedFiles">,
): string | undefined {
  if (turns) return `${id} takes one message of the user, and the case has several turns`;
  return expectedFiles && !writesFiles ? `${id} writes no files in a trial, and the case expects some` : undefined;
}

/** The same for a host that holds the conversation itself. */
export function createHostedTrial(
  { cell, orderSeed, model, planned }: PlannedCell,
  skills: SkillShelf | undefined,
  executor: Executor,
): HostedTrial {
  const { case: one, toolset } = planned;
  const offered = orderTools(toolset.tools, orderSeed);
  return {
    cell,
    messages: getMessages(one, cell.trial),
    tools: offered.filter(isCallable),
    instructions: listInstructions(toolset.tools),
    exposure: getExposure(model, planned.exposure).kind,
    skills: offered.filter(isSkill).map((entry) => toPackage(entry, skills?.packages)),
    files: one.files ?? [],
    writable: isWritable(one),
    maxTurns: one.maxTurns,
    execute: executor.execute,
  };
}

const noSkills: Pick<SkillShelf, "packages" | "read"> = {
  packages: new Map(),
  read: async (_, path) => ({ problem: `There is no file ${path}` }),
};

/** The instructions of servers, by server. */
function listInstructions(tools: readonly OfferedTool[]): HostedTrial["instructions"] {
  return tools
    .flatMap(({ origin, server, description = "" }) =>
      origin === "instructions" && description !== "" ? [{ server, text: description }] : [],
    )
    .sort((a, b) => (a.server < b.server ? -1 : 1));
}

/** The section of the prompt in which hosts show what servers say of themselves; empty without instructions. */
function renderInstructions(instructions: HostedTrial["instructions"]): string {
  if (instructions.length === 0) return "";
  const parts = instructions.map(({ server, text }) => `## ${server}\n\n${text}`);
  return ["# Instructions of the MCP servers", ...parts].join("\n\n");
}

const isSkill = ({ origin }: OfferedTool) => origin === "skill";

/** Expected behaviour is about what happens after a skill was loaded; without it, loading is all that is measured. */
const measuresBehaviour = ({ expectedBehavior }: Case) => expectedBehavior.length > 0;

/** The package of an entry with the description of the arm. A package that was removed still has its front matter. */
function toPackage(
  { name, description = "" }: OfferedTool,
  packages: SkillShelf["packages"] = new Map(),
): SkillPackage {
  const skill = name.slice(skillEntryName("").length);
  const known = packages.get(skill);
  if (known) return { ...known, description };
  const document = { frontMatter: {}, places: {}, body: "", bodyLine: 1, steps: [], never: [], references: [] };
  return { name: skill, folder: skill, description, dir: "", file: "", level: "named", document, hash: "" };
}

function addPrompt(messages: Case["messages"], prompt: string): Case["messages"] {
  if (prompt === "") return messages;
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: prompt }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${prompt}` }, ...others];
}

/**
 * Decides when a trial can end. A trigger trial ends when its skill was loaded, because nothing after that changes its
 * score. It continues after any other call: a skill can be loaded after the model has looked around.
 */
function createDecision(one: Case): (calls: readonly Call[]) => boolean {
  const { expect } = one;
  if (measuresBehaviour(one) || isWritable(one) || one.turns) return () => false;
  if (expect?.kind === "skill" && expect.avoid.length === 0) {
    return (calls) => {
      const loaded = listLoadedSkills(calls);
      return expect.skill === "none" ? loaded.length > 0 : loaded.includes(expect.skill);
    };
  }
  const avoided = expect?.kind === "avoid" ? expect.avoid : [];
  return (calls) => listLoadedSkills(calls).some((skill) => avoided.includes(skillEntryName(skill)));
}
