import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { injectionPatterns } from "../schema/injection.ts";
import { follow } from "../schema/refs.ts";
import { codeName, type Hidden, hiddenIn, hiddenRanges, quote, textsOf, wordsOf } from "../schema/text.ts";
import { type Walk, walkOf } from "../schema/walk.ts";
import { upTo } from "../upTo.ts";

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
      const walk = walkOf(tool, "inputSchema");
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
        const [first, ...others] = upTo(100, hiddenIn(text));
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
  const target = typeof schema.$ref === "string" ? follow(schema.$ref, walk) : undefined;
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  const all = [schema, target?.kind === "local" ? target.schema : undefined, ...branches.slice(0, 100)];
  return all.some((one) => isJsonObject(one) && isText(one.description));
}

function hiddenMessage(first: Hidden, others: readonly Hidden[]): string {
  const what = hiddenRanges.find(({ from, to }) => first.code >= from && first.code <= to)?.what ?? "characters";
  const more = others.length === 0 ? "" : ` and ${others.length >= 99 ? "at least " : ""}${others.length} more`;
  return `The text holds hidden characters (${what}): ${codeName(first.code)} at character ${first.index + 1}${more}.`;
}
