import { stemWords } from "../../base/search/document.ts";
import { listConfusablePairs, measureSimilarity, toToolText, weighWords } from "../../base/search/similarity.ts";
import { splitName } from "../../base/text/nearest.ts";
import { mentionsName, squeeze } from "../../base/text/text.ts";
import type { Json, JsonObject } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";
import { findVerb, getVerbKind, startsWithVerb } from "../lint/language.ts";
import { sampleArguments } from "./values.ts";

/**
 * A drafted case. `tool` is absent if no tool is expected. `unfilled` names required parameters for which no value
 * fits; the query does not say them, and they are not expected. `avoid`: a similar tool that the query could be taken
 * for. `by`: who wrote the query, if it is no guess. `skill`: the skill in whose eval file it is, and the `steps` that
 * it lists; `tool` and `avoid` are skills, too.
 */
export type DraftCase = {
  id: string;
  input: string;
  skill?: string;
  steps?: readonly string[];
  tool?: string;
  args?: JsonObject;
  unfilled: readonly string[];
  avoid?: { tool: string; shared: readonly string[] };
  by?: string;
};

/** The cases, and the tools without one. */
export type Draft = { cases: readonly DraftCase[]; left: readonly string[] };

/** A tool, and the one that a model took for it. */
export type ConfusedTools = { tool: string; avoid: string };

/** A query, and the tool that it is for; `none` or undefined if it needs none. */
export type KnownQuery = { input: string; tool?: string };

/** Two texts at or above this similarity say the same. */
const sameText = 0.8;
/** Those of different tools may be near misses, but not the same words, since a query expects one tool. */
const sameWords = 0.999;

/** Leaves out queries that say the same as an earlier one, or as one of `known`. */
export function leaveOutAlike<Q extends KnownQuery>(all: readonly Q[], known: readonly KnownQuery[]): Q[] {
  const weights = weighWords([...known, ...all].map(({ input }) => ({ description: input })));
  const queries = [...known, ...all].map(({ tool = "none" }, at) => ({ tool, weights: weights[at] ?? new Map() }));
  const kept = queries.slice(0, known.length);
  return all.filter((_, at) => {
    const one = queries[known.length + at];
    if (!one) return false;
    const least = (tool: string) => (tool === one.tool ? sameText : sameWords);
    const isAlike = kept.some(({ tool, weights }) => measureSimilarity(weights, one.weights) >= least(tool));
    if (!isAlike) kept.push(one);
    return !isAlike;
  });
}

