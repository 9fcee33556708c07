import { isJsonObject, type Json, type JsonObject, parseExactJson, writeExactJson } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import {
  asList,
  asObject,
  asText,
  expectCall,
  type Format,
  type ImportedCase,
  keep,
  keepJudged,
  type Loss,
  leaveOut,
  listObjects,
  listOtherKeys,
  malformed,
  oneOrSeveral,
  parseData,
  readTexts,
  toLiteral,
  toLiteralArgs,
  toObject,
} from "./format.ts";

/**
 * What a case of a list becomes: its content, sentences for a judge, and the reason for which it is left out if it
 * expects nothing. A text is the reason for which it is left out.
 */
type ListedCase =
  | string
  | { content: Omit<CaseFile, "id" | "input">; sentences?: readonly string[]; otherwise?: string };

/** Where the cases of a format stand, and how each is read. */
type ListRules = {
  /** The key of the list; absent: the file is the list. */
  list?: string;
  /** The key of what the user says. */
  query: string;
  /** The key of what names a case. */
  id: string;
  /** Whether `id` is also the id of the case. */
  isId?: boolean;
  /** Other keys that are read, or that say nothing about the expectation. */
  keys: readonly string[];
  /** What is lost of every file. */
  lost?: string;
  /** Adds what cannot be kept to `losses`. */
  read(entry: JsonObject, losses: Loss[], query: string): ListedCase;
};

/** The format of a file that is, or has, a list of objects. */
function createListFormat(format: Pick<Format, "name" | "label" | "recognizes"> & ListRules): Format {
  const { name, label, recognizes, list, query: queryKey, id: idKey, isId = true, keys, lost, read } = format;
  return {
    name,
    label,
    recognizes,
    async read(source, context) {
      const parsed = await parseData(source);
      const path = list === undefined ? [] : [list];
      const entries = listObjects(parsed, path, list === undefined ? "The file" : `"${list}"`);
      const cases = entries.map(({ path: at, entry }): ImportedCase => {
        const [id, query] = [asText(entry[idKey]), asText(entry[queryKey])];
        const losses: Loss[] = listOtherKeys(entry, [idKey, queryKey, ...keys]);
        const common = { name: id ?? query ?? "", location: parsed.location(at), losses };
        if (query === undefined) return leaveOut(common, `it has no ${queryKey}`);
        const found = read(entry, losses, query);
        if (typeof found === "string") return leaveOut(common, found);
        const named = isId && id !== undefined && { id };
        const prompt = found.content.messages ? {} : { input: query };
        const content = { ...named, ...prompt, ...found.content };
        const { sentences = [], otherwise = "it expects nothing" } = found;
        return keepJudged(context, common, content, sentences, otherwise);
      });
      const others = listOtherKeys(asObject(parsed.value), ["version", "description", list ?? ""]);
      return { file: source.file, cases, losses: [...(lost === undefined ? [] : [{ what: lost }]), ...others] };
    },
  };
}

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;
const isGiven = (value: Json | undefined): boolean => value !== undefined && value !== null;

const gradedByNothing = "it has no expected_result: a judge scores it by nothing in particular";
const mcpEvals = createListFormat({
  name: "mcp-evals",
  label: "mcp-evals",
  recognizes: ({ file, text }) =>
    /\.ya?ml$/.test(file) &&
    /^evals:/m.test(text) &&
    /^[ \t]+prompt:/m.test(text) &&
    /expected_result:|^model:/m.test(text),
  list: "evals",
  query: "prompt",
  id: "name",
  isId: false,
  keys: ["description", "expected_result"],
  lost: "the scores from 1 to 5: a judge decides whether the sentence is met",
  read: ({ expected_result: expected }) => {
    return { content: { maxTurns: 8 }, sentences: [asText(expected) ?? ""], otherwise: gradedByNothing };
  },
});

