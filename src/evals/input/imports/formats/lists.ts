import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import type { CaseFile } from "../../../base/types/suiteFile.ts";
import { asObject, asText, listObjects, listOtherKeys, parseData, readTexts, toLiteralArgs } from "./data.ts";
import {
  expectCall,
  type Format,
  type ImportContext,
  type ImportedCase,
  keepJudged,
  type Loss,
  leaveOut,
  oneOrSeveral,
  type SourceFile,
} from "./imported.ts";

/**
 * What a case of a list becomes: its content, sentences for a judge, and the reason for which it is left out if it expects
 * nothing. A text is the reason for which it is left out.
 */
type ListedCase =
  | string
  | { content: Omit<CaseFile, "id" | "input">; sentences?: readonly string[]; otherwise: string };

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

/** Reads the cases of a file that is, or has, a list of objects. */
async function readList(source: SourceFile, context: ImportContext, rules: ListRules) {
  const { list, query: queryKey, id: idKey, isId = true, keys, read } = rules;
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
    return keepJudged(context, common, content, found.sentences ?? [], found.otherwise);
  });
  return { parsed, cases };
}

function createListFormat({
  name,
  label,
  recognizes,
  ...rules
}: Pick<Format, "name" | "label" | "recognizes"> & ListRules): Format {
  return {
    name,
    label,
    recognizes,
    async read(source, context) {
      const { parsed, cases } = await readList(source, context, rules);
      const known = ["version", "description", rules.list ?? ""];
      const losses = listOtherKeys(asObject(parsed.value), known);
      return {
        file: source.file,
        cases,
        losses: rules.lost === undefined ? losses : [{ what: rules.lost }, ...losses],
      };
    },
  };
}

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;
const isGiven = (value: Json | undefined): boolean => value !== undefined && value !== null;

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
      const before = `My previous interaction with the assistant: ${JSON.stringify(context)}`;
      const messages = [before, query].map((content) => ({ role: "user" as const, content }));
      return {
        content: { ...(isGiven(context) && { messages }), ...(isGiven(expectedTools) && { expect }) },
        sentences,
        otherwise: "it expects nothing",
      };
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
        return {
          content: { expect: expectCall(oneOrSeveral(names), toLiteralArgs(asObject(expectedArgs))) },
          otherwise: "it expects nothing",
        };
      if (kind === "agent") losses.push({ what: "that an error of a tool fails the task" });
      const wanted = typeof maxTurns === "number" ? maxTurns : 10;
      const most = Math.min(100, Math.max(1, Math.floor(wanted)));
      if (most !== wanted) losses.push({ what: `maxTurns that is no whole number from 1 to 100`, detail: `${wanted}` });
      return {
        content: { maxTurns: most },
        sentences: [asText(reference) ?? ""],
        otherwise: "it has no reference, so nothing would be checked",
      };
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
      const acceptable = readTexts(acceptable_tools, "acceptable_tools", losses);
      const sentences = readTexts(success_criteria, "success_criteria", losses);
      if (expected.length === 0)
        return isGiven(expectedTools) && !isEmptyList(expectedTools)
          ? "no entry of its expected_tools is text"
          : "it has no expected_tools";
      // In PostHog, a call of any expected tool passes, after any other calls.
      const substitutes = acceptable.length > 0 && { acceptable: oneOrSeveral(acceptable) };
      const expect = { calls: [{ tool: oneOrSeveral(expected), ...substitutes }], extras: true };
      return { content: { expect, maxTurns: 8 }, sentences, otherwise: "it expects nothing" };
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
      return { content: { expect: { tool: tool ?? "none" } }, otherwise: "it expects nothing" };
    },
  }),
  createListFormat({
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
    read: ({ expected_result: expected }) => ({
      content: { maxTurns: 8 },
      sentences: [asText(expected) ?? ""],
      otherwise: "it has no expected_result: a judge scores it by nothing in particular",
    }),
  }),
];
