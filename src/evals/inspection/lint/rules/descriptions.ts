import { parseWords } from "../../../base/collections.ts";
import { followRef, type SchemaLocation, type Walk, walkToolSchema } from "../../../base/jsonSchema/walk.ts";
import { splitName } from "../../../base/text/nearest.ts";
import { describeHidden, findHiddenOf, isText, quote } from "../../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import {
  collectTexts,
  getEnglishDescription,
  getVerbKind,
  injectionPatterns,
  listBaseForms,
  readText,
  saysWhenToUse,
  splitSentences,
  takeFirst,
} from "../language.ts";
import { defineRules, parameterDepth, type RuleRow, type ToolSubject, type ToolsetSubject } from "../rule.ts";

const writing =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#best-practices-for-tool-definitions";
/** In characters; longer descriptions are never too short. */
const maxShort = 100;

/** What Claude Code shows of a description, and of instructions: `characters` as measured, `bytes` as documented. */
export const shown = { characters: 4096, bytes: 2048 } as const;

/** The rules about what a host cuts of a text, `description-cut` and `description-over-2kb` or the like. */
function cutRules<Subject>(field: string, fix: string, read: (subject: Subject) => string): RuleRow<Subject>[] {
  const row = { docs: "https://code.claude.com/docs/en/mcp#for-mcp-server-authors", at: [field], fix };
  return [
    {
      ...row,
      id: `${field}-cut`,
      why: `Claude Code (measured: 2.1.330) silently cuts the ${field} after 4,096 characters, and the model never sees the rest.`,
      find(subject) {
        const { length } = read(subject);
        if (length <= shown.characters) return undefined;
        return `A host cuts the ${field} after ${shown.characters} of ${length} characters.`;
      },
    },
    {
      ...row,
      id: `${field}-over-2kb`,
      severity: "info",
      why: `By its documentation Claude Code truncates the ${field} after 2 kB; other versions than the measured one may.`,
      find(subject) {
        const text = read(subject);
        const bytes = Buffer.byteLength(text);
        if (text.length > shown.characters || bytes <= shown.bytes) return undefined;
        return `By its documentation a host cuts the ${field} after ${shown.bytes} of ${bytes} bytes.`;
      },
    },
  ];
}

export const instructionRules = defineRules<ToolsetSubject>(
  writing,
  cutRules(
    "instructions",
    "Say first when to look for these tools, and leave the rest to their descriptions.",
    ({ instructions = "" }) => instructions,
  ),
);

