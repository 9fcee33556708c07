import { quote } from "../../types/quote.ts";
import type { SkillDocument } from "../../types/skill.ts";
import { isEnglish, saysWhatItDoes, saysWhenNotToUse, saysWhenToUse, triggerPhrases } from "../language.ts";
import type { Rule, SkillSubject, Violation } from "../rule.ts";

type SkillRule = Rule<SkillSubject>;

const writing = "https://agentskills.io/skill-creation/optimizing-descriptions";
const fewestPhrases = 2;

/** A rule that a description which is there keeps, or breaks as a whole. Only English is understood. */
function onDescription(
  rule: Omit<SkillRule, "check">,
  keeps: (description: string) => boolean,
  found: Omit<Violation, "at">,
): SkillRule {
  return {
    ...rule,
    *check({ package: { description } }) {
      // What is longer is refused for its length.
      const start = description.slice(0, 5_000);
      if (start.trim() === "" || !isEnglish(start) || keeps(start)) return;
      yield { at: ["frontMatter", "description"], ...found };
    },
  };
}

const when = onDescription(
  {
    id: "skill-description-when",
    severity: "warning",
    why: "A model loads a skill when the situation fits what the description says of it; unsaid, it stays unused.",
    docs: writing,
    clauses: ["states the situation in which to use it"],
  },
  (description) => saysWhenToUse(description) || /(?:^|[.!?]\s+)(?:when|whenever|if)\b/i.test(description),
  {
    message: "The description does not say when to use the skill.",
    fix: 'Add the situation: "Use this when the user ...".',
  },
);

const what = onDescription(
  {
    id: "skill-description-what",
    severity: "warning",
    why: "Without what a skill does, a model cannot tell it from another for the same situation.",
    docs: writing,
    clauses: ["says what the skill does, not only when", "more than two words"],
  },
  saysWhatItDoes,
  {
    message: "The description does not say what the skill does.",
    fix: "Start with it, a verb first: what the skill makes or changes, and from what.",
  },
);

const phrases = onDescription(
  {
    id: "skill-trigger-phrases",
    severity: "warning",
    why: "Users rarely name a skill: the words that they do use are what a model recognises it by.",
    docs: writing,
    clauses: ["two or three phrases as users say them"],
  },
  (description) => triggerPhrases(description) >= fewestPhrases,
  {
    message: "The description names fewer than two phrases that a user would say.",
    fix: 'Name two or three, in quotes: "make this image smaller", "compress my photos".',
  },
);

const notFor = onDescription(
  {
    id: "skill-description-not-for",
    severity: "warning",
    why: "A skill that does not say what it is not for is loaded for whatever sounds alike.",
    docs: writing,
    clauses: ["says what it must not be used for"],
  },
  saysWhenNotToUse,
  {
    message: "The description does not say what the skill must not be used for.",
    fix: 'Name the nearest thing that it is not for: "Not for ...; use ... instead".',
  },
);

const tags: SkillRule = {
  id: "skill-description-tags",
  severity: "warning",
  why: "A host sets descriptions into a list of tags, so tags inside of one are refused or break that list.",
  docs: "https://platform.claude.com/docs/en/agents-and-tools/agent-skills/overview#skill-structure",
  clauses: ["no XML tags"],
  *check({ package: { description } }) {
    const [tag] = /<\/?[A-Za-z][\w-]{0,40}(?:\s[^<>]{0,200})?\/?>/.exec(description.slice(0, 5_000)) ?? [];
    if (tag === undefined) return;
    const at = ["frontMatter", "description"];
    yield { at, message: `The description holds the tag ${quote(tag)}.`, fix: "Say it in words, without < and >." };
  },
};

