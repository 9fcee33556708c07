import { getOrAdd, once, parseWords } from "../../../base/collections.ts";
import { nearest, splitName } from "../../../base/text/nearest.ts";
import { quote, showValues, squeeze } from "../../../base/text/text.ts";
import { isJsonObject } from "../../../base/types/json.ts";
import { findDeprecation } from "../../../servers/changes/names.ts";
import {
  collectTexts,
  findVerb,
  getPlainDescription,
  getUnquotedDescription,
  readText,
  startsWithVerb,
  takeFirst,
} from "../language.ts";
import { defineRules, type ToolSubject, type ToolsetSubject } from "../rule.ts";

const docs = "https://www.anthropic.com/engineering/writing-tools-for-agents";
/** Limits: names compared with an unknown one, tools of a request to OpenAI. */
const limits = { names: 25, tools: 128 } as const;

export const siblingRules = defineRules<ToolSubject>(docs, [
  {
    id: "sibling-exists",
    why: "A model that is referred to a tool which is not listed calls it anyway, or gives up.",
    *check({ tool, names }) {
      const text = getUnquotedDescription(tool);
      // A tool that is linted alone has unknown siblings.
      if (text === undefined || names.size < 2) return;
      const missing = new Set(findToolNames(text).filter((one) => !names.has(one)));
      if (missing.size === 0) return;
      const listed = takeFirst(limits.names, names).filter((one) => one !== tool.name);
      // Names of one word have no style, so they count only if there are no others.
      const compound = listed.filter((name) => splitName(name).length > 1);
      const styles = new Set((compound.length > 0 ? compound : listed).map(getStyle));
      // The names of properties, and the values that they can have.
      const known = new Set(collectTexts(tool).texts.map(({ text: one }) => one));
      for (const name of missing) {
        const respelled = indexWords(names).get(joinWords(name));
        if ((respelled === undefined && !styles.has(getStyle(name))) || known.has(name)) continue;
        const close = respelled ?? nearest(name, listed);
        const message = `The description names the tool ${quote(name)}, which is not listed.`;
        const fix =
          close === undefined ? "Name a tool that is listed, or list this one." : `Did you mean ${quote(close)}?`;
        yield { at: ["description"], message, fix };
      }
    },
  },
]);

const joinWords = (name: string) => splitName(name).join(" ");

/** Names by their words, which are the same for `listProjects` and `list_projects`. */
const indexWords = once((names: ReadonlySet<string>) => new Map([...names].map((one) => [joinWords(one), one])));

/** Words before the name of a tool, unless it is a step of this one: "For each face, use interpolate_box". */
const cue =
  "(?<!\\b[Ff]or each [^.\\n]{1,60})\\b(?:[Uu]se|[Cc]all|[Rr]un|[Ii]nvoke|[Tt]ry|[Pp]refer|[Ss]ee|from|via|pass(?:es|ing)? \\S{1,40} to)";
/** What must not follow, because it shows that the name is that of a value. */
const notValue =
  "(?!(?:\\(\\))?(?: ?[=:]|\\.\\w| (?:parameter|param|argument|arg|option|field|flag|property|value|mode|key|column)s?\\b| to (?:order|sort|group)\\b))";
/** `get_order`, `getOrder`, `get-order`. Plain words have hyphens too, so such names must be in backticks. */
const marked = "`([a-z][a-z0-9]*(?:[_-][a-z0-9]+|[A-Z][a-z0-9]*)+)(?:\\(\\))?`";
const bare = "([a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)\\b(?:\\(\\))?";
const referredTo = new RegExp(`${cue} (?:the )?(?:${marked}|${bare})${notValue}`, "g");
const calledTool = new RegExp(`\\bthe (?:${marked}|${bare}) tool\\b`, "g");
/** The last words of names of values: `sort_by`, `order_id`, `read_only`. */
const valueEndings = parseWords("id ids by at on only to count token key url type name ref refs first last all");

/** Finds the names that a text calls a tool, or that follow a verb such as "use" and look like the name of a tool. */
function findToolNames(text: string): readonly string[] {
  const matchNames = (form: RegExp) => [...text.matchAll(form)].map(([, code, word]) => code ?? word ?? "");
  const likely = matchNames(referredTo).filter((name) => {
    const words = splitName(name);
    // is_enabled is a value, whatever it starts with.
    const isValue = /^(?:is|has|can|should)$/.test(words[0] ?? "") || valueEndings.has(words.at(-1) ?? "");
    return startsWithVerb(words) && !isValue;
  });
  return [...matchNames(calledTool), ...likely];
}

/** How the words of a name are joined. A name in a style that no sibling has is that of a value. */
function getStyle(name: string): "_" | "-" | "camel" {
  return name.includes("_") ? "_" : name.includes("-") ? "-" : "camel";
}

/** In longer descriptions only the beginning is compared. */
const maxCompared = 20_000;

