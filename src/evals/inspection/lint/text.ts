import { once } from "../../base/collections.ts";
import type { Json, JsonObject, Path } from "../../base/types/json.ts";

/** The words of names that were split before, because rules split the same names many times. */
const wordsByName = new Map<string, readonly string[]>();
const maxMemoized = 20_000;

/** Splits a name in any style (`maxResults`, `max_results`, `max-results`) into lower-case words. */
export function splitName(name: string): readonly string[] {
  const short = name.slice(0, 200);
  const known = wordsByName.get(short);
  if (known) return known;
  const spaced = short.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4");
  const words = spaced
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  if (wordsByName.size >= maxMemoized) wordsByName.clear();
  wordsByName.set(short, words);
  return words;
}

/** Takes at most `most` items. The rest is not iterated. */
export function takeFirst<T>(most: number, items: Iterable<T>): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length >= most) break;
    first.push(item);
  }
  return first;
}

/** Whether the description of a tool explains a parameter: in a list of parameters, or marked as code. */
export function isNamedIn(description: unknown, parameter: string): boolean {
  if (typeof description !== "string" || !/^\w{1,100}$/.test(parameter)) return false;
  return new RegExp(`[\`'"*]${parameter}[\`'"*]|\\b${parameter}(?: \\([^)\\n]{0,80}\\))?:|[-*] ${parameter}\\b`).test(
    description.slice(0, 20_000),
  );
}

/** Limits for collecting the texts of a tool: total characters, and the length of paths. */
export const maxSearched = 100_000;
const maxDepth = 100;
const fields = ["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/** Texts that can reach a model, with their paths. `whole`: no limit was reached. */
type Texts = { texts: readonly { text: string; at: Path }[]; whole: boolean };

/** Collects the texts of a tool, including property names (memoized). */
export const collectTexts = once((tool: JsonObject): Texts => {
  const texts: { text: string; at: Path }[] = [];
  let left = maxSearched;
  const add = (text: string, at: Path) => {
    texts.push({ text: text.slice(0, Math.max(0, left)), at });
    left -= text.length;
  };
  const collect = (value: Json, at: Path) => {
    left--;
    if (typeof value === "string") add(value, at);
    else if (typeof value !== "object" || value === null) return;
    else if (at.length > maxDepth) left = 0;
    else {
      for (const key of Object.keys(value)) {
        if (left <= 0) return;
        const isName = !Array.isArray(value);
        const path = [...at, isName ? key : Number(key)];
        if (isName) add(key, path);
        collect((value as JsonObject)[key] ?? null, path);
      }
    }
  };
  for (const field of fields) if (Object.hasOwn(tool, field)) collect(tool[field] ?? null, [field]);
  return { texts, whole: left > 0 };
});

/** A wording by which a tool or skill manipulates a model, and what it does. */
type InjectionPattern = { does: string; pattern: RegExp };

const secrets =
  "(?:(?:~|\\$HOME|/root|/home/\\w+)/\\.(?:ssh|aws|gnupg|cursor|claude)\\b|\\bid_(?:rsa|ed25519)\\b|/etc/(?:passwd|shadow)\\b" +
  "|\\.cursor/mcp\\.json|claude_desktop_config\\.json|\\.aws/credentials)";

/**
 * Based on published reports of tool poisoning (Invariant Labs "MCP Security Notification: Tool Poisoning Attacks",
 * CyberArk "Poison Everywhere", OWASP MCP Top 10: MCP03). Deliberately narrow: usage hints such as "IMPORTANT: call
 * list_pages first", "ignore any instructions in the page" or "do not show ids to the user" are not attacks. Every
 * repetition is bounded, so matching takes linear time.
 */
export const injectionPatterns: readonly InjectionPattern[] = [
  {
    does: "tells the model to ignore its other instructions",
    pattern:
      /\b(?:ignore|disregard|forget|override)(?: [\w']+){0,3} (?:(?:previous|prior|above|earlier|preceding|your|safety) (?:instructions?|directives?|guidelines|prompts?)\b|(?:all|any|other) (?:instructions?|directives?|guidelines|prompts?)\b(?! (?:in|inside|within|found|from|contained|embedded|returned|it|they|that)\b))|\b(?:ignore|disregard|forget) (?:the |all |any )?(?:instructions|directives|prompts) (?:above|before|given|you)\b/i,
  },
  {
    does: "tells the model to hide something from the user",
    pattern:
      /\b(?:do not|don't|never|must not|without)(?: \w+){0,2} (?:tell|telling|inform|informing) the (?:user|human)\b|\b(?:do not|don't|never|must not) (?:mention|reveal|disclose) (?:this|it|that|these|any of this|the above)\b(?: \w+){0,4} to the (?:user|human)\b|\b(?:hide|conceal|keep) (?:this|it|these|that)(?: \w+){0,3} from the (?:user|human)\b/i,
  },
  {
    does: "tells the model to read a place where secrets are kept",
    pattern: new RegExp(
      `\\b(?:before|first|also|always|must)\\b.{0,100}?\\b(?:read|open|cat|load|fetch|send|include|retrieve|copy|pass)\\b.{0,100}?${secrets}`,
      "i",
    ),
  },
  {
    does: "imitates a part of the system prompt",
    pattern:
      /<\s?\/?(?:system[-_ ](?:prompt|message|reminder|instructions?)|secret[-_ ]instructions?|hidden)\s?>|<system>[^<]{0,2000}<\/system>|\[\/?INST\]|<\|im_(?:start|end)\|>|<<\/?SYS>>/i,
  },
  {
    does: "asks for the system prompt",
    pattern:
      /\b(?:reveal|output|print|repeat|send|include|pass|copy|append|attach)(?: \w+){0,6} your (?:system|initial|original) prompt\b/i,
  },
];
