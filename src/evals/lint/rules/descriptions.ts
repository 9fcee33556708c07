import type { Walk } from "../../jsonSchema/walk.ts";
import { followRef, walkToolSchema } from "../../jsonSchema/walk.ts";
import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { findHidden, type HiddenCharacter, hiddenRanges, quote } from "../../types/quote.ts";
import { englishDescription, saysWhenToUse, sentencesOf } from "../language.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { injectionPatterns, textsOf, upTo, wordsOf } from "../text.ts";
import { basesOf, verbKind } from "../verbs.ts";

const writing =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#best-practices-for-tool-definitions";
const mostBytes = 2048;
/** Characters; what is longer than this says something. */
const longestOfShort = 100;

/** What is said to the model: descriptions, and whatever text may be hidden in a tool. */
export const descriptionRules: readonly Rule<ToolSubject>[] = [
  {
    id: "description-missing",
    severity: "error",
    why: "The description is all that a model has to choose by; without one it goes by the name alone.",
    docs: writing,
    clauses: ["there is a description", "the description is a text", "the description is not blank"],
    *check({ tool: { description } }) {
      if (isText(description)) return;
      const given = typeof description === "string" ? "The description is blank." : "The description is not a text.";
      const message = description === undefined ? "The tool has no description." : given;
      const fix = "Say what the tool does, when to call it, and which sibling to call for the rest.";
      yield { at: ["description"], message, fix };
    },
  },
  {
    id: "description-over-2kb",
    severity: "warning",
    why: "Claude Code cuts a description after 2 kB without a word, and what stands behind the cut is never read.",
    docs: "https://code.claude.com/docs/en/mcp#for-mcp-server-authors",
    clauses: ["at most 2,048 bytes of UTF-8"],
    *check({ tool: { description } }) {
      const bytes = typeof description === "string" ? Buffer.byteLength(description) : 0;
      if (bytes <= mostBytes) return;
      const message = `The description has ${bytes} bytes; a host cuts it after ${mostBytes}.`;
      yield { at: ["description"], message, fix: "Keep what decides the choice; move the rest to the parameters." };
    },
  },
  {
    id: "description-too-short",
    severity: "warning",
    why: "A description that says no more than the name gives a model nothing to choose by.",
    docs: writing,
    clauses: ["three words or more", "more than the words of the name"],
    *check({ tool: { name, description } }) {
      if (!isText(description) || description.length > longestOfShort) return;
      const said = [...new Set(spoken(description))];
      const named = new Set(typeof name === "string" ? wordsOf(name).map(stem) : []);
      const fix = "Say what the tool does and returns, and when to call it.";
      const quoted = quote(description.trim());
      if (said.length > 0 && said.every((word) => named.has(stem(word)) || filler.has(word))) {
        yield { at: ["description"], message: `The description ${quoted} only repeats the name.`, fix };
      } else if (spoken(description).length < 3) {
        yield { at: ["description"], message: `The description ${quoted} has fewer than three words.`, fix };
      }
    },
  },
  {
    id: "parameter-description-missing",
    severity: "warning",
    why: "Without a description a model guesses the format and the meaning of a parameter from its name.",
    docs: writing,
    clauses: ["every parameter says what it is", "a blank description says nothing"],
    *check({ tool }) {
      const walk = walkToolSchema(tool, "inputSchema");
      for (const { schema, at, role, name } of walk.places) {
        if (role !== "property" || isDescribed(schema, walk)) continue;
        const message = `The parameter ${quote(name)} has no description.`;
        yield { at, message, fix: "Say what it is, in which format, and with an example where one helps." };
      }
    },
  },
  {
    id: "hidden-unicode",
    severity: "error",
    why: "A model reads characters that no reviewer sees: this is how instructions are smuggled into a tool.",
    docs: "https://www.unicode.org/reports/tr36/",
    clauses: [...new Set(hiddenRanges.map(({ what }) => `no ${what}`))],
    *check({ tool }) {
      for (const { text, at } of textsOf(tool).texts) {
        const [first, ...others] = upTo(100, findHidden(text));
        if (first)
          yield { at, message: hiddenMessage(first, others), fix: "Remove them, and find out how they came in." };
      }
    },
  },
  {
    id: "injection-wording",
    severity: "error",
    why: "A tool that gives orders beyond its own use is how tool poisoning looks; hosts and scanners block it.",
    docs: "https://invariantlabs.ai/blog/mcp-security-notification-tool-poisoning-attacks",
    clauses: injectionPatterns.map(({ clause }) => clause),
    *check({ tool }) {
      for (const { text, at } of textsOf(tool).texts) {
        // Every wording has one of these, and most texts of a schema (names, types) have none.
        if (!/[\s<[]/.test(text)) continue;
        const plain = text.replace(/\s+/g, " ");
        for (const { sees, does } of injectionPatterns) {
          const [seen] = sees.exec(plain) ?? [];
          if (seen === undefined) continue;
          const message = `The text ${does}: ${quote(seen)}.`;
          yield { at, message, fix: "Say what this tool does and when to call it, and nothing about anything else." };
        }
      }
    },
  },
];

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

const filler = new Set(["a", "an", "the", "this", "tool", "function", "to", "of", "for"]);

/** For scripts that put no spaces between words. */
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

function spoken(text: string): readonly string[] {
  if (/^[\s!-~]*$/.test(text)) return wordsOf(text);
  const words = [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike);
  return words.flatMap(({ segment }) => wordsOf(segment));
}

/** `reads` and `read`, `files` and `file` are the same word here. */
function stem(word: string): string {
  return word.replace(/e?s$/, "").replace(/e$/, "");
}

/** A parameter is described in its own schema, in the one it refers to, or in a branch of it. */
function isDescribed(schema: JsonObject, walk: Walk): boolean {
  const target = typeof schema.$ref === "string" ? followRef(schema.$ref, walk) : undefined;
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  const all = [schema, target?.kind === "local" ? target.schema : undefined, ...branches.slice(0, 100)];
  return all.some((one) => isJsonObject(one) && isText(one.description));
}

function hiddenMessage(first: HiddenCharacter, others: readonly HiddenCharacter[]): string {
  const what = hiddenRanges.find(({ from, to }) => first.code >= from && first.code <= to)?.what ?? "characters";
  const more = others.length === 0 ? "" : ` and ${others.length >= 99 ? "at least " : ""}${others.length} more`;
  return `The text holds hidden characters (${what}): U+${first.code.toString(16).toUpperCase().padStart(4, "0")} at character ${first.index + 1}${more}.`;
}

const docs =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use#best-practices-for-tool-definitions";

/** That a description tells when to call the tool, and what it does then. */
export const purposeRules: readonly Rule<ToolSubject>[] = [
  {
    id: "description-when",
    severity: "warning",
    why: "Without the situation that a tool is for, a model calls it too often, or answers without it.",
    docs,
    clauses: ["says when to call the tool"],
    *check({ tool }) {
      const text = englishDescription(tool);
      if (text === undefined || /\bdeprecated\b/i.test(text)) return;
      const own =
        typeof tool.name === "string" && tool.name.length > 3 ? text.replaceAll(tool.name, "this tool") : text;
      if (saysWhenToUse(own)) return;
      yield {
        at: ["description"],
        message: "The description does not say when to call the tool.",
        fix: 'Add the situation or the request that it is for: "Use this when the user asks ...".',
      };
    },
  },
  {
    id: "description-what",
    severity: "info",
    why: "A model cannot tell from a label or from hints of use alone what comes of a call.",
    docs,
    clauses: ["says what a call does, with a verb", "more than when to call it"],
    *check({ tool }) {
      const text = englishDescription(tool);
      if (text === undefined || isBare(text, tool.name) || sentencesOf(text).some(saysWhat)) return;
      yield {
        at: ["description"],
        message: "The description does not say what the tool does.",
        fix: 'Start with it, a verb first, such as "Returns the orders of a customer, newest first".',
      };
    },
  },
];

/** Fewer than three words, or those of the name again: what description-too-short is about. */
function isBare(text: string, name: unknown): boolean {
  const words = new Set(wordsOf(text).filter((word) => !determiners.has(word)));
  const named = new Set(typeof name === "string" ? wordsOf(name) : []);
  return words.size < 3 || [...words].every((word) => named.has(word));
}

const hint =
  /^(?:(?:always |only |please )?(?:use|call|invoke|prefer)\b|do not|don't|never|useful|helpful|ideal|perfect|great\b)/i;
const purpose = /\b(?:used?|call|invoke)(?: \w+){0,3} to (\w+)/i;
const situation = /^(?:when|whenever|if|for|before|after|once|while)\b/i;
const determiners = new Set("a an the all any one some this your its up each every multiple several new".split(" "));
const prepositions = new Set("of for in on at from with by about to and or".split(" "));
/** What the verb of a sentence may follow, beside a sign or an adverb. */
const leads = new Set(
  "to and or then will can could may would should must that which it this these tool function you we i lets helps by for is are be".split(
    " ",
  ),
);

/** Whether a sentence tells what the tool does, rather than when it is used or what it is called. */
function saysWhat(sentence: string): boolean {
  const to = purpose.exec(sentence)?.[1];
  if (to !== undefined && isVerb(to.toLowerCase())) return true;
  if (hint.test(sentence)) return false;
  // "When the user asks, returns ...": what it does stands behind the comma.
  const main = situation.test(sentence) ? (/[,:](.*)$/.exec(sentence)?.[1] ?? "") : sentence;
  const words = main.toLowerCase().match(/[a-z][\w'-]*|[,:(\u2013\u2014]/g) ?? [];
  return words.some((word, at) => {
    const [before, next = ""] = [words[at - 1], words[at + 1]];
    const leading = before === undefined || leads.has(before) || before.length === 1 || before.endsWith("ly");
    if (leading && (isVerb(word) || (determiners.has(next) && /^\w{3,}$/.test(word) && !leads.has(word)))) return true;
    // The third person, known or at the start: "The assistant drafts e-mails", "Brews coffee".
    if (!/[a-z]{2,}[^us]s$/.test(word) || !/\w/.test(next) || prepositions.has(next)) return false;
    return before === undefined || isVerb(word);
  });
}

function isVerb(word: string): boolean {
  return basesOf(word).some((base) => verbKind(base) !== undefined);
}
