import { parseWords, sumOf } from "../../../base/collections.ts";
import { quote } from "../../../base/text/text.ts";
import type { Path } from "../../../base/types/json.ts";
import type { SkillDocument } from "../../../base/types/skill.ts";
import { countTriggerPhrases, isEnglish, saysWhatItDoes, saysWhenNotToUse, saysWhenToUse } from "../language.ts";
import { defineRules, type RuleHead, type SkillSubject } from "../rule.ts";

const docs = "docs/lint-rules.md";
const writing = "https://agentskills.io/skill-creation/optimizing-descriptions";
const minPhrases = 2;
const limits = { description: 5_000, lines: 500, tokens: 5_000 } as const;
/** A common estimate for English text. */
const charactersPerToken = 4;

type Requirement<Part> = RuleHead & { fix: string; isKept(part: Part): boolean; message: string };

/** How descriptions of skills state a situation, beside those of tools: "When ...", "Triggers on", "when building". */
const situation =
  /(?:^|[.!?]\s+)(?:when|whenever|if|for \w+ing)\b|\b(?:use|load|apply|invoke) (?:the )?skill (?:for|if|when|whenever|to)\b|\b(?:triggers?|activates?|invoked?|consult) (?:before|for|if|on|when|whenever)\b|\bwhen(?:ever)? \w+ing\b/i;

/** What a description must say, if it is English. */
const descriptionTable: readonly Requirement<string>[] = [
  {
    id: "skill-description-when",
    why: "A model loads a skill when the situation matches its description; without one, the skill stays unused.",
    isKept: (text) => saysWhenToUse(text) || situation.test(text),
    message: "The description does not say when to use the skill.",
    fix: 'Add the situation: "Use this when the user ...".',
  },
  {
    id: "skill-description-what",
    why: "Without what a skill does, a model cannot distinguish it from another for the same situation.",
    isKept: saysWhatItDoes,
    message: "The description does not say what the skill does.",
    fix: "Start with it, verb first: what the skill makes or changes, and from what.",
  },
  {
    id: "skill-trigger-phrases",
    profile: "spec",
    why: "Users rarely name a skill: a model recognizes it by the words that users do say.",
    isKept: (text) => countTriggerPhrases(text) >= minPhrases,
    message: "The description has fewer than two phrases that a user would say.",
    fix: 'Add two or three, in quotes: "make this image smaller", "compress my photos".',
  },
  {
    id: "skill-description-not-for",
    profile: "spec",
    why: "A skill that does not say what it is not for is loaded for whatever sounds similar.",
    isKept: saysWhenNotToUse,
    message: "The description does not say what the skill must not be used for.",
    fix: 'Name the closest thing that it is not for: "Not for ...; use ... instead".',
  },
];

/** What a body must have. A violation is reported at its first line. */
const bodyTable: readonly Requirement<SkillDocument>[] = [
  {
    id: "skill-title",
    severity: "info",
    profile: "spec",
    why: "The title shows a model, and a reader, where the instructions of the skill begin.",
    isKept: ({ title }) => title !== undefined,
    message: "The body has no title.",
    fix: "Start it with a heading: # and what the skill is for.",
  },
  {
    id: "skill-situation",
    profile: "spec",
    why: "A model that has loaded a skill must see whether it applies before it follows the steps.",
    isKept: ({ situation }) => situation !== undefined,
    message: "The body does not say in which situation the skill applies.",
    fix: "Add a paragraph after the title, or a section that starts with When.",
  },
  {
    id: "skill-steps",
    profile: "spec",
    why: "Models follow numbered steps in order, and prose only in parts.",
    isKept: ({ steps }) => steps.length > 0,
    message: "The body has no numbered steps.",
    fix: "Write what to do as a numbered list, one action each.",
  },
  {
    id: "skill-never",
    profile: "spec",
    why: "What is not forbidden is tried: the known mistakes of a task come back unless they are listed.",
    isKept: ({ never }) => never.length > 0,
    message: "The body has no list of things not to do.",
    fix: 'Add a section "Do not", with one thing per line.',
  },
];

