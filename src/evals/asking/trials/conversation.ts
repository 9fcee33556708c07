import type { AskedModel, HostedTrial, HostModel, Message, ModelRequest } from "../../base/types/model.ts";
import { type SkillPackage, skillEntryName } from "../../base/types/skill.ts";
import { type Case, getMessages } from "../../base/types/suite.ts";
import { isCallable, type OfferedTool, type Toolset } from "../../base/types/tool.ts";
import {
  type Answer,
  addUsage,
  type Broken,
  type Call,
  type Cell,
  type ToolSearch,
  type Turn,
  type Usage,
} from "../../base/types/trial.ts";
import { createToolset } from "../../servers/toolList.ts";
import { isWritable, listLoadedSkills } from "../scoring/activity.ts";
import { createDispatchReader, type ReadDispatch } from "../scoring/dispatch.ts";
import { createSkip, type Executor, renderResult } from "./execution.ts";
import { getExposure, orderTools, orderToolsOnce, type PlannedCell } from "./plan.ts";
import { createLibrary, offerSkills, type SkillShelf } from "./skills.ts";
import { isDeferred, type ToolIndex, TrialSearch } from "./toolSearch.ts";

/**
 * Tools as a host shows them. `listedName` maps a shown name back to the listed one, and `listedArguments` the
 * arguments of a call of it; without it, these have their own names. `index`: only the names of its tools are shown,
 * and the client searches them. `search`: definitions are deferred to this search of the API.
 */
export type ShownTools = {
  tools: readonly OfferedTool[];
  listedName: (shown: string) => string;
  listedArguments?: (shown: string, args: Call["arguments"]) => Call["arguments"];
  index?: ToolIndex;
  search?: string;
};

/** Presents the tools of a cell, and the skills that its suite offers, if any. */
export type Presenter = { show(cell: PlannedCell): ShownTools; skills(cell: PlannedCell): SkillShelf | undefined };

/** One conversation. `tools` are in the order and with the names to show. */
export type Conversation = Pick<ShownTools, "listedName" | "listedArguments"> & {
  cell: Cell;
  /** What the order of the tools was drawn with. */
  seed: number;
  model: AskedModel;
  messages: readonly Message[];
  tools: readonly OfferedTool[];
  toolset: string;
  catalog?: ModelRequest["catalog"];
  /** With deferred definitions: the search on the client. */
  search?: TrialSearch;
  /** With deferred definitions: the tools that the API searches. */
  deferred?: NonNullable<ModelRequest["deferred"]>;
  /** Further user messages. Each is sent when the replies to the previous one are complete. */
  followUps?: readonly string[];
  /** Maximum number of replies to one user message. */
  maxTurns: number;
  executor: Pick<Executor, "execute"> & Partial<Pick<Executor, "readList">>;
  /** What is shown from now on, after a server changed its list. */
  showAgain?(tools: readonly OfferedTool[]): Shown;
  /** Reads calls made through dispatchers, if the suite has any. */
  readDispatch?: ReadDispatch;
  /** Whether the calls so far decide the trial, so that it can end. */
  isDecided?(calls: readonly Call[]): boolean;
};

/** What a change of the list changes in a conversation. */
type Shown = Pick<Conversation, "tools" | "toolset" | "listedName" | "listedArguments" | "search" | "deferred">;

/** Turns that only search do not count as turns of the case. A trial ends after this many of them. */
export const maxSearchTurns = 5;

/**
 * Sends the messages, executes the calls of each reply in order and sends the results back, until the model makes no
 * call, `maxTurns` is reached or the calls decide the trial. Repeats this for each further user message. Does not
 * throw.
 */