export const descriptionRules = defineRules<ToolSubject>(writing, [
  {
    id: "description-missing",
    // A warning, because the protocol allows it, and hosts send such a tool.
    why: "A model chooses by the description; without one, only the name is left.",
    at: ["description"],
    fix: "Say what the tool does, when to call it, and which sibling to call otherwise.",
    find({ tool: { description } }) {
      if (description === undefined) return "The tool has no description.";
      return typeof description === "string" && !isText(description) && "The description is blank.";
    },
  },
  ...cutRules<ToolSubject>("description", "Keep what decides the choice, and move the rest to the parameters.", (one) =>
    readText(one.tool.description),
  ),
  {
    id: "description-too-short",
    why: "Where neither the description nor the parameters say more than the name, a model guesses how to call.",
    at: ["description"],
    fix: "Say what the tool does and returns, and when to call it.",
    find({ tool }) {
      const { name, description } = tool;
      if (!isText(description) || description.length > maxShort) return undefined;
      // Described parameters, and names such as delete_note, say enough.
      if (listUndescribed(tool).length === 0) return undefined;
      const words = splitName(description);
      const named = new Set(splitName(readText(name)).map(stem));
      if (words.length > 0 && words.every((word) => named.has(stem(word)) || filler.has(word)))
        return `The description ${quote(description.trim())} only repeats the name.`;
      // Thai, Japanese and Chinese have no spaces between words.
      const isShort = /[\u0e00-\u0eff\u3040-\u9fff]/.test(description) ? description.length < 5 : words.length < 3;
      return isShort && `The description ${quote(description.trim())} has fewer than three words.`;
    },
  },
  {
    id: "parameter-description-missing",
    severity: "info",
    why: "Without a description, a model guesses the format and the meaning of a parameter from its name.",
    fix: "Say what it is, in which format, and with an example where one helps.",
    *check({ tool }) {
      for (const { at, name } of listUndescribed(tool))
        if (!isMentionedIn(tool.description, name))
          yield { at, message: `The parameter ${quote(name)} has no description.` };
    },
  },
  {
    id: "hidden-unicode",
    severity: "error",
    docs: "https://www.unicode.org/reports/tr36/",
    why: "A model reads characters that no reviewer sees, which is how instructions are smuggled into a tool.",
    ...findHidden("message"),
  },
  {
    id: "stray-unicode",
    docs: "https://www.unicode.org/reports/tr36/",
    why: "Marks without width come with copied text; words that contain one are not found, and compare as different.",
    ...findHidden("stray"),
  },
  {
    id: "injection-wording",
    severity: "error",
    docs: "https://invariantlabs.ai/blog/mcp-security-notification-tool-poisoning-attacks",
    why: "Instructions that go beyond the tool's own use are the mark of tool poisoning; hosts and scanners block them.",
    fix: "Say what this tool does and when to call it, and nothing about anything else.",
    *check({ tool }) {
      for (const { text, at } of collectTexts(tool).texts) {
        // Every pattern needs one of these, and most texts of a schema (names, types) have none.
        if (!/[\s<[]/.test(text)) continue;
        const plain = text.replace(/\s+/g, " ");
        for (const { pattern, does } of injectionPatterns) {
          const [match] = pattern.exec(plain) ?? [];
          if (match !== undefined) yield { at, message: `The text ${does}: ${quote(match)}.` };
        }
      }
    },
  },
]);

/** The parameters of a tool without a description, except those that their name or schema explains. */
function listUndescribed(tool: JsonObject): SchemaLocation[] {
  const walk = walkToolSchema(tool, "inputSchema");
  return walk.filter(({ schema, role, name, at }) => {
    if (role !== "property" || at.length > parameterDepth) return false;
    const isPlain =
      plainNames.some((form) => form.test(name)) || (schema.type === "boolean" && plainSwitches.test(name));
    if (isPlain || isDescribed(schema, walk) || hasProperties(schema)) return false;
    const isSwitchOrCount = schema.default !== undefined && (schema.type === "boolean" || schema.maximum !== undefined);
    const forms = [schema, schema.items, ...listBranches(schema)].filter(isJsonObject);
    return !isSwitchOrCount && !forms.some((form) => saysForm.some((key) => Object.hasOwn(form, key)));
  });
}

function listBranches({ anyOf, oneOf }: JsonObject, allOf?: Json): readonly Json[] {
  return [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list.slice(0, 100) : []));
}

/** Names that need no description: coordinates, sizes and usual texts, paging, and ids, which say of what they are. */
const plainNames = [
  /^(?:(?:min|max)?_?(?:lat|lon|lng|latitude|longitude)|width|height|x|y|title|name|description|url|email)$/i,
  /^(?:limit|offset|cursor|page|page_?size|page_?number|per_?page|page_?token|max_?(?:results|steps|pages|items))$/i,
  /^ids?$|_ids?$|[a-z]Ids?$|[a-z]IDs?$/,
];
const plainSwitches = /^(?:include|exclude|ignore|is|has)(?=[_A-Z])|enabled$/i;

/** Whether a schema describes objects, or lists of objects, by their properties. */
function hasProperties(schema: JsonObject): boolean {
  return [schema, ...listBranches(schema)].some((one) => {
    const { properties, items } = isJsonObject(one) ? one : {};
    const inside = isJsonObject(items) ? items.properties : undefined;
    return [properties, inside].some((names) => isJsonObject(names) && Object.keys(names).length > 0);
  });
}

const saysForm = ["enum", "const", "format", "pattern"];

/** Whether the tool's description contains the words of a parameter's name, and so probably explains it. */
function isMentionedIn(description: unknown, parameter: string): boolean {
  if (typeof description !== "string" || !/^\w{1,100}$/.test(parameter)) return false;
  return new RegExp(`\\b${splitName(parameter).join("[ _-]?")}\\b`, "i").test(description.slice(0, 20_000));
}

const filler = parseWords("a an the this tool function to of for");

/** `reads` and `read`, `files` and `file` are the same word here. */
const stem = (word: string) => word.replace(/e?s$/, "").replace(/e$/, "");

/** A parameter is described in its own schema, in the one it refers to, or in a branch of it. */
function isDescribed(schema: JsonObject, walk: Walk): boolean {
  const target = typeof schema.$ref === "string" ? followRef(schema.$ref, walk) : undefined;
  const all = [schema, target?.kind === "local" ? target.schema : undefined, ...listBranches(schema, schema.allOf)];
  return all.some((one) => isJsonObject(one) && isText(one.description));
}

