import { deprecationOf } from "../../changes/tools.ts";
import type { JsonObject } from "../../types/json.ts";
import { confusablePairs } from "../confusable.ts";
import type { Rule, ToolsetSubject } from "../rule.ts";
import { quote } from "../schema/text.ts";

/**
 * Chosen on real lists: at or above it are 2 of the 1,181 pairs of six servers (`list_directory` and
 * `list_directory_with_sizes`, reviews and comments of a pull request) and 7 of 1,176 of the Berkeley leaderboard, all of
 * them told apart by one or two words. It is about wording: two recorded models mixed up none of the five they were asked.
 */
const nearDuplicate = 0.75;

/** In longer lists only equal descriptions are found, so that the time stays linear. */
const mostTools = 2000;
/** Of one list; each tool is named in one finding, so that no list makes more than a person reads. */
const mostPairs = 10_000;
/** Of a description that are compared; what is after them, no host shows. */
const mostSigns = 20_000;

const fix = "Say in each when to call it and when the other, or make them one tool.";

/** What only shows when the tools of a list are held against each other. */
export const confusableRules: readonly Rule<ToolsetSubject>[] = [
  {
    id: "near-duplicate-tools",
    severity: "warning",
    why: "A model chooses by name and description; where two say nearly the same, one word must decide.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: ["no two descriptions are the same", "no two tools are described nearly alike"],
    *check({ tools }) {
      // A deprecated tool and its successor are alike by design.
      const current = tools.flatMap((tool, at) => (deprecationOf(tool) ? [] : [{ tool, at }]));
      const found = new Map([...nearlyAlike(tools, current), ...equallyDescribed(current)]);
      for (const at of [...found.keys()].sort((a, b) => a - b)) {
        yield { at: [at, "description"], message: found.get(at) ?? "", fix };
      }
    },
  },
];

type Placed = { tool: JsonObject; at: number };

/** By the place of each tool that one before it in the list is like, what is said of it and the most alike of these. */
function* nearlyAlike(tools: readonly JsonObject[], current: readonly Placed[]): Iterable<[number, string]> {
  if (tools.length > mostTools) return;
  const placed = new Map(current.map((one) => [one.at, one]));
  const seen = new Set<number>();
  for (const { at, similarity, shared } of confusablePairs(tools, { least: nearDuplicate, most: mostPairs })) {
    const [earlier, later] = [placed.get(Math.min(...at)), placed.get(Math.max(...at))];
    if (!earlier || !later || seen.has(later.at)) continue;
    seen.add(later.at);
    const told = `similarity ${similarity.toFixed(2)}, by ${shared.slice(0, 5).join(", ")}`;
    yield [later.at, `${nameOf(later)} is described nearly as ${nameOf(earlier)} is (${told}).`];
  }
}

function* equallyDescribed(current: readonly Placed[]): Iterable<[number, string]> {
  const first = new Map<string, Placed>();
  for (const one of current) {
    const { description } = one.tool;
    const text =
      typeof description === "string" ? description.slice(0, mostSigns).trim().replace(/\s+/g, " ").toLowerCase() : "";
    if (text === "") continue;
    const same = first.get(text);
    if (same) yield [one.at, `${nameOf(one)} has the same description as ${nameOf(same)}.`];
    else first.set(text, one);
  }
}

function nameOf({ tool: { name }, at }: Placed): string {
  return typeof name === "string" ? quote(name) : `Tool ${at + 1}`;
}