export async function converse(given: Conversation, signal: AbortSignal): Promise<Answer> {
  const { model, maxTurns, isDecided, executor, followUps = [] } = given;
  let conversation = given;
  const messages = [...conversation.messages];
  const turns: Turn[] = [];
  let lost: Usage | undefined;
  const end = (outcome: Answer["outcome"], last: readonly Turn[] = []): Answer => {
    const names = conversation.search?.deferred ?? conversation.deferred?.names;
    const deferred = names && new Set([...names].map(conversation.listedName));
    return { outcome, turns: [...turns, ...last], ...(deferred && { deferred }), ...(lost && { lost }) };
  };
  for (let asked = 1, counted = 0, searching = 0; counted < maxTurns && searching <= maxSearchTurns; ) {
    const update = turns.length > 0 ? await executor.readList?.(signal) : undefined;
    if (update && "kind" in update) return end(update);
    if (update) conversation = { ...conversation, ...conversation.showAgain?.(update.tools) };
    const reply = await model.ask(createRequest(conversation, turns.length + 1, messages), signal);
    if (reply.lost) lost = addUsage(lost, reply.lost);
    if (reply.kind === "broken") {
      const { lost: _, ...outcome } = reply;
      return end(outcome);
    }
    const calls = reply.turn.calls.map((call) => toListed(call, conversation));
    const executed = await executeAll(calls, conversation, signal);
    if ("kind" in executed) return end(executed, [{ ...reply.turn, calls }]);
    const searches = [...(reply.turn.searches ?? []), ...executed.searches].map(({ query, found }) => {
      return { query, found: found.map(conversation.listedName) };
    });
    const found = searches.length > 0 && { searches };
    const userTurn = asked > 1 && { userTurn: asked };
    const listChange = update && { listChange: update.change };
    turns.push({ ...reply.turn, calls: executed.calls, ...found, ...listChange, ...userTurn });
    if (isDecided?.(turns.flatMap((one) => one.calls))) break;
    const isComplete = calls.length === 0;
    if (!isComplete && executed.calls.every(({ role }) => role === "search")) searching++;
    else counted++;
    const next = isComplete || counted === maxTurns || searching > maxSearchTurns ? followUps[asked - 1] : undefined;
    if (isComplete && next === undefined) break;
    // The provider's own payload goes back unchanged, with the shown names in its calls. Services refuse an empty
    // reply.
    if (!isComplete || reply.turn.text.trim() !== "")
      messages.push({ role: "assistant", content: reply.turn.text, turn: reply.turn, native: reply.native });
    const results = executed.calls.flatMap(({ id, tool, execution }) =>
      execution ? { callId: id, tool, ...renderResult(execution) } : [],
    );
    if (!isComplete) messages.push({ role: "results", results });
    if (next === undefined) continue;
    messages.push({ role: "user", content: next });
    asked++;
    counted = 0;
    searching = 0;
  }
  return end({ kind: "answered" });
}

function createRequest(
  { cell, seed, tools, toolset, catalog, search, deferred }: Conversation,
  turn: number,
  messages: readonly Message[],
): ModelRequest {
  const request = { cell, seed, turn, messages, ...(catalog && { catalog }), ...(deferred && { deferred }) };
  if (!search) return { ...request, tools, toolset };
  const shown = [...search.tools, ...tools];
  const names = shown.map(({ name }) => name).sort();
  return { ...request, tools: shown, toolset: JSON.stringify([toolset, names]), ...search.loader };
}

/** A call under the names that the server lists. */
function toListed(call: Call, { listedName, listedArguments }: Conversation): Call {
  const args = listedArguments?.(call.tool, call.arguments) ?? call.arguments;
  return { ...call, tool: listedName(call.tool), ...(args !== undefined && { arguments: args }) };
}

/** Maximum number of executed calls per reply; no request needs as many. Further calls are recorded only. */
const maxExecuted = 128;
const tooMany = `no more than ${maxExecuted} calls of a reply are executed`;

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
    const isExecuted = done.length < maxExecuted;
    const execution = isExecuted ? await executor.execute(call, signal) : createSkip(tooMany);
    if ("kind" in execution) return execution;
    const executed: Call = { ...call, execution };
    const read = readDispatch?.(executed);
    done.push(read?.call ?? executed);
    if (read?.search) searches.push(read.search);
  }
  return { calls: done, searches };
}

/** Creates the conversation of a cell: the messages of the case, with tools and skills in the order of the trial. */
export function createConversation(
  plannedCell: PlannedCell & { model: AskedModel },
  presenter: Presenter,
  executor: Conversation["executor"],
): Conversation {
  const { cell, orderSeed, model, planned } = plannedCell;
  const { case: one, toolset } = planned;
  const skills = presenter.skills(plannedCell);
  const files = one.files ?? [];
  const access = { readable: gradesMoreThanLoading(one), writable: isWritable(one) };
  const entries = orderTools(toolset.tools.filter(isSkill), orderSeed);
  const instructions = renderInstructions(listInstructions(toolset.tools));
  const shelf = { files: files.map(({ path }) => path), ...access, listing: skills?.listing };
  const offer = offerSkills(entries, skills?.form ?? "skill-tool", shelf);
  const readDispatch = createDispatchReader(one.dispatch, one.expect, toolset);
  const offered = new Set(offer.catalog?.map(({ name }) => name));
  const library = createLibrary(skills ?? noSkills, offered, files, access);
  let ordered: readonly OfferedTool[] | undefined;
  let search: TrialSearch | undefined;
  const show = ({ hash, tools: listed }: Toolset): Shown => {
    const shown = presenter.show({ ...plannedCell, planned: { ...planned, toolset: { hash, tools: listed } } });
    const { tools, listedName, listedArguments, index, search: apiSearch } = shown;
    ordered = ordered ? keepOrder(tools, ordered) : orderToolsOnce(tools, orderSeed, listedName);
    if (index) search = search?.update(index, ordered) ?? new TrialSearch(index, ordered);
    return {
      tools: search ? offer.tools : [...ordered, ...offer.tools],
      // Models keep what they make of a list under this key, and the tools of the harness differ by case.
      toolset: [hash, ...offer.tools.map(({ name }) => name)].join(" "),
      ...(search && { search }),
      ...(apiSearch !== undefined && {
        deferred: { names: new Set(tools.filter(isDeferred).map(({ name }) => name)), search: apiSearch },
      }),
      listedName,
      ...(listedArguments && { listedArguments }),
    };
  };
  const first = show(toolset);
  // Services refuse messages of white space alone.
  const messages = getMessages(one, cell.trial).filter(({ content }) => content.trim() !== "");
  const prompt = [instructions, first.search?.prompt, offer.prompt].filter(Boolean).join("\n\n");
  return {
    ...first,
    cell,
    seed: orderSeed,
    model,
    messages: addPrompt(messages, prompt),
    ...(offer.catalog && { catalog: offer.catalog }),
    showAgain: (tools) => show(createToolset(tools)),
    ...(one.turns && { followUps: one.turns.slice(1).map(({ content }) => content) }),
    maxTurns: one.maxTurns,
    executor: {
      execute: async (call, signal) => (await library.execute(call)) ?? (await executor.execute(call, signal)),
      ...(executor.readList && { readList: executor.readList }),
    },
    ...(readDispatch && { readDispatch }),
    isDecided: createDecision(one),
  };
}

