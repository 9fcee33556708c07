import { chooseFirst, sampleArguments } from "../../base/jsonSchema/sample.ts";
import { listConfusablePairs, measureSimilarity, toToolText, weighWords } from "../../base/search/similarity.ts";
import { stemWords } from "../../base/search/words.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";

/**
 * A drafted case. `tool` is absent if no tool is expected. `unfilled` names required parameters for which no value could
 * be generated; `args` is absent then, because the query does not name all arguments.
 */
export type DraftCase = {
  id: string;
  input: string;
  tool?: string;
  args?: JsonObject;
  unfilled: readonly string[];
  /** A tool that is easily confused with `tool`, and the words that they share. */
  avoid?: { tool: string; shared: readonly string[] };
};

/** The cases, and the tools for which none was drafted. `writer`: the model that wrote the queries, if one did. */
export type Draft = { cases: readonly DraftCase[]; left: readonly string[]; writer?: string };

/** More drafts than a person edits in one sitting do not help. */
const maxTools = 8;

/**
 * Drafts cases from the descriptions of tools: one for each of the 8 tools that are most similar to the others, the most
 * confusable pair as a near miss, and two queries that need no tool. No model is called, so the queries use the words of
 * the descriptions, and a person has to replace them.
 */
export function draftCases(listed: readonly Tool[]): Draft {
  const tools = listed.filter(({ description = "" }) => !/\bdeprecated\b/i.test(description));
  const [pair] = listConfusablePairs(tools, { most: 1 });
  const ranked = new Set([...(pair ? [pair.a, pair.b] : []), ...rankByCentrality(tools)]);
  const chosen = new Set([...ranked].slice(0, maxTools));
  const cases = tools
    .filter(({ name }) => chosen.has(name))
    .map((tool): DraftCase => {
      const drafted = draftCase(tool);
      if (tool.name !== pair?.a) return drafted;
      return { ...drafted, id: `${pair.a}-not-${pair.b}`, avoid: { tool: pair.b, shared: pair.shared.slice(0, 4) } };
    });
  return {
    cases: [...cases, ...draftNoToolCases(tools)],
    left: listed.map(({ name }) => name).filter((name) => !chosen.has(name)),
  };
}

/** Names of tools by the sum of their similarities to all others, highest first; ties keep the listed order. */
export function rankByCentrality(tools: readonly Tool[]): string[] {
  const weights = weighWords(tools.map(toToolText));
  const ranked = tools.map(({ name }, at) => {
    const own = weights[at];
    const sum = own
      ? weights.reduce((all, other) => (other === own ? all : all + measureSimilarity(own, other)), 0)
      : 0;
    return { name, sum };
  });
  return ranked.sort((a, b) => b.sum - a.sum).map(({ name }) => name);
}

function draftCase(tool: Tool): DraftCase {
  const { args, unfilled } = sampleArguments(tool.inputSchema, chooseFirst);
  const named = Object.entries(args).map(([name, value]) => `${spell(name)} ${JSON.stringify(value)}`);
  const input = [makeRequest(tool), ...(named.length > 0 ? [`with ${named.join(" and ")}`] : [])].join(", ");
  const isFilled = unfilled.length === 0 && named.length > 0;
  return { id: tool.name, input, tool: tool.name, ...(isFilled && { args }), unfilled };
}

/** `maxResults` and `max_results` as words. */
const spell = (name: string) =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_.-]+/g, " ")
    .toLowerCase();

/** The first sentence of the description as a request, or the words of the name if there is none. */
export function makeRequest({ name, description = "" }: Tool): string {
  const line = description.replace(/[`*#]/g, "").replace(/\s+/g, " ").trim();
  const sentence = (/^.*?[.!?:;](?= |$)/.exec(line)?.[0] ?? line).replace(/[.!?:;]$/, "");
  const bare = sentence
    .replace(
      /^(?:this|the) (?:tool|function|command|endpoint)\b *(?:is used to|allows you to|lets you|will|can)? */i,
      "",
    )
    .replace(/^(?:use (?:this|it)(?: tool)? (?:to|for|when you need to)|tool (?:to|for|that)|allows you to) +/i, "");
  const words = (bare || spell(name).trim() || "Use this tool").split(" ");
  const [verb = "", ...rest] = words;
  const request = [toImperative(verb), ...rest].join(" ").slice(0, 160).trim();
  return request.charAt(0).toUpperCase() + request.slice(1);
}

/** `Reads` becomes `Read`, and `Returns` becomes `Show me`. */
function toImperative(verb: string): string {
  if (!/^[A-Za-z]{3,}s$/.test(verb) || /(ss|us|is|this|always)$/i.test(verb)) return verb;
  if (/^returns$/i.test(verb)) return "Show me";
  if (/ies$/.test(verb)) return verb.replace(/ies$/, "y");
  return verb.replace(/(?<=ss|sh|ch|x|z)es$|s$/, "");
}

const unrelated = [
  "Thanks, that is all for today",
  "Write a haiku about autumn",
  "What is 17 plus 25?",
  'How do you say "good morning" in French?',
  "Which is heavier, iron or gold?",
];

/** The two unrelated queries that share the fewest words with the tools. */
export function draftNoToolCases(tools: readonly Tool[]): DraftCase[] {
  const words = new Set(tools.flatMap(({ name, description = "" }) => stemWords(`${spell(name)} ${description}`)));
  const overlap = (query: string) => stemWords(query).filter((word) => words.has(word)).length;
  return [...unrelated]
    .sort((a, b) => overlap(a) - overlap(b))
    .slice(0, 2)
    .map((input, at) => ({ id: `no-tool-${at + 1}`, input, unfilled: [] }));
}
