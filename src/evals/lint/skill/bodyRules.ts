import type { SkillDocument } from "../../types/skill.ts";
import type { Found, Rule, SkillSubject } from "../rule.ts";
import { quote } from "../schema/text.ts";

type SkillRule = Rule<SkillSubject>;

const docs = "README.md#lint";
const format = "https://agentskills.io/specification";
const most = { lines: 500, tokens: 5_000 } as const;
/** The usual estimate for English text. */
const signsPerToken = 4;

/** A rule that wants a part of the body to be there. */
function wants(
  rule: Omit<SkillRule, "check" | "docs">,
  isThere: (document: SkillDocument) => boolean,
  found: Omit<Found, "at">,
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
