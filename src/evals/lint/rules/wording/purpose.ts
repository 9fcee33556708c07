import { englishDescription } from "../../language/description.ts";
import { sentencesOf } from "../../language/english.ts";
import { saysWhenToUse } from "../../language/usage.ts";
import { basesOf, verbKind } from "../../language/verbs.ts";
import type { Rule, ToolSubject } from "../../rule.ts";
import { wordsOf } from "../../schema/text.ts";

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