const docs =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use#best-practices-for-tool-definitions";

export const purposeRules = defineRules<ToolSubject>(docs, [
  {
    id: "description-when",
    profile: "spec",
    why: "A model that does not know when a tool applies calls it too often, or answers without it.",
    at: ["description"],
    fix: 'Add the situation or the request that it is for: "Use this when the user asks ...".',
    find({ tool }) {
      const text = getEnglishDescription(tool);
      if (text === undefined || /\bdeprecated\b/i.test(text)) return undefined;
      const name = readText(tool.name);
      const own = name.length > 3 ? text.replaceAll(name, "this tool") : text;
      return !saysWhenToUse(own) && "The description does not say when to call the tool.";
    },
  },
  {
    id: "description-what",
    severity: "info",
    profile: "spec",
    why: "From a label or from usage hints alone, a model cannot tell what a call does.",
    at: ["description"],
    fix: 'Start with it, verb first, such as "Returns the orders of a customer, newest first".',
    find({ tool }) {
      const text = getEnglishDescription(tool);
      const isMissing = text !== undefined && !isBare(text, tool.name) && !splitSentences(text).some(saysWhat);
      return isMissing && "The description does not say what the tool does.";
    },
  },
]);

/** Whether a text has fewer than three words, or only those of the name, which description-too-short reports. */
function isBare(text: string, name: unknown): boolean {
  const words = new Set(splitName(text).filter((word) => !determiners.has(word)));
  const named = new Set(splitName(readText(name)));
  return words.size < 3 || [...words].every((word) => named.has(word));
}

const hint =
  /^(?:(?:always |only |please )?(?:use|call|invoke|prefer)\b|do not|don't|never|useful|helpful|ideal|perfect|great\b)/i;
const purpose = /\b(?:used?|call|invoke)(?: \w+){0,3} to (\w+)/i;
const situation = /^(?:when|whenever|if|for|before|after|once|while)\b/i;
const determiners = parseWords("a an the all any one some this your its up each every multiple several new");
const prepositions = parseWords("of for in on at from with by about to and or");
/** Words that may precede the verb of a sentence, in addition to a punctuation mark or an adverb. */
const leads = parseWords(
  "to and or then will can could may would should must that which it this these tool function you we i lets helps by for",
  "is are be",
);

/** Whether a sentence says what the tool does, rather than when it is used or what it is called. */
function saysWhat(sentence: string): boolean {
  const to = purpose.exec(sentence)?.[1];
  if (to !== undefined && isVerb(to.toLowerCase())) return true;
  if (hint.test(sentence)) return false;
  // "When the user asks, returns ...": what it does follows the comma.
  const main = situation.test(sentence) ? (/[,:](.*)$/.exec(sentence)?.[1] ?? "") : sentence;
  const words = main.toLowerCase().match(/[a-z][\w'-]*|[,:(\u2013\u2014]/g) ?? [];
  return words.some((word, at) => {
    const [before, next = ""] = [words[at - 1], words[at + 1]];
    const leading = before === undefined || leads.has(before) || before.length === 1 || before.endsWith("ly");
    if (leading && (isVerb(word) || (determiners.has(next) && /^\w{3,}$/.test(word) && !leads.has(word)))) return true;
    // The third person of a known verb, or at the start: "The assistant drafts e-mails", "Brews coffee".
    if (!/[a-z]{2,}[^us]s$/.test(word) || !/\w/.test(next) || prepositions.has(next)) return false;
    return before === undefined || isVerb(word);
  });
}

const isVerb = (word: string) => listBaseForms(word).some((base) => getVerbKind(base) !== undefined);

/** A check of the hidden characters of one kind in every text of a tool. */
function findHidden(kind: "message" | "stray") {
  return {
    fix: "Remove them, and find out where they came from.",
    *check({ tool }: ToolSubject) {
      for (const { text, at } of collectTexts(tool).texts) {
        const [first, ...others] = takeFirst(100, findHiddenOf(kind, text));
        if (!first) continue;
        const more = others.length === 0 ? "" : ` and ${others.length >= 99 ? "at least " : ""}${others.length} more`;
        const where = `${describeHidden(first.code)} at character ${first.index + 1}${more}`;
        yield { at, message: `The text has hidden characters: ${where}.` };
      }
    },
  };
}
