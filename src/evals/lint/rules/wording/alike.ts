import { plainDescription } from "../../language/description.ts";
import { verbIn } from "../../language/verbs.ts";
import type { Rule, ToolsetSubject } from "../../rule.ts";
import { list, wordsOf } from "../../schema/text.ts";
import { upTo } from "../../upTo.ts";

/** Verbs between which a request decides by a single word. */
const likeVerbs = [
  "get list find search fetch query lookup retrieve show view open",
  "update edit modify patch write set replace change",
  "delete clear remove purge wipe",
  "add create insert append",
].map((verbs) => new Set(verbs.split(" ")));

const ways = new Set("by with as in from for using via".split(" "));

/** Last words of a name that say nothing of its object: an order's status is not like a payment's. */
const plainHeads = new Set("id status info information details detail data list type name count all".split(" "));

/** That tools which are alike tell which of them is for what. Looks at names only to see who is alike. */
export const alikeRules: readonly Rule<ToolsetSubject>[] = [
  {
    id: "description-sibling",
    severity: "info",
    why: "Of two tools that are alike a model takes either; the name of the other tells it where one ends.",
    docs: "https://www.anthropic.com/engineering/writing-tools-for-agents",
    clauses: [
      "names the sibling with the same verb and kind of object",
      "names the sibling with a like verb and the same object",
    ],
    *check({ tools }) {
      const alike = new Map<string, Set<string>>();
      const named = tools.flatMap((tool, index) => {
        const { name } = tool;
        return typeof name === "string" ? [{ tool, index, name, keys: likenesses(name) }] : [];
      });
      for (const { name, keys } of named)
        for (const key of keys) alike.set(key, (alike.get(key) ?? new Set()).add(name));
      for (const { tool, index, name, keys } of named) {
        const groups = keys.flatMap((key) => alike.get(key) ?? []);
        const others = new Set(groups.flatMap((names) => upTo(6, names)).filter((other) => other !== name));
        const text = plainDescription(tool);
        if (text === undefined || others.size === 0 || /\bdeprecated\b/i.test(text) || namesOneOf(groups, text, name))
          continue;
        yield {
          at: [index, "description"],
          message: `The description does not tell the tool from ${list([...others])}.`,
          fix: "Say what it is not for, and name the tool for that.",
        };
      }
    },
  },
];

function namesOneOf(groups: readonly ReadonlySet<string>[], text: string, own: string): boolean {
  const words = text.match(/\w[\w.-]*\w/g) ?? [];
  return words.some((word) => word !== own && groups.some((names) => names.has(word)));
}

/** Keys that names have in common when a request could mean either tool. */
function likenesses(name: string): readonly string[] {
  const words = wordsOf(name).map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
  const verb = verbIn(words) ?? "";
  const at = words.indexOf(verb);
  // What follows tells by which way, not of what: list_directory_with_sizes, get_user_by_email.
  const end = words.findIndex((word, index) => index > at + 1 && ways.has(word));
  const object = words.filter((_, index) => index !== at && (end < 0 || index < end));
  const head = object.at(-1);
  if (at < 0 || head === undefined) return [];
  const group = likeVerbs.findIndex((verbs) => verbs.has(verb));
  return [
    ...(plainHeads.has(head) ? [] : [`${verb} ${head}`]),
    ...(group < 0 ? [] : [`${group}: ${object.join(" ")}`]),
  ];
}