export const skillWordingRules = defineRules<SkillSubject>(docs, [
  ...descriptionTable.map(({ isKept, message, ...head }) => ({
    ...head,
    docs: writing,
    at: ["frontMatter", "description"],
    find({ package: { description, document } }: SkillSubject) {
      // Claude Code shows `when_to_use` behind the description.
      const { when_to_use: situation } = document.frontMatter;
      const shown = typeof situation === "string" ? `${description}. ${situation}` : description;
      // The rest is not read: skill-description-length reports longer descriptions.
      const start = shown.slice(0, limits.description);
      return start.trim() !== "" && isEnglish(start) && !isKept(start) && message;
    },
  })),
  {
    id: "skill-description-tags",
    docs: "https://platform.claude.com/docs/en/agents-and-tools/agent-skills/overview#skill-structure",
    why: "A host puts descriptions into a list of tags, so tags inside one are rejected or break that list.",
    at: ["frontMatter", "description"],
    fix: "Say it in words, without < and >.",
    find({ package: { description } }) {
      const start = description.slice(0, limits.description);
      const [tag] = /<\/?[A-Za-z][\w-]{0,40}(?:\s[^<>]{0,200})?\/?>/.exec(start) ?? [];
      return tag !== undefined && `The description contains the tag ${quote(tag)}.`;
    },
  },
  {
    id: "skill-sibling-exists",
    why: "A model that is referred to a skill which does not exist makes up its steps, or goes without.",
    *check({ package: { name, description, document }, siblings }) {
      // A package that is linted alone has unknown siblings.
      if (siblings.length === 0) return;
      const names = siblings.map((sibling) => sibling.name);
      const known = new Set([name, ...names]);
      const fix = `Install it, or name one that exists: ${names.slice(0, 5).join(", ")}.`;
      const texts: [string, Path][] = [
        [description, ["frontMatter", "description"]],
        ...document.body.split("\n").map((text, at): [string, Path] => [text, ["line", document.bodyLine + at]]),
      ];
      for (const [text, at] of texts)
        for (const [, quoted, unquoted] of text.slice(0, limits.description).matchAll(skillNames)) {
          const named = quoted ?? unquoted ?? "";
          if (known.has(named) || determiners.has(named)) continue;
          yield { at, message: `The skill ${quote(named)} does not exist next to this one.`, fix };
        }
    },
  },
  ...bodyTable.map(({ isKept, message, ...head }) => ({
    ...head,
    *check({ package: { document } }: SkillSubject) {
      if (!isKept(document)) yield { at: ["line", document.bodyLine], message };
    },
  })),
  {
    id: "skill-step-single-action",
    severity: "info",
    profile: "spec",
    why: "Of two actions in one step the second is the one that gets lost; a vague one is done in any way.",
    fix: "Say in which case, and what to do.",
    *check({ package: { document } }) {
      for (const { text, line, number } of document.steps) {
        const start = text.slice(0, 1_000).replace(/[`*]|(?<!\w)_|_(?!\w)/g, "");
        const actions = countActions(start);
        const at = ["line", line];
        if (actions > 1) {
          const message = `Step ${number} asks for ${actions} actions: ${quote(start)}.`;
          yield { at, message, fix: "Make each a separate step." };
        }
        const [word] = vague.exec(start) ?? [];
        if (word !== undefined) yield { at, message: `Step ${number} is vague: ${quote(word)}.` };
      }
    },
  },
  {
    id: "skill-body-long",
    docs: "https://agentskills.io/specification#progressive-disclosure",
    why: "The whole body enters the context of the model once the skill loads, and crowds out the user's task.",
    fix: "Move details into files of the package, and link to them where they are needed.",
    *check({ package: { document } }) {
      const lines = document.body.trimEnd().split("\n").length;
      const tokens = Math.round(document.body.length / charactersPerToken);
      const at = ["line", document.bodyLine];
      if (lines >= limits.lines) yield { at, message: `The body has ${lines} lines; keep it under ${limits.lines}.` };
      else if (tokens > limits.tokens)
        yield { at, message: `The body has about ${tokens} tokens; keep it to ${limits.tokens}.` };
    },
  },
]);

/** A name in quotes before the word "skill", or without quotes between a verb such as "use" and the word "skill". */
const skillNames =
  /[`'"]([a-z0-9]+(?:-[a-z0-9]+)*)[`'"] skill\b|\b(?:use|load|see|invoke|prefer|activate) (?:the )?([a-z0-9]+(?:-[a-z0-9]+)*) skill\b/g;
const determiners = parseWords("this that the a an any another each every one other same");

// Verbs that steps start with, except words that are nouns as often (name, file).
const verbs =
  "add|analy[sz]e|apply|ask|build|calculate|call|check|choose|clean|click|close|collect|commit|compare|compile|compress|compute|confirm|convert|copy|create|delete|deploy|determine|download|draft|edit|ensure|evaluate|execute|explain|export|extract|fetch|fill|find|fix|format|generate|get|identify|import|inspect|install|list|load|locate|make|merge|move|open|parse|pick|print|publish|push|put|read|remove|rename|replace|report|resize|restart|return|review|rewrite|run|save|scan|search|select|send|set|show|sort|split|start|stop|submit|summari[sz]e|tell|test|update|upload|validate|verify|wait|write";
const startsWithVerb = new RegExp(`^(?:first,? |then,? |now,? |finally,? |next,? )?(?:${verbs})\\b`, "i");
const furtherAction = new RegExp(`(?:,? and then|,? then|[;,] and|,? and|;) (?:${verbs})\\b`, "gi");
const vague =
  /\b(?:as (?:needed|necessary|appropriate|required)|if (?:needed|necessary)|appropriately|and so on|somehow|etc\b\.?)/i;

/** Counts the actions in a step: sentences that start with a verb, and verbs after "and" or "then". */
function countActions(step: string): number {
  const sentences = step.split(/[.!?:]\s+/).filter((sentence) => startsWithVerb.test(sentence));
  return sumOf(sentences, (sentence) => 1 + (sentence.match(furtherAction)?.length ?? 0));
}
