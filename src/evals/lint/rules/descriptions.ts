import { followRef, type Walk, walkToolSchema } from "../../jsonSchema/walk.ts";
import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { describeHidden, findHidden, hiddenRanges, quote } from "../../types/quote.ts";
import { defineRules, type ToolSubject } from "../rule.ts";
import { collectTexts, injectionPatterns, splitName, takeFirst } from "../text.ts";

const writing =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools#best-practices-for-tool-definitions";
const maxBytes = 2048;
/** In characters; longer descriptions are never too short. */
const maxShort = 100;

/** The text that reaches the model: descriptions, and whatever may be hidden in a tool. */
export const descriptionRules = defineRules<ToolSubject>([
  {
    id: "description-missing",
    severity: "error",
    docs: writing,
    why: "A model chooses by the description; without one, only the name is left.",
    clauses: ["there is a description", "the description is a string", "the description is not blank"],
    at: ["description"],
    fix: "Say what the tool does, when to call it, and which sibling to call otherwise.",
    find({ tool: { description } }) {
      if (isText(description)) return undefined;
      if (description === undefined) return "The tool has no description.";
      return typeof description === "string" ? "The description is blank." : "The description is not a string.";
    },
  },
  {
    id: "description-over-2kb",
    severity: "warning",
    docs: "https://code.claude.com/docs/en/mcp#for-mcp-server-authors",
    why: "Claude Code silently truncates a description after 2 kB, and the model never sees the rest.",
    clauses: ["at most 2,048 bytes of UTF-8"],
    at: ["description"],
    fix: "Keep what decides the choice, and move the rest to the parameters.",
    find({ tool: { description } }) {
      const bytes = typeof description === "string" ? Buffer.byteLength(description) : 0;
      return bytes > maxBytes && `The description has ${bytes} bytes; a host truncates it after ${maxBytes}.`;
    },
  },
  {
    id: "description-too-short",
    severity: "warning",
    docs: writing,
    why: "A description that adds nothing to the name gives a model nothing to choose by.",
    clauses: ["three words or more", "more than the words of the name"],
    at: ["description"],
    fix: "Say what the tool does and returns, and when to call it.",
    find({ tool: { name, description } }) {
      if (!isText(description) || description.length > maxShort) return undefined;
      const words = splitText(description);
      const named = new Set(typeof name === "string" ? splitName(name).map(stem) : []);
      if (words.length > 0 && words.every((word) => named.has(stem(word)) || filler.has(word)))
        return `The description ${quote(description.trim())} only repeats the name.`;
      return words.length < 3 && `The description ${quote(description.trim())} has fewer than three words.`;
    },
  },
  {
    id: "parameter-description-missing",
    severity: "warning",
    docs: writing,
    why: "Without a description, a model guesses the format and the meaning of a parameter from its name.",
    clauses: ["every parameter has a description", "a description is not blank"],
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
    docs: "https://www.unicode.org/reports/tr36/",
    why: "A model reads characters that no reviewer sees, which is how instructions are smuggled into a tool.",
    clauses: [...new Set(hiddenRanges.map(({ what }) => `no ${what}`))],
    *check({ tool }) {
      for (const { text, at } of collectTexts(tool).texts) {
        const [first, ...others] = takeFirst(100, findHidden(text));
        if (!first) continue;
        const more = others.length === 0 ? "" : ` and ${others.length >= 99 ? "at least " : ""}${others.length} more`;
        const message = `The text has hidden characters: ${describeHidden(first.code)} at character ${first.index + 1}${more}.`;
        yield { at, message, fix: "Remove them, and find out where they came from." };
      }
    },
  },
  {
    id: "injection-wording",
    severity: "error",
    docs: "https://invariantlabs.ai/blog/mcp-security-notification-tool-poisoning-attacks",
    why: "Instructions that go beyond the tool's own use are the mark of tool poisoning; hosts and scanners block them.",
    clauses: injectionPatterns.map(({ clause }) => clause),
    *check({ tool }) {
      for (const { text, at } of collectTexts(tool).texts) {
        // Every pattern needs one of these, and most texts of a schema (names, types) have none.
        if (!/[\s<[]/.test(text)) continue;
        const plain = text.replace(/\s+/g, " ");
        for (const { pattern, does } of injectionPatterns) {
          const [match] = pattern.exec(plain) ?? [];
          if (match === undefined) continue;
          const fix = "Say what this tool does and when to call it, and nothing about anything else.";
          yield { at, message: `The text ${does}: ${quote(match)}.`, fix };
        }
      }
    },
  },
]);

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

const filler = new Set(["a", "an", "the", "this", "tool", "function", "to", "of", "for"]);

/** For scripts that put no spaces between words. */
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

function splitText(text: string): readonly string[] {
  if (/^[\s!-~]*$/.test(text)) return splitName(text);
  const words = [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike);
  return words.flatMap(({ segment }) => splitName(segment));
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