/** Whether a description says that the tool itself is deprecated: not its server, and nothing that it works on. */
export const isDeprecated = ({ description = "" }: Pick<Tool, "description">) => deprecated.test(description);
const deprecated =
  /(?:^|[.!?:;([*\n]\s*|\b(?:tool|function|method|command|endpoint) (?:is|has been) (?:now )?)deprecated\b(?! \w+s\b)/i;

/** Pairs of words in names that nobody takes for each other, each in the order of letters. */
const opposites = ["close open", "connect disconnect", "disable enable", "lock unlock", "pull push", "start stop"];

/** Whether one name says that it reads and the other that it changes something, or they differ in opposites. */
export function differInEffect(one: string, other: string): boolean {
  const names = [splitName(one), splitName(other)] as const;
  const [a, b] = names.map((name) => getVerbKind(findVerb(name) ?? ""));
  if ((a === "reads" && b === "changes") || (a === "changes" && b === "reads")) return true;
  const differing = names[0].flatMap((word, at) => (word === names[1][at] ? [] : [word, names[1][at]]));
  return opposites.includes(differing.sort().join(" "));
}

/** More drafts than a person edits in one sitting do not help. */
const maxTools = 30;
const maxNearMisses = 5;
/** Fewer cases say little, and lint warns of them. */
const minCases = 5;

/** Similar tools of which the first is expected, although its queries could be taken for ones of the second. */
type NearMiss = { tool: Tool; avoid: string; shared: readonly string[] };

/**
 * Drafts cases from the definitions of tools: one for each of at most 30 tools, five near misses, of the tools that a
 * model confused, then of the most similar pairs, and at least three queries that need no tool. No model is called, so
 * the queries use the words of the definitions, and a person has to replace them.
 * @param isUsable whether a text may be written to a file, which a text with a secret may not
 */
export function draftCases(
  listed: readonly Tool[],
  isUsable: (text: string) => boolean = () => true,
  confused: readonly ConfusedTools[] = [],
): Draft {
  const tools = listed.filter((tool) => !isDeprecated(tool) && isUsable(tool.name));
  const common = listCommonWords(tools);
  const chosen = chooseTools(tools, common);
  const inputs = new Set<string>();
  const draft = (tool: Tool, request: string, near?: NearMiss): DraftCase => {
    const { args, unfilled } = sampleArguments(tool, isUsable, near ? 1 : 0);
    const short = phraseName(tool.name, common);
    const namesTool = (one: string) => listed.some(({ name }) => mentionsName(one.toLowerCase(), name));
    const input = [request, short, `${short.replace(/^Please/, "Can you")} for me`]
      .map((one) => say(one, args))
      .find((one) => !inputs.has(one) && isUsable(one) && !namesTool(one));
    inputs.add(input ?? "");
    return {
      id: near ? `${tool.name}-not-${near.avoid}` : tool.name,
      input: input ?? `Can you ${spell(tool.name)} for me?`,
      tool: tool.name,
      unfilled,
      ...(Object.keys(args).length > 0 && { args }),
      ...(near && { avoid: { tool: near.avoid, shared: near.shared } }),
    };
  };
  const own = chosen.map((tool) =>
    draft(tool, isUsable(tool.description ?? "") ? makeRequest(tool, common) : phraseName(tool.name, common)),
  );
  const near = findNearMisses(listed, chosen, confused).map((one) =>
    draft(one.tool, phraseName(one.tool.name, common), one),
  );
  return {
    cases: [...own, ...near, ...draftNoToolCases(tools, Math.max(3, minCases - own.length - near.length))],
    left: listed.filter((tool) => !chosen.includes(tool)).map(({ name }) => name),
  };
}

/** The words of most names, which stand for the server: `git` in `git_log`. */
function listCommonWords(tools: readonly Tool[]): ReadonlySet<string> {
  const holders = new Map<string, number>();
  for (const word of tools.flatMap(({ name }) => [...new Set(splitName(name))]))
    holders.set(word, (holders.get(word) ?? 0) + 1);
  return new Set([...holders].flatMap(([word, names]) => (names > tools.length / 2 ? [word] : [])));
}

/**
 * At most 30 tools, in the listed order. Of more, those whose names say the least beside what most names say (`git_log`
 * before `git_worktree_list`), and which are the least similar to the ones already chosen.
 */
function chooseTools(tools: readonly Tool[], common: ReadonlySet<string>): readonly Tool[] {
  if (tools.length <= maxTools) return tools;
  const words = tools.map(({ name }) => splitName(name));
  const importance = words.map((own) => 1 / Math.max(1, own.filter((word) => !common.has(word)).length));
  const weights = weighWords(tools.map(toToolText));
  const nearness = tools.map(() => 0);
  const chosen = new Set<number>();
  while (chosen.size < maxTools) {
    const gain = (at: number) => (chosen.has(at) ? -1 : (importance[at] ?? 0) + 1 - (nearness[at] ?? 0));
    const best = tools.reduce((first, _, at) => (gain(at) > gain(first) ? at : first), 0);
    chosen.add(best);
    const [taken] = weights.slice(best);
    for (const [at, own] of weights.entries())
      if (taken) nearness[at] = Math.max(nearness[at] ?? 0, measureSimilarity(own, taken));
  }
  return tools.filter((_, at) => chosen.has(at));
}

/** One for each tool, of pairs that differ in effect last. The tool with more words is expected, if it can be. */
function findNearMisses(listed: readonly Tool[], chosen: readonly Tool[], confused: readonly ConfusedTools[]) {
  const expectable = new Map(chosen.map((tool) => [tool.name, tool]));
  const found: NearMiss[] = [];
  const differ = ({ a, b }: { a: string; b: string }) => Number(differInEffect(a, b));
  const alike = listConfusablePairs(listed).sort((one, other) => differ(one) - differ(other));
  const similar = alike.map(({ a, b, shared }) => {
    const pair = splitName(b).length > splitName(a).length ? [b, a] : [a, b];
    return { pair, expected: pair, shared: shared.slice(0, 4) };
  });
  const known = confused.map(({ tool, avoid }) => ({ pair: [tool, avoid], expected: [tool], shared: [] }));
  for (const { pair, expected, shared } of [...known, ...similar]) {
    const tool = expectable.get(expected.find((name) => expectable.has(name)) ?? "");
    if (!tool || found.length === maxNearMisses) continue;
    expectable.delete(tool.name);
    found.push({ tool, avoid: pair.find((name) => name !== tool.name) ?? "", shared });
  }
  return found;
}

/** A request with the arguments of the call that it asks for: `Please read a file, with path "notes.txt"`. */
function say(request: string, args: JsonObject): string {
  const named = Object.entries(args).map(([name, value]) => spell(name) + (value === true ? "" : ` ${show(value)}`));
  return named.length === 0 ? request : `${request}, with ${named.join(" and ")}`;
}

function show(value: Json): string {
  if (Array.isArray(value)) return value.map(show).join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  return value.includes('"') ? `\`${value}\`` : `"${value}"`;
}

const spell = (name: string) => splitName(name).join(" ") || name;

/** The words of a name as a short request, without common ones at its start: `trace_start` as `Please start trace`. */
function phraseName(name: string, common: ReadonlySet<string>): string {
  const words = splitName(name).filter((word) => word !== "tool");
  const verb = findVerb(words);
  const first = words.findIndex((word) => word === verb || !common.has(word));
  const own = words.slice(Math.max(0, first));
  if (verb === undefined) return `I need this: ${own.join(" ") || name}`;
  return ["Please", verb, ...own.filter((word) => word !== verb)].join(" ");
}

const introductions = [
  /^(?:this|the) (?:tool|function|command|endpoint)\b *(?:is used to|allows you to|lets you|will|can)? */i,
  /^(?:use (?:this|it)(?: tool)? (?:to|for|when you need to)|tool (?:to|for|that)|allows you to) +/i,
];

/** The first sentence of the description as a request, or the words of the name if that is none. */
export function makeRequest(tool: Pick<Tool, "name" | "description">, common: ReadonlySet<string> = new Set()): string {
  const { name, description = "" } = tool;
  // A word in angle brackets would be a placeholder.
  const plain = description.slice(0, 2000).replace(/<([\w -]+)>/g, "$1");
  const line = squeeze(plain.replace(/[`*#]/g, ""));
  const examples = /[\s,;(]*\b(?:e\.g|i\.e)\b.*$/i;
  const sentence = (/^.*?(?<!\b(?:e\.g|i\.e))[.!?:;](?= |$)/.exec(line)?.[0] ?? line)
    .replace(examples, "")
    .replace(/[.!?:;]$/, "");
  const [verb = "", ...rest] = introductions.reduce((left, one) => left.replace(one, ""), sentence).split(" ");
  const first = toImperative(verb.toLowerCase());
  const isThirdPerson = first !== verb.toLowerCase();
  const isVerb = startsWithVerb(splitName(first)) || (isThirdPerson && determiners.test(rest[0] ?? ""));
  if (!isVerb || /^(?:use|is|are)$/.test(first)) return phraseName(name, common);
  const words = rest.map((word, at) => {
    const isSecond = isThirdPerson && /^(?:and|or)$/.test(rest[at - 1] ?? "") && (at === 1 || secondVerbs.test(word));
    return isSecond ? toImperative(word) : word;
  });
  const request = [first === "return" && isThirdPerson ? "show me" : first, ...words].join(" ");
  return `Please ${request.length <= 160 ? request : request.slice(0, 160).replace(cutEnd, "")}`;
}

/** The end of a cut text: a part of a word, and small words that lead to it. */
const cutEnd = /(?:[\s,;(]+(?:an?|and|as|by|for|from|in|of|on|or|that|the|to|with))*[\s,;(]+\S*$/;

/** What shows that the word before it is a verb: "Unstages all changes". */
const determiners = /^(?:all|an?|each|every|one|some|the|your)$/;

/** Verbs that follow another one and its object, as in "Retrieves rows and returns them"; others could be nouns. */
const secondVerbs = /^(?:returns|shows|lists|gets|creates|updates|deletes|queries|sends|stores|reads|writes)$/;

/** `reads` becomes `read`. */
function toImperative(verb: string): string {
  if (!/^[a-z]{3,}s$/.test(verb) || /(ss|us|is|always)$/.test(verb)) return verb;
  if (/ies$/.test(verb)) return verb.replace(/ies$/, "y");
  return verb.replace(/(?<=ss|sh|(?<!ca)ch|x)es$|s$/, "");
}

const unrelated = [
  "Thanks, that is all for today",
  "Write a haiku about autumn",
  "What is 17 plus 25?",
  'How do you say "good morning" in French?',
  "Which is heavier, iron or gold?",
];

function draftNoToolCases(tools: readonly Tool[], most: number): DraftCase[] {
  const words = new Set(tools.flatMap(({ name, description = "" }) => stemWords(`${spell(name)} ${description}`)));
  const overlap = (query: string) => stemWords(query).filter((word) => words.has(word)).length;
  return [...unrelated]
    .sort((a, b) => overlap(a) - overlap(b))
    .slice(0, most)
    .map((input, at) => ({ id: `no-tool-${at + 1}`, input, unfilled: [] }));
}
