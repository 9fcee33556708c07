import { isEnglish } from "../language/english.ts";
import { saysWhenToUse } from "../language/usage.ts";
import type { Found, Rule, SkillSubject } from "../rule.ts";
import { quote } from "../schema/text.ts";
import { saysWhatItDoes, saysWhenNotToUse, triggerPhrases } from "./language.ts";

type SkillRule = Rule<SkillSubject>;

const writing = "https://agentskills.io/skill-creation/optimizing-descriptions";
const fewestPhrases = 2;

/** A rule that a description which is there keeps, or breaks as a whole. Only English is understood. */
function onDescription(
  rule: Omit<SkillRule, "check">,
  keeps: (description: string) => boolean,
  found: Omit<Found, "at">,
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
  docs: "README.md#lint",
  clauses: ["a skill named in the description is there", "a skill named in the body is there"],
  *check({ package: { name, description, document }, siblings }) {
    // A package by itself: what lies beside it elsewhere is not known.
    if (siblings.length === 0) return;
    const there = new Set([name, ...siblings.map((sibling) => sibling.name)]);
    const fix = `Install it, or name one that is there: ${siblings
      .slice(0, 5)
      .map((one) => one.name)
      .join(", ")}.`;
    const texts: [string, Found["at"]][] = [
      [description.slice(0, 5_000), ["frontMatter", "description"]],
      ...document.body.split("\n").map((text, at): [string, Found["at"]] => [text, ["line", document.bodyLine + at]]),
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