/** In code, an evaluation of mcp-evals is `grade(model, "query")`, which expects nothing. */
const gradedQuery = /\bgrade\([^"'`]{0,200}(?:"[^"]{0,200}"[^"'`]{0,200})?,\s*(["'`])((?:\\.|(?!\1)[^\\]){1,2000})\1/g;
const isMcpEvalsCode = ({ file, text }: { file: string; text: string }) =>
  /\.[mc]?[jt]s$/.test(file) && /["']mcp-evals["']/.test(text);

/** The formats that are lists of tasks. */
export const listFormats: readonly Format[] = [
  createListFormat({
    name: "apify",
    label: "Apify's test_cases.json",
    recognizes: ({ file, text }) => file.endsWith(".json") && /"testCases"/.test(text) && /"expectedTools"/.test(text),
    list: "testCases",
    query: "query",
    id: "id",
    keys: ["category", "expectedTools", "reference", "context"],
    read({ expectedTools, reference, context }, losses, query) {
      const tools = readTexts(expectedTools, "expectedTools", losses);
      const sentences = readTexts(reference, "reference", losses);
      if (tools.length === 0 && isGiven(expectedTools) && !isEmptyList(expectedTools))
        return "no entry of its expectedTools is text";
      if (isEmptyList(expectedTools))
        losses.push({ what: "that an empty expectedTools passes whatever is called: no call is expected" });
      const [only, ...others] = tools;
      const all = { calls: tools.map((tool) => ({ tool })), order: "any" as const };
      const expect = only === undefined ? { tool: "none" } : others.length === 0 ? { tool: only } : all;
      // Their harness sends the context as a message of the user.
      const before = `My previous interaction with the assistant: ${writeExactJson(context ?? null)}`;
      const messages = [before, query].map((content) => ({ role: "user" as const, content }));
      const content = { ...(isGiven(context) && { messages }), ...(isGiven(expectedTools) && { expect }) };
      return { content, sentences };
    },
  }),
  createListFormat({
    name: "apify-tasks",
    label: "Apify's dataset snapshot",
    recognizes: ({ file, text }) =>
      file.endsWith(".json") &&
      /"query"/.test(text) &&
      /"(?:reference|expectedTools)"/.test(text) &&
      /^\s*\[/.test(text),
    query: "query",
    id: "id",
    keys: [
      ...["category", "tier", "kind", "reference", "maxTurns", "tools", "failTools"],
      ...["expectedTools", "expectedArgs", "mcpToolsOnly"],
    ],
    read({ kind, reference, maxTurns, tools, failTools, expectedTools, expectedArgs }, losses) {
      if (tools !== undefined) losses.push({ what: "tools that are switched on for one task" });
      if (failTools !== undefined) losses.push({ what: "tools that are made to fail" });
      // Of a "selection", later a "tool-call", only the first call is scored: any expected tool, with these arguments.
      const names = readTexts(expectedTools, "expectedTools", losses);
      if (names.length > 0)
        return { content: { expect: expectCall(oneOrSeveral(names), toLiteralArgs(asObject(expectedArgs))) } };
      if (kind === "agent") losses.push({ what: "that an error of a tool fails the task" });
      const wanted = typeof maxTurns === "number" ? maxTurns : 10;
      const most = Math.min(100, Math.max(1, Math.floor(wanted)));
      if (most !== wanted) losses.push({ what: `maxTurns that is no whole number from 1 to 100`, detail: `${wanted}` });
      const otherwise = "it has no reference, so nothing would be checked";
      return { content: { maxTurns: most }, sentences: [asText(reference) ?? ""], otherwise };
    },
  }),
  createListFormat({
    name: "posthog",
    label: "PostHog's tasks.yaml",
    recognizes: ({ file, text }) =>
      /\.ya?ml$/.test(file) && /^tasks:/m.test(text) && /\bexpected_tools:/.test(text) && /\bintent:/.test(text),
    list: "tasks",
    query: "intent",
    id: "id",
    keys: ["category", "expected_tools", "acceptable_tools", "success_criteria", "probe"],
    read({ expected_tools: expectedTools, acceptable_tools, success_criteria, probe }, losses) {
      if (isJsonObject(probe)) losses.push({ what: "a probe without a model, which is `evals probe --call`" });
      const expected = readTexts(expectedTools, "expected_tools", losses);
      const listed = readTexts(acceptable_tools, "acceptable_tools", losses);
      const acceptable = listed.filter((name) => !expected.includes(name));
      const sentences = readTexts(success_criteria, "success_criteria", losses);
      if (expected.length === 0)
        return isGiven(expectedTools) && !isEmptyList(expectedTools)
          ? "no entry of its expected_tools is text"
          : "it has no expected_tools";
      // In PostHog, a call of any expected tool passes, after any other calls.
      const substitutes = acceptable.length > 0 && { acceptable: oneOrSeveral(acceptable) };
      const expect = { calls: [{ tool: oneOrSeveral(expected), ...substitutes }], extras: true };
      return { content: { expect, maxTurns: 8 }, sentences };
    },
  }),
  createListFormat({
    name: "whichtool",
    label: "whichtool's task set",
    recognizes: ({ file, text }) =>
      /\.(?:ya?ml|json)$/.test(file) &&
      /^[ \t]*"?tasks"?:/m.test(text) &&
      /\bprompt"?:/.test(text) &&
      /\bexpected"?:\s/.test(text) &&
      /"?surface"?:|whichtool/.test(text + file),
    list: "tasks",
    query: "prompt",
    id: "id",
    keys: ["expected", "tags", "derivedFrom"],
    read({ expected, derivedFrom }, losses) {
      if (derivedFrom !== undefined) losses.push({ what: "the task that it is derived from" });
      const tool = asText(expected);
      if (tool === undefined && expected !== null)
        return expected === undefined ? "it expects nothing" : "its expected tool is not text";
      return { content: { expect: { tool: tool ?? "none" } } };
    },
  }),
  {
    ...mcpEvals,
    recognizes: (source) => mcpEvals.recognizes(source) || isMcpEvalsCode(source),
    async read(source, context) {
      if (!isMcpEvalsCode(source)) return mcpEvals.read(source, context);
      const { file, text } = source;
      const cases = [...text.matchAll(gradedQuery)].map(({ 2: name = "", index }) => {
        const location = { file, line: text.slice(0, index).split("\n").length };
        return leaveOut({ name, location, losses: [] }, gradedByNothing);
      });
      return { file, cases, losses: [] };
    },
  },
];

const interactions: Readonly<Record<string, string>> = {
  "clarification-required": "the query lacks parameters that the user has to give first",
  "context-required": "the query needs an attachment or a project that is not in the file",
  "investigation-required": "its source marks the expected tool as not certain",
};

const head = /^\|\s*Tool Name\s*\|\s*Test Prompt\s*\|/i;

/** Splits a row into cells. Backticks around the first one, the tool, are removed. */
function splitRow(line: string): string[] {
  const row = line.trim().replace(/^\||(?<!\\)\|$/g, "");
  const [tool = "", ...cells] = row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  return [tool.replace(/^`(.*)`$/, "$1"), ...cells];
}

/** A Markdown table of `tool | prompt | interaction`, as in e2eTestPrompts.md of microsoft/mcp. */
export const promptTable: Format = {
  name: "prompt-table",
  label: "Markdown table of prompts (microsoft/mcp)",
  hasPlaceholders: true,
  recognizes: ({ file, text }) => /\.md$/i.test(file) && text.split("\n").some((line) => head.test(line)),
  async read({ file, text }) {
    let isInTable = false;
    const cases = text.split(/\r?\n/).flatMap((line, at): ImportedCase[] => {
      const isHead = head.test(line);
      const isRow = isInTable && /^\|/.test(line) && !/^[\s|:-]+$/.test(line);
      isInTable = isHead || (isInTable && /^\|/.test(line));
      if (isHead || !isRow) return [];
      const [tool = "", ...cells] = splitRow(line);
      const interaction = cells.length > 1 && /^[a-z-]+$/.test(cells.at(-1) ?? "") ? cells.pop() : undefined;
      const prompt = cells.join(" | ");
      const common = { name: prompt, location: { file, line: at + 1 }, losses: [] };
      if (prompt === "") return [leaveOut({ ...common, name: tool }, "the row has no prompt")];
      if (!/^[\w.-]+$/.test(tool)) return [leaveOut(common, "the row does not begin with the name of a tool")];
      const reason = interaction === undefined ? undefined : interactions[interaction];
      if (reason !== undefined) return [leaveOut(common, `${interaction}: ${reason}`)];
      if (interaction !== undefined && interaction !== "none")
        return [leaveOut(common, `unknown interaction "${interaction}"`)];
      return [keep(common, { input: prompt, expect: { tool } })];
    });
    return { file, cases, losses: [] };
  },
};

/** The same as a JSON object of lists: `{ tool: [prompt, ...] }`. */
export const promptLists: Format = {
  name: "prompt-lists",
  label: "JSON lists of prompts by tool (microsoft/mcp)",
  hasPlaceholders: true,
  recognizes: ({ file, text }) => /prompts\.json$/i.test(file) && /^\s*\{\s*"[^"]+"\s*:\s*\[/.test(text),
  async read(source) {
    const parsed = await parseData(source);
    const { value } = parsed;
    if (!isJsonObject(value)) throw malformed(parsed, [], "The file must be an object of lists by tool.");
    const cases = Object.entries(value).flatMap(([tool, list]) => {
      if (!Array.isArray(list)) throw malformed(parsed, [tool], `"${tool}" must be a list of prompts.`);
      return list.map((entry, at) => {
        const input = asText(entry);
        const common = { name: input ?? tool, location: parsed.location([tool, at]), losses: [] };
        if (input === undefined) return leaveOut(common, "the prompt is not a text");
        return keep(common, { input, expect: { tool } });
      });
    });
    return { file: source.file, cases, losses: [] };
  },
};

const ownRules =
  "here, space and punctuation in texts count, texts inside of values are compared without case, any number fits a number, and parallel calls are paired so that as many as possible fit";

/** The Berkeley leaderboard: a JSON object per line, `{ id, question, function, ground_truth? }`. */
export const bfcl: Format = {
  name: "bfcl",
  label: "Berkeley Function-Calling Leaderboard",
  recognizes: ({ file, text }) => /\.jsonl?$/.test(file) && /^\s*\{"id":\s*"[^"]+",\s*"question":/.test(text),
  async read({ file, text }) {
    const cases = text.split(/\r?\n/).flatMap((line, at): ImportedCase[] => {
      if (line.trim() === "") return [];
      const location = { file, line: at + 1 };
      try {
        return [readEntry(asObject(parseExactJson(line)), location)];
      } catch {
        return [leaveOut({ name: `line ${at + 1}`, location, losses: [] }, "the line is not JSON")];
      }
    });
    return { file, cases, losses: [{ what: "rules of the leaderboard", detail: ownRules }] };
  },
};

function readEntry(entry: JsonObject, location: ImportedCase["location"]): ImportedCase {
  const id = asText(entry.id) ?? "";
  const common = { name: id, location, losses: listOtherKeys(entry, ["id", "question", "function", "ground_truth"]) };
  const turns = Array.isArray(entry.question) ? entry.question : [];
  if (turns.length !== 1) return leaveOut(common, "a conversation of several turns with an executed backend");
  const messages = ([turns].flat(2) as Json[]).filter(isJsonObject).map(({ role, content }) => ({ role, content }));
  const functions = asList(entry.function).filter(isJsonObject);
  const tools = functions.map(({ name, description, parameters }) => ({
    name: String(name).replaceAll(".", "_"),
    description: String(description ?? ""),
    inputSchema: toSchema(asObject(parameters)),
  }));
  const base = { id, messages, tools } as unknown as CaseFile;
  if (/irrelevance/.test(id)) return keep(common, { ...base, expect: { tool: "none" } });
  const truth = asList(entry.ground_truth).filter(isJsonObject);
  if (truth.length === 0)
    return leaveOut(common, "the accepted answers are in another file; join them as `ground_truth`");
  const calls = truth.flatMap(Object.entries<Json>).map(([name, args]) => {
    return { tool: name.replaceAll(".", "_"), args: acceptMembers(asObject(args)) };
  });
  return keep(common, { ...base, expect: { calls, order: "any", argsMode: "exact" } });
}

const acceptMembers = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, accepted]) => [name, acceptAny(accepted)]));

/** A matcher for a list of accepted values, in which "" means that the value may be omitted. */
function acceptAny(accepted: Json): Json {
  const given = Array.isArray(accepted) ? accepted : [accepted];
  const values = new Map(given.filter((one) => one !== "").map((one) => [JSON.stringify(one), acceptOne(one)]));
  const [only = { $absent: true }, ...others] = values.values();
  const matcher = others.length === 0 ? only : { $anyOf: [only, ...others] };
  return given.includes("") && values.size > 0 ? { $optional: matcher } : matcher;
}

/** Texts are compared without case. The members of an object are lists of accepted values again. */
function acceptOne(value: Json): Json {
  if (asText(value) !== undefined) return { $ignoreCase: value };
  if (Array.isArray(value)) return value.map(acceptOne);
  return isJsonObject(value) ? toObject(acceptMembers(value)) : toLiteral(value);
}

const types: Readonly<Record<string, string>> = { dict: "object", tuple: "array", float: "number", any: "string" };

/** Converts the leaderboard's type names to those of JSON Schema. */
function toSchema(schema: JsonObject): JsonObject {
  const convert = (key: string, value: Json): Json => {
    if (key === "type" && typeof value === "string") return types[value] ?? value;
    if (key === "items") return toSchema(asObject(value));
    if (key !== "properties") return value;
    return Object.fromEntries(Object.entries(asObject(value)).map(([name, one]) => [name, toSchema(asObject(one))]));
  };
  const kept = Object.entries(schema).filter(([key]) => key !== "optional");
  return Object.fromEntries(kept.map(([key, value]) => [key, convert(key, value)]));
}
