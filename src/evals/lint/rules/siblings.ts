import { isJsonObject, type Json } from "../../types/json.ts";
import { nearest } from "../../types/nearest.ts";
import { quote, showValues } from "../../types/quote.ts";
import { plainDescription, unquotedDescription } from "../language.ts";
import type { Rule, ToolSubject, ToolsetSubject } from "../rule.ts";
import { upTo, wordsOf } from "../text.ts";
import { startsWithVerb, verbIn } from "../verbs.ts";
import { purposeRules } from "./descriptions.ts";
import { nameWordingRules } from "./names.ts";
import { styleRules } from "./style.ts";

const docs = "https://www.anthropic.com/engineering/writing-tools-for-agents";
/** Names and values that are looked at in a schema, and siblings that are held against a name that is not listed. */
const mostNames = 2000;
const mostSiblings = 25;

/** That the tools which a description sends a model to are there. */
export const siblingRules: readonly Rule<ToolSubject>[] = [
  {
    id: "sibling-exists",
    severity: "warning",
    why: "A model that is sent to a tool which is not listed calls it all the same, or gives up.",
    docs,
    clauses: ["a tool named in the description is listed"],
    *check({ tool, siblings }) {
      const text = unquotedDescription(tool);
      // A tool by itself: what is listed beside it is not known.
      if (text === undefined || siblings.size === 0) return;
      const missing = new Set(toolsNamed(text).filter((one) => one !== tool.name && !siblings.has(one)));
      if (missing.size === 0) return;
      const listed = upTo(mostSiblings, siblings);
      const styles = new Set(listed.map(styleOf));
      const known = [namesIn(tool.inputSchema), namesIn(tool.outputSchema)];
      for (const named of missing) {
        if (!styles.has(styleOf(named)) || known.some((names) => names.has(named))) continue;
        const close = nearest(named, listed);
        yield {
          at: ["description"],
          message: `The description names the tool ${quote(named)}, which is not listed.`,
          fix: close === undefined ? "Name a tool that is listed, or list this one." : `Did you mean ${quote(close)}?`,
        };
      }
    },
  },
];

const cue =
  "\\b(?:[Uu]se|[Cc]all|[Rr]un|[Ii]nvoke|[Tt]ry|[Pp]refer|[Ss]ee|with|from|by|via|pass(?:es|ing)? \\S{1,40} to)";
/** `get_order`, `getOrder`, `get-order`. A hyphen joins plain words too, so that it needs marks of code. */
const marked = "`([a-z][a-z0-9]*(?:[_-][a-z0-9]+|[A-Z][a-z0-9]*)+)(?:\\(\\))?`";
const bare = "([a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\\b(?:\\(\\))?";
const handedTo = new RegExp(`${cue} (?:the )?(?:${marked}|${bare})`, "g");
const calledTool = new RegExp(`\\bthe (?:${marked}|${bare}) tool\\b`, "g");
/** What a name of a value ends with: `sort_by`, `order_id`, `read_only`. */
const values = new Set("id ids by at on only to count token key url type name ref refs first last all".split(" "));

/** The names in a text that it sends the model to: called a tool, or after a verb such as use and like a tool's. */
function toolsNamed(text: string): readonly string[] {
  const named = (form: RegExp) => [...text.matchAll(form)].map(([, code, word]) => code ?? word ?? "");
  const likely = named(handedTo).filter((name) => {
    const words = wordsOf(name);
    return startsWithVerb(words) && !values.has(words.at(-1) ?? "");
  });
  return [...named(calledTool), ...likely];
}

/** How the words of a name are joined: a name joined as none of the siblings is one of a value. */
function styleOf(name: string): "_" | "-" | "camel" {
  return name.includes("_") ? "_" : name.includes("-") ? "-" : "camel";
}

/** The property names and allowed values of a schema, as far as a bound on what is looked at. */
function namesIn(schema: Json | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  const waiting: (Json | undefined)[] = [schema];
  for (let looked = 0; looked < mostNames && waiting.length > 0; looked++) {
    const next = waiting.pop();
    if (typeof next === "string") names.add(next);
    else if (Array.isArray(next)) waiting.push(...next.slice(0, mostNames));
    else if (isJsonObject(next)) {
      for (const key of Object.keys(next).slice(0, mostNames)) {
        names.add(key);
        waiting.push(next[key]);
      }
    }
  }
  return names;
}

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
          message: `The description does not tell the tool from ${showValues([...others])}.`,
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

/** What is said to the model, as far as word lists can judge it; English only where words decide. */
export const wordingRules: readonly Rule<ToolSubject>[] = [
  ...nameWordingRules,
  ...purposeRules,
  ...styleRules,
  ...siblingRules,
];