// In quotes before the word skill, or after a verb that hands over to it.
const namedSkills =
  /[`'"]([a-z0-9]+(?:-[a-z0-9]+)*)[`'"] skill\b|\b(?:use|load|see|invoke|prefer|activate) (?:the )?([a-z0-9]+(?:-[a-z0-9]+)*) skill\b/g;

const siblingExists: SkillRule = {
  id: "skill-sibling-exists",
  severity: "warning",
  why: "A model that is sent to a skill which is not there does without one, or makes its steps up.",
  docs: "docs/lint-rules.md",
  clauses: ["a skill named in the description is there", "a skill named in the body is there"],
  *check({ package: { name, description, document }, siblings }) {
    // A package by itself: what lies beside it elsewhere is not known.
    if (siblings.length === 0) return;
    const there = new Set([name, ...siblings.map((sibling) => sibling.name)]);
    const fix = `Install it, or name one that is there: ${siblings
      .slice(0, 5)
      .map((one) => one.name)
      .join(", ")}.`;
    const texts: [string, Violation["at"]][] = [
      [description.slice(0, 5_000), ["frontMatter", "description"]],
      ...document.body
        .split("\n")
        .map((text, at): [string, Violation["at"]] => [text, ["line", document.bodyLine + at]]),
    ];
    for (const [text, at] of texts)
      for (const [, quoted, handed] of text.slice(0, 5_000).matchAll(namedSkills)) {
        const named = quoted ?? handed ?? "";
        if (there.has(named) || words.has(named)) continue;
        yield { at, message: `There is no skill ${quote(named)} beside this one.`, fix };
      }
  },
};

/** What may stand before "skill" and names none. */
const words = new Set(["this", "that", "the", "a", "an", "any", "another", "each", "every", "one", "other", "same"]);

/** What a model reads of a skill before it is loaded. */
export const skillDescriptionRules: readonly SkillRule[] = [when, what, phrases, notFor, tags, siblingExists];

const docs = "docs/lint-rules.md";
const format = "https://agentskills.io/specification";
const most = { lines: 500, tokens: 5_000 } as const;
/** The usual estimate for English text. */
const signsPerToken = 4;

/** A rule that wants a part of the body to be there. */
function wants(
  rule: Omit<SkillRule, "check" | "docs">,
  isThere: (document: SkillDocument) => boolean,
  found: Omit<Violation, "at">,
): SkillRule {
  return {
    ...rule,
    docs,
    *check({ package: { document } }) {
      if (!isThere(document)) yield { at: ["line", document.bodyLine], ...found };
    },
  };
}

const title = wants(
  {
    id: "skill-title",
    severity: "info",
    why: "The title tells a model, and a reader, where the instructions of one skill begin.",
    clauses: ["the body has a title"],
  },
  (document) => document.title !== undefined,
  { message: "The body has no title.", fix: "Start it with a heading: # and what the skill is for." },
);

const situation = wants(
  {
    id: "skill-situation",
    severity: "warning",
    why: "A model that has loaded a skill must see whether it fits before it follows the steps.",
    clauses: ["the body says what the situation is"],
  },
  (document) => document.situation !== undefined,
  {
    message: "The body does not say in which situation the skill applies.",
    fix: "Add a paragraph after the title, or a section that starts with When.",
  },
);

const steps = wants(
  {
    id: "skill-steps",
    severity: "warning",
    why: "Numbered steps are followed in their order; prose is followed in parts.",
    clauses: ["the body has numbered steps"],
  },
  (document) => document.steps.length > 0,
  { message: "The body has no numbered steps.", fix: "Write what to do as a numbered list, one action each." },
);

const never = wants(
  {
    id: "skill-never",
    severity: "warning",
    why: "What is not forbidden is tried: the known mistakes of a task come back unless they are listed.",
    clauses: ["the body lists what not to do"],
  },
  (document) => document.never.length > 0,
  {
    message: "The body has no list of things not to do.",
    fix: "Add a section headed Do not, with one thing a line.",
  },
);

// Verbs that steps start with; a word that is a noun as often (name, file, list) is left out where it would mislead.
const verbs =
  "add|analy[sz]e|apply|ask|build|calculate|call|check|choose|clean|click|close|collect|commit|compare|compile|compress|compute|confirm|convert|copy|create|delete|deploy|determine|download|draft|edit|ensure|evaluate|execute|explain|export|extract|fetch|fill|find|fix|format|generate|get|identify|import|inspect|install|list|load|locate|make|merge|move|open|parse|pick|print|publish|push|put|read|remove|rename|replace|report|resize|restart|return|review|rewrite|run|save|scan|search|select|send|set|show|sort|split|start|stop|submit|summari[sz]e|tell|test|update|upload|validate|verify|wait|write";
const startsWithVerb = new RegExp(`^(?:first,? |then,? |now,? |finally,? |next,? )?(?:${verbs})\\b`, "i");
const goesOn = new RegExp(`(?:,? and then|,? then|[;,] and|,? and|;) (?:${verbs})\\b`, "gi");
const vague =
  /\b(?:as (?:needed|necessary|appropriate|required)|if (?:needed|necessary)|appropriately|and so on|somehow|etc\b\.?)/i;

const singleAction: SkillRule = {
  id: "skill-step-single-action",
  severity: "info",
  why: "Of two actions in one step the second is the one that gets lost; a vague one is done in any way.",
  docs,
  clauses: ["one action a step", "an explicit action"],
  *check({ package: { document } }) {
    for (const { text, line, number } of document.steps) {
      const start = text.slice(0, 1_000).replace(/[`*]|(?<!\w)_|_(?!\w)/g, "");
      const actions = actionsIn(start);
      const at = ["line", line];
      if (actions > 1)
        yield { at, message: `Step ${number} asks for ${actions} actions: ${quote(start)}.`, fix: "Make each a step." };
      const [word] = vague.exec(start) ?? [];
      if (word !== undefined)
        yield {
          at,
          message: `Step ${number} is left open: ${quote(word)}.`,
          fix: "Say in which case, and what to do.",
        };
    }
  },
};

/** How many things a step tells to do: its sentences that start with a verb, and the verbs that "and" or "then" adds. */
function actionsIn(step: string): number {
  const sentences = step.split(/[.!?:]\s+/).filter((sentence) => startsWithVerb.test(sentence));
  return sentences.reduce((sum, sentence) => sum + 1 + (sentence.match(goesOn)?.length ?? 0), 0);
}

const long: SkillRule = {
  id: "skill-body-long",
  severity: "warning",
  why: "The whole body enters the context of the model once the skill loads, and pushes the user's task out of view.",
  docs: `${format}#progressive-disclosure`,
  clauses: ["fewer than 500 lines", "at most about 5,000 tokens"],
  *check({ package: { document } }) {
    const lines = document.body.trimEnd().split("\n").length;
    const tokens = Math.round(document.body.length / signsPerToken);
    const at = ["line", document.bodyLine];
    const fix = "Move details into files of the package, and link them where they are needed.";
    if (lines >= most.lines) yield { at, message: `The body has ${lines} lines; keep it under ${most.lines}.`, fix };
    else if (tokens > most.tokens) yield { at, message: `The body has about ${tokens} tokens; keep it to 5000.`, fix };
  },
};

/** What a model reads of a skill once it is loaded. */
export const bodyRules: readonly SkillRule[] = [title, situation, steps, singleAction, never, long];
