import { isJsonObject, type Json } from "../../../base/types/json.ts";
import { asObject, asText, listObjects, listOtherKeys, parseData, readTexts } from "./data.ts";
import { type Format, keep, keepJudged, leaveOut, oneOrSeveral, type Unsaid } from "./imported.ts";

/** Picks: `{ version, testCases: [{ id, query, expectedTools, reference?, context? }] }`. */
export const apifyCases: Format = {
  name: "apify",
  label: "Apify's test_cases.json",
  recognises: ({ file, text }) => file.endsWith(".json") && /"testCases"/.test(text) && /"expectedTools"/.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const cases = listObjects(parsed, ["testCases"], '"testCases"').map(({ path, entry }) => {
      const [id, query] = [asText(entry.id), asText(entry.query)];
      const known = ["id", "category", "query", "expectedTools", "reference", "context"];
      const unsaid: Unsaid[] = listOtherKeys(entry, known);
      const { expectedTools } = entry;
      const tools = readTexts(expectedTools, "expectedTools", unsaid);
      const references = readTexts(entry.reference, "reference", unsaid);
      const common = { name: id ?? query ?? "", place: parsed.place(path), unsaid };
      if (query === undefined) return leaveOut(common, "it has no query");
      const isGiven = expectedTools !== undefined && expectedTools !== null;
      if (tools.length === 0 && isGiven && !isEmptyList(expectedTools))
        return leaveOut(common, "no entry of its expectedTools is text");
      const before = describeContext(entry.context);
      const asked = { role: "user" as const, content: query };
      const content = {
        ...(id !== undefined && { id }),
        ...(before === undefined ? { input: query } : { messages: [before, asked] }),
        ...(isGiven && { expect: tools.length === 0 ? { tool: "none" } : expectAll(tools) }),
      };
      return keepJudged(context, common, content, references, "it expects nothing");
    });
    return { file: source.file, cases, unsaid: [] };
  },
};

const isEmptyList = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

/** Their harness sends the context as a message of the user. */
function describeContext(context: Json | undefined) {
  if (context === undefined || context === null) return undefined;
  const content = `My previous interaction with the assistant: ${JSON.stringify(context)}`;
  return { role: "user" as const, content };
}

const expectAll = (tools: readonly string[]) =>
  tools.length === 1
    ? { tool: oneOrSeveral(tools) }
    : { calls: tools.map((tool) => ({ tool })), order: "any" as const, extras: true };