/** The tools in the order of an earlier list; new ones follow. */
function keepOrder(tools: readonly OfferedTool[], earlier: readonly OfferedTool[]): OfferedTool[] {
  const locations = new Map(earlier.map(({ name }, at) => [name, at]));
  const locationOf = ({ name }: OfferedTool) => locations.get(name) ?? locations.size;
  return [...tools].sort((a, b) => locationOf(a) - locationOf(b));
}

/** Returns why a case cannot be asked in a host: hosts take one prompt, and few can be restricted to writing files. */
export function findUnfit(
  { id, writesFiles }: HostModel,
  { turns, expectedFiles }: Pick<Case, "turns" | "expectedFiles">,
): string | undefined {
  if (turns) return `${id} accepts only one user message, and the case has several turns`;
  return expectedFiles && !writesFiles ? `${id} writes no files in a trial, and the case expects some` : undefined;
}

/** Creates the trial of a cell for a host that runs the conversation itself. */
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

/** The instructions that servers give, sorted by server. */
function listInstructions(tools: readonly OfferedTool[]): HostedTrial["instructions"] {
  const given = tools.filter(({ origin, description }) => origin === "instructions" && description);
  const texts = given.map(({ server, description: text = "" }) => ({ server, text }));
  return texts.sort((a, b) => (a.server < b.server ? -1 : 1));
}

/** The prompt section in which hosts show the instructions of servers; empty without any. */
function renderInstructions(instructions: HostedTrial["instructions"]): string {
  if (instructions.length === 0) return "";
  const parts = instructions.map(({ server, text }) => `## ${server}\n\n${text}`);
  return ["# Instructions of the MCP servers", ...parts].join("\n\n");
}

const isSkill = ({ origin }: OfferedTool) => origin === "skill";

/** Whether a case grades what a model does after it has loaded a skill, so that it needs the instructions. */
function gradesMoreThanLoading(one: Case): boolean {
  const { expect, expectedBehavior, assertions = [], turns, maxTurns } = one;
  const isAboutTools = expect?.kind === "tool" || expect?.kind === "calls" || expect?.kind === "any";
  if (turns || isWritable(one) || (isAboutTools && maxTurns > 1)) return true;
  return expectedBehavior.length + assertions.length > 0;
}

/** The package of an entry, with the arm's description. For a package that was removed, only name and description. */
function toPackage({ name, description = "" }: OfferedTool, packages?: SkillShelf["packages"]): SkillPackage {
  const skill = name.slice(skillEntryName("").length);
  const known = packages?.get(skill);
  if (known) return { ...known, description };
  const document = { frontMatter: {}, locations: {}, body: "", bodyLine: 1, steps: [], never: [], references: [] };
  return { name: skill, folder: skill, description, dir: "", file: "", level: "named", document, hash: "" };
}

function addPrompt(messages: Case["messages"], prompt: string): Case["messages"] {
  if (prompt === "") return messages;
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: prompt }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${prompt}` }, ...others];
}

/**
 * Decides when a trial can end. A trigger trial ends when its skill is loaded, because nothing after that changes its
 * score. It continues after any other call, because the model may explore first and load the skill later.
 */
function createDecision(one: Case): (calls: readonly Call[]) => boolean {
  const { expect } = one;
  if (gradesMoreThanLoading(one)) return () => false;
  if (expect?.kind === "skill" && expect.avoid.length === 0) {
    return (calls) => {
      const loaded = listLoadedSkills(calls);
      return expect.skill === "none" ? loaded.length > 0 : loaded.includes(expect.skill);
    };
  }
  const avoided = expect?.kind === "avoid" ? expect.avoid : [];
  return (calls) => listLoadedSkills(calls).some((skill) => avoided.includes(skillEntryName(skill)));
}
