import { listConfusablePairs } from "../../../base/search/similarity.ts";
import { splitWords } from "../../../base/search/words.ts";
import { quote } from "../../../base/text/text.ts";
import type { JsonObject } from "../../../base/types/json.ts";
import { findDeprecation } from "../../../servers/changes/names.ts";
import { findVerb, getVerbKind } from "../language.ts";
import { defineRules, type ToolsetSubject, type Violation } from "../rule.ts";
import { splitName } from "../text.ts";

/**
 * Chosen on real lists: 2 of 1,181 pairs of six servers are at or above it (`list_directory` and
 * `list_directory_with_sizes`, reviews and comments of a pull request), and 7 of 1,176 pairs of the Berkeley
 * leaderboard, which all differ in one or two words. It measures wording: two recorded models confused none of the five
 * such pairs that they were asked about.
 */
const nearDuplicate = 0.75;

/** Limits that keep the time linear. In longer lists only equal descriptions are found. */
const limits = { tools: 2000, pairs: 10_000, characters: 20_000 } as const;

const docs = "https://www.anthropic.com/engineering/writing-tools-for-agents";

/** Rules that compare the descriptions of a list. */
export const confusableRules = defineRules<ToolsetSubject>(docs, [
  {
    id: "same-description",
    why: "A model chooses by name and description; where two descriptions are the same, the name alone decides.",
    check: ({ tools }) => report(findEqualDescriptions(listCurrent(tools))),
  },
  {
    id: "near-duplicate-tools",
    profile: "spec",
    why: "A model chooses by name and description; where two are nearly the same, a single word decides.",
    *check({ tools }) {
      const current = listCurrent(tools);
      const equal = new Map(findEqualDescriptions(current));
      yield* report([...findNearDuplicates(tools, current)].filter(([at]) => !equal.has(at)));
    },
  },
]);

/** The tools that are not deprecated, because a deprecated tool and its successor are similar by design. */
const listCurrent = (tools: readonly JsonObject[]): ListedTool[] =>
  tools.flatMap((tool, at) => (findDeprecation(tool) ? [] : [{ tool, at }]));

function report(messages: Iterable<[number, string]>): Violation[] {
  const fix = "Say in each description when to call it and when to call the other, or merge the two tools.";
  return [...messages].sort(([a], [b]) => a - b).map(([at, message]) => ({ at: [at, "description"], message, fix }));
}

type ListedTool = { tool: JsonObject; at: number };

/** For each tool that is similar to an earlier one: its index, and the message that names the most similar one. */
function* findNearDuplicates(tools: readonly JsonObject[], current: readonly ListedTool[]): Iterable<[number, string]> {
  if (tools.length > limits.tools) return;
  const byIndex = new Map(current.map((one) => [one.at, one]));
  const seen = new Set<number>();
  for (const { at, similarity, shared } of listConfusablePairs(tools, { least: nearDuplicate, most: limits.pairs })) {
    const [earlier, later] = [byIndex.get(Math.min(...at)), byIndex.get(Math.max(...at))];
    if (!earlier || !later || seen.has(later.at) || isDistinguished(earlier.tool, later.tool)) continue;
    seen.add(later.at);
    const evidence = `similarity ${similarity.toFixed(2)}, shared words: ${shared.slice(0, 5).join(", ")}`;
    yield [later.at, `${nameTool(later)} has nearly the same description as ${nameTool(earlier)} (${evidence}).`];
  }
}

/**
 * Whether similar texts still distinguish two tools: one names the other, their verbs are of different kinds, or each
 * text contains a word that only its own tool's name has, like texts made from one template (find_teams,
 * find_projects).
 */
function isDistinguished(one: JsonObject, other: JsonObject): boolean {
  const [a, b] = [one, other].map(({ name, description }) => ({
    name: String(name),
    text: typeof description === "string" ? description.slice(0, limits.characters) : "",
  }));
  if (!a || !b) return false;
  if (a.text.includes(b.name) || b.text.includes(a.name)) return true;
  const [kind, otherKind] = [a, b].map(({ name }) => getVerbKind(findVerb(splitName(name)) ?? ""));
  if (kind !== undefined && otherKind !== undefined && kind !== otherKind) return true;
  const [mine, theirs] = [toStems(a.name), toStems(b.name)];
  const hasOwnWords = (own: ReadonlySet<string>, others: ReadonlySet<string>, text: string) => {
    const words = [...own].filter((word) => !others.has(word));
    const said = toStems(text);
    return words.length > 0 && words.some((word) => said.has(word));
  };
  return hasOwnWords(mine, theirs, a.text) && hasOwnWords(theirs, mine, b.text);
}

function toStems(text: string): ReadonlySet<string> {
  return new Set(splitWords(text).map(({ stem }) => stem));
}

function* findEqualDescriptions(current: readonly ListedTool[]): Iterable<[number, string]> {
  const first = new Map<string, ListedTool>();
  for (const one of current) {
    const { description } = one.tool;
    const start = typeof description === "string" ? description.slice(0, limits.characters) : "";
    const text = start.trim().replace(/\s+/g, " ").toLowerCase();
    if (text === "") continue;
    const same = first.get(text);
    if (same) yield [one.at, `${nameTool(one)} has the same description as ${nameTool(same)}.`];
    else first.set(text, one);
  }
}

function nameTool({ tool: { name }, at }: ListedTool): string {
  return typeof name === "string" ? quote(name) : `Tool ${at + 1}`;
}
