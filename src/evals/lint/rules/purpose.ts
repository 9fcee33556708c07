import { englishDescription, saysWhenToUse, splitSentences } from "../language.ts";
import { defineRules, type ToolSubject } from "../rule.ts";
import { splitName } from "../text.ts";
import { getVerbKind, listBaseForms } from "../verbs.ts";

const docs =
  "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use#best-practices-for-tool-definitions";

/** Whether a description says when to call the tool, and what it does. */
export const purposeRules = defineRules<ToolSubject>([
  {
    id: "description-when",
    severity: "warning",
    docs,
    why: "A model that does not know when a tool applies calls it too often, or answers without it.",
    clauses: ["says when to call the tool"],
    at: ["description"],
    fix: 'Add the situation or the request that it is for: "Use this when the user asks ...".',
    find({ tool }) {
      const text = englishDescription(tool);
      if (text === undefined || /\bdeprecated\b/i.test(text)) return undefined;
      const { name } = tool;
      const own = typeof name === "string" && name.length > 3 ? text.replaceAll(name, "this tool") : text;
      return !saysWhenToUse(own) && "The description does not say when to call the tool.";
    },
  },
  {
    id: "description-what",
    severity: "info",
    docs,
    why: "From a label or from usage hints alone, a model cannot tell what a call does.",
    clauses: ["says what a call does, with a verb", "says more than when to call it"],
    at: ["description"],
    fix: 'Start with it, verb first, such as "Returns the orders of a customer, newest first".',
    find({ tool }) {
      const text = englishDescription(tool);
      if (text === undefined || isBare(text, tool.name) || splitSentences(text).some(saysWhat)) return undefined;
      return "The description does not say what the tool does.";
    },
  },
]);

/** Fewer than three words, or only those of the name: description-too-short reports these. */
function isBare(text: string, name: unknown): boolean {
  const words = new Set(splitName(text).filter((word) => !determiners.has(word)));
  const named = new Set(typeof name === "string" ? splitName(name) : []);
  return words.size < 3 || [...words].every((word) => named.has(word));
}

const hint =
  /^(?:(?:always |only |please )?(?:use|call|invoke|prefer)\b|do not|don't|never|useful|helpful|ideal|perfect|great\b)/i;
const purpose = /\b(?:used?|call|invoke)(?: \w+){0,3} to (\w+)/i;
const situation = /^(?:when|whenever|if|for|before|after|once|while)\b/i;
const determiners = new Set("a an the all any one some this your its up each every multiple several new".split(" "));
const prepositions = new Set("of for in on at from with by about to and or".split(" "));
/** What the verb of a sentence may follow, in addition to a punctuation mark or an adverb. */
const leads = new Set(
  "to and or then will can could may would should must that which it this these tool function you we i lets helps by for is are be".split(
    " ",
  ),
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
    // The third person, known or at the start: "The assistant drafts e-mails", "Brews coffee".
    if (!/[a-z]{2,}[^us]s$/.test(word) || !/\w/.test(next) || prepositions.has(next)) return false;
    return before === undefined || isVerb(word);
  });
}

function isVerb(word: string): boolean {
  return listBaseForms(word).some((base) => getVerbKind(base) !== undefined);
}