export const alikeRules = defineRules<ToolsetSubject>(docs, [
  {
    id: "name-shared",
    severity: "error",
    docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool",
    why: "Of two tools with one name only one can be called, and clients reject such a list.",
    fix: "Name each tool for what only it does, or list it once.",
    *check({ tools }) {
      const seen = new Set<string>();
      for (const [at, { name }] of tools.entries()) {
        if (typeof name !== "string") continue;
        if (seen.has(name)) yield { at: [at, "name"], message: `An earlier tool has the same name, ${quote(name)}.` };
        seen.add(name);
      }
    },
  },
  {
    id: "tool-count",
    docs: "https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools",
    why: "OpenAI's API refuses a request with more than 128 tools, and VS Code sends no more: those of all servers together.",
    at: ["tools"],
    fix: "List fewer tools, or let clients load groups of them.",
    find({ tools }) {
      return tools.length > limits.tools && `The list has ${tools.length} tools; OpenAI's API takes ${limits.tools}.`;
    },
  },
  {
    id: "same-description",
    why: "A model chooses by name and description; where two descriptions are the same, the name alone decides.",
    fix: "Say in each description when to call it and when to call the other, or merge the two tools.",
    *check({ tools }) {
      const first = new Map<string, string>();
      for (const [at, tool] of tools.entries()) {
        const text = squeeze(readText(tool.description).slice(0, maxCompared)).toLowerCase();
        // A deprecated tool and its successor are similar by design.
        if (text === "" || findDeprecation(tool)) continue;
        const named = typeof tool.name === "string" ? quote(tool.name) : `Tool ${at + 1}`;
        const same = getOrAdd(first, text, () => named);
        if (same === named) continue;
        yield { at: [at, "description"], message: `${named} has the same description as ${same}.` };
      }
    },
  },
  {
    id: "description-sibling",
    severity: "info",
    profile: "spec",
    why: "Of two similar tools a model takes either; naming the sibling shows where one ends and the other begins.",
    fix: "Say what it is not for, and name the tool for that.",
    *check({ tools }) {
      const groups = new Map<string, Set<string>>();
      const named = tools.flatMap((tool, index) => {
        const { name } = tool;
        return typeof name === "string" ? [{ tool, index, name, keys: listGroupKeys(name) }] : [];
      });
      for (const { name, keys } of named) for (const key of keys) getOrAdd(groups, key, () => new Set()).add(name);
      for (const { tool, index, name, keys } of named) {
        const own = keys.flatMap((key) => groups.get(key) ?? []);
        const others = new Set(own.flatMap((names) => takeFirst(6, names)).filter((other) => other !== name));
        const text = getPlainDescription(tool);
        if (text === undefined || others.size === 0 || /\bdeprecated\b/i.test(text)) continue;
        const words = text.match(/\w[\w.-]*\w/g) ?? [];
        if (words.some((word) => word !== name && own.some((names) => names.has(word)))) continue;
        const message = `The description does not distinguish the tool from ${showValues([...others])}.`;
        yield { at: [index, "description"], message };
      }
    },
  },
  {
    id: "sibling-title",
    why: "Hosts send models the names of tools and no titles, so a model looks for a tool that is not there.",
    *check({ tools }) {
      const titled = tools.slice(0, limits.tools).flatMap(({ name, title, annotations }) => {
        const shown = title ?? (isJsonObject(annotations) ? annotations.title : undefined);
        return typeof name === "string" && typeof shown === "string" && / /.test(shown) ? [{ name, title: shown }] : [];
      });
      for (const [at, tool] of tools.entries()) {
        const text = getPlainDescription(tool) ?? "";
        const others = titled.filter(({ name }) => name !== tool.name && !text.includes(name));
        const found = others.find(({ title }) => callsTool(text, title));
        if (!found) continue;
        const message = `The description names the tool ${quote(found.name)} by its title, ${quote(found.title)}.`;
        yield { at: [at, "description"], message, fix: `Write ${found.name}.` };
      }
    },
  },
  {
    id: "name-same-meaning",
    why: "Of two tools whose names differ only in case and separators, a model takes either.",
    fix: "Name each for what only it does, or merge the two tools.",
    *check({ tools }) {
      const first = new Map<string, { name: string; text: string }>();
      for (const [index, tool] of tools.entries()) {
        const name = readText(tool.name);
        const text = getPlainDescription(tool) ?? "";
        const words = joinWords(name);
        if (words === "") continue;
        const other = getOrAdd(first, words, () => ({ name, text }));
        const isToldApart = text.includes(other.name) || other.text.includes(name);
        if (other.name === name || isToldApart || /\bdeprecated\b/i.test(text)) continue;
        const message = `The names ${quote(other.name)} and ${quote(name)} differ only in case and separators.`;
        yield { at: [index, "name"], message };
      }
    },
  },
]);

const callsTool = (text: string, title: string) =>
  [`'${title}'`, `"${title}"`, `\`${title}\``, `${title} tool`].some((form) => text.includes(form));

const similarVerbs = [
  "get list find search fetch query lookup retrieve show view open",
  "update edit modify patch write set replace change",
  "delete clear remove purge wipe",
  "add create insert append",
].map((verbs) => parseWords(verbs));

const prepositions = parseWords("by with as in from for using via");

/** Last words that do not identify the object of a name: the status of an order is not like that of a payment. */
const genericHeads = parseWords("id status info information details detail data list type name count all");

/** Keys that two names share if a request could mean either: verb and last word, or verb group and object. */
function listGroupKeys(name: string): readonly string[] {
  const words = splitName(name).map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
  const verb = findVerb(words) ?? "";
  const at = words.indexOf(verb);
  // What follows says how, not what: list_directory_with_sizes, get_user_by_email.
  const end = words.findIndex((word, index) => index > at + 1 && prepositions.has(word));
  const object = words.filter((_, index) => index !== at && (end < 0 || index < end));
  const head = object.at(-1);
  if (at < 0 || head === undefined) return [];
  const group = similarVerbs.findIndex((verbs) => verbs.has(verb));
  return [
    ...(genericHeads.has(head) ? [] : [`${verb} ${head}`]),
    ...(group < 0 ? [] : [`${group}: ${object.join(" ")}`]),
  ];
}