/** Agent tasks: `[{ id, query, reference, maxTurns?, tools?, failTools? }]`, graded by a judge. */
export const apifyTasks: Format = {
  name: "apify-tasks",
  label: "Apify's dataset snapshot",
  recognises: ({ file, text }) =>
    file.endsWith(".json") &&
    /"query"/.test(text) &&
    /"reference"/.test(text) &&
    !/"expectedTools"/.test(text) &&
    /^\s*\[/.test(text),
  async read(source) {
    const parsed = await parseData(source);
    const cases = listObjects(parsed, [], "The file").map(({ path, entry }) => {
      const [id, query, reference] = [asText(entry.id), asText(entry.query), asText(entry.reference)];
      const unsaid = [
        ...listOtherKeys(entry, ["id", "category", "query", "reference", "maxTurns", "tools", "failTools"]),
        ...(entry.tools === undefined ? [] : [{ what: "tools that are switched on for one task" }]),
        ...(entry.failTools === undefined ? [] : [{ what: "tools that are made to fail" }]),
      ];
      const common = { name: id ?? query ?? "", place: parsed.place(path), unsaid };
      if (query === undefined) return leaveOut(common, "it has no query");
      if (reference === undefined) return leaveOut(common, "it has no reference, so nothing would be checked");
      const most = typeof entry.maxTurns === "number" ? entry.maxTurns : 10;
      const content = { input: query, expected_behavior: [reference], maxTurns: Math.min(100, Math.max(1, most)) };
      return keep(common, { ...(id !== undefined && { id }), ...content });
    });
    return { file: source.file, cases, unsaid: [] };
  },
};

/** PostHog: `{ version, tasks: [{ id, intent, expected_tools, acceptable_tools, success_criteria, probe? }] }`. */
export const posthog: Format = {
  name: "posthog",
  label: "PostHog's tasks.yaml",
  recognises: ({ file, text }) =>
    /\.ya?ml$/.test(file) && /^tasks:/m.test(text) && /\bexpected_tools:/.test(text) && /\bintent:/.test(text),
  async read(source, context) {
    const parsed = await parseData(source);
    const known = ["id", "category", "intent", "expected_tools", "acceptable_tools", "success_criteria", "probe"];
    const cases = listObjects(parsed, ["tasks"], '"tasks"').map(({ path, entry }) => {
      const [id, intent] = [asText(entry.id), asText(entry.intent)];
      const unsaid: Unsaid[] = [
        ...listOtherKeys(entry, known),
        ...(isJsonObject(entry.probe) ? [{ what: "a probe without a model, which is `evals probe --call`" }] : []),
      ];
      const expected = readTexts(entry.expected_tools, "expected_tools", unsaid);
      const acceptable = readTexts(entry.acceptable_tools, "acceptable_tools", unsaid);
      const criteria = readTexts(entry.success_criteria, "success_criteria", unsaid);
      const common = { name: id ?? intent ?? "", place: parsed.place(path), unsaid };
      if (intent === undefined) return leaveOut(common, "it has no intent");
      if (expected.length === 0) {
        const isEmpty = (entry.expected_tools ?? undefined) === undefined || isEmptyList(entry.expected_tools);
        return leaveOut(common, isEmpty ? "it has no expected_tools" : "no entry of its expected_tools is text");
      }
      // In PostHog, a call of any expected tool passes, after any other calls.
      const call = {
        tool: oneOrSeveral(expected),
        ...(acceptable.length > 0 && { acceptable: oneOrSeveral(acceptable) }),
      };
      const expect = { calls: [call], extras: true };
      const content = { ...(id !== undefined && { id }), input: intent, expect, maxTurns: 8 };
      return keepJudged(context, common, content, criteria, "it expects nothing");
    });
    return { file: source.file, cases, unsaid: [] };
  },
};

/** whichtool: `{ version: 1, surface, tasks: [{ id, prompt, expected, tags? }] }`. */
export const whichtool: Format = {
  name: "whichtool",
  label: "whichtool's task set",
  recognises: ({ file, text }) =>
    /\.(?:ya?ml|json)$/.test(file) &&
    /^[ \t]*"?tasks"?:/m.test(text) &&
    /\bprompt"?:/.test(text) &&
    /\bexpected"?:\s/.test(text) &&
    /"?surface"?:|whichtool/.test(text + file),
  async read(source) {
    const parsed = await parseData(source);
    const cases = listObjects(parsed, ["tasks"], '"tasks"').map(({ path, entry }) => {
      const [id, prompt, expected] = [asText(entry.id), asText(entry.prompt), asText(entry.expected)];
      const unsaid = [
        ...listOtherKeys(entry, ["id", "prompt", "expected", "tags", "derivedFrom"]),
        ...(entry.derivedFrom === undefined ? [] : [{ what: "the task that it is derived from" }]),
      ];
      const common = { name: id ?? prompt ?? "", place: parsed.place(path), unsaid };
      if (prompt === undefined) return leaveOut(common, "it has no prompt");
      if (expected === undefined && entry.expected !== null)
        return leaveOut(common, entry.expected === undefined ? "it expects nothing" : "its expected tool is not text");
      return keep(common, { ...(id !== undefined && { id }), input: prompt, expect: { tool: expected ?? "none" } });
    });
    return { file: source.file, cases, unsaid: [] };
  },
};

/** mcp-evals: `{ model, evals: [{ name, description, prompt, expected_result? }] }`. */
export const mcpEvals: Format = {
  name: "mcp-evals",
  label: "mcp-evals",
  recognises: ({ file, text }) =>
    /\.ya?ml$/.test(file) &&
    /^evals:/m.test(text) &&
    /^[ \t]+prompt:/m.test(text) &&
    /expected_result:|^model:/m.test(text),
  async read(source) {
    const parsed = await parseData(source);
    const config = asObject(parsed.value);
    const cases = listObjects(parsed, ["evals"], '"evals"').map(({ path, entry }) => {
      const [name, prompt, expected] = [asText(entry.name), asText(entry.prompt), asText(entry.expected_result)];
      const unsaid = listOtherKeys(entry, ["name", "description", "prompt", "expected_result"]);
      const common = { name: name ?? prompt ?? "", place: parsed.place(path), unsaid };
      if (prompt === undefined) return leaveOut(common, "it has no prompt");
      if (expected === undefined)
        return leaveOut(common, "it has no expected_result: a judge scores it by nothing in particular");
      return keep(common, { input: prompt, expected_behavior: [expected], maxTurns: 8 });
    });
    return { file: source.file, cases, unsaid: listOtherKeys(config, ["model", "evals"]) };
  },
};
