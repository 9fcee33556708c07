import type { Path } from "../../jsonSchema/paths.ts";
import { isJsonObject, type Json } from "../../types/json.ts";
import { quote, showValue } from "../../types/quote.ts";
import type { SkillEval } from "../../types/skill.ts";
import type { EvalsFileSubject, Rule } from "../rule.ts";

type EvalsRule = Rule<EvalsFileSubject>;

const docs = "docs/lint-rules.md";
const fewest = 5;
const specified = 'Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';

const shape: EvalsRule = {
  id: "evals-file-shape",
  severity: "info",
  why: "Other shapes are read here, but not by every tool that runs the evals of a skill.",
  docs,
  clauses: [
    "an object with the key evals",
    "evals is a list of objects",
    "input is a text",
    "expected_behavior is a list of texts",
  ],
  *check({ raw }) {
    // Whether a skill triggers cannot be said in the specified shape, so such a set has a shape of its own.
    if (isTriggerSet(raw)) return;
    const list = isJsonObject(raw) ? raw.evals : undefined;
    if (!Array.isArray(list)) {
      const what = list === undefined ? "The file has no key `evals`" : `evals is ${showValue(list)}, not a list`;
      yield { at: list === undefined ? [] : ["evals"], message: `${what}.`, fix: specified };
      return;
    }
    const entries: readonly Json[] = list;
    for (const [index, entry] of entries.entries()) {
      const wrong = wrongEntry(entry);
      if (wrong === undefined) continue;
      yield { at: ["evals", index], message: `${wrong}; so may others after it.`, fix: specified };
      return;
    }
  },
};

function wrongEntry(entry: Json): string | undefined {
  if (!isJsonObject(entry)) return `An entry is ${showValue(entry)}, not an object`;
  const { input, expected_behavior: checks, should_trigger: triggers } = entry;
  if (typeof input !== "string") return "The query of an entry is not under `input`";
  if (triggers === false && checks === undefined) return undefined;
  const texts = Array.isArray(checks) && checks.every((check) => typeof check === "string");
  return texts ? undefined : "The checks of an entry are not a list of texts under `expected_behavior`";
}

const empty: EvalsRule = {
  id: "evals-file-empty",
  severity: "error",
  why: "A file without a query measures nothing, and looks as if it did.",
  docs,
  clauses: ["at least one query"],
  *check({ evals }) {
    if (evals.length === 0) yield { at: [], message: "The file holds no query.", fix: specified };
  },
};

const few: EvalsRule = {
  id: "evals-file-size",
  severity: "warning",
  why: "Fewer than about 5 to 10 typical queries say little about when a skill loads.",
  docs,
  clauses: ["at least 5 queries"],
  *check({ evals, all }) {
    if (evals.length === 0 || all.length >= fewest) return;
    const message = `${all.length === 1 ? "1 query is" : `${all.length} queries are`} few for a skill.`;
    yield { at: [], message, fix: "Write about 5 to 10 queries as users put them." };
  },
};

const negatives: EvalsRule = {
  id: "evals-negatives",
  severity: "warning",
  why: "Without a query that the skill must leave alone, a description that attracts too much goes unseen.",
  docs,
  clauses: ["some query does not trigger the skill"],
  *check({ evals, all }) {
    if (evals.length === 0 || all.some(({ triggers }) => !triggers)) return;
    const fix = 'Add a near miss with "should_trigger": false: close to what the skill does, but not its task.';
    yield { at: [], message: "Every query wants the skill, so over-triggering goes unseen.", fix };
  },
};

const checks: EvalsRule = {
  id: "evals-check-missing",
  severity: "warning",
  why: "Of a query without expected behaviour only the trigger is measured, not what the skill makes of it.",
  docs,
  clauses: ["a query that triggers the skill says what is expected"],
  *check(subject) {
    if (isTriggerSet(subject.raw)) return;
    for (const { one, at } of placed(subject))
      if (one.triggers && one.expectedBehavior.length === 0)
        yield {
          at,
          message: `Nothing is expected of ${quote(one.input)} but that the skill loads.`,
          fix: "Say in expected_behavior what the answer must do.",
        };
  },
};

const duplicates: EvalsRule = {
  id: "evals-duplicate-input",
  severity: "warning",
  why: "Two equal queries weigh twice in the rate of a skill, and test it once.",
  docs,
  clauses: ["no query twice", "none that differs in case and white space alone"],
  *check(subject) {
    const seen = new Set<string>();
    for (const { one, at } of placed(subject)) {
      const key = JSON.stringify([one.input.toLowerCase().replace(/\s+/g, " ").trim(), one.files]);
      if (seen.has(key))
        yield { at, message: `The query ${quote(one.input)} is there before.`, fix: "Ask for it in other words." };
      seen.add(key);
    }
  },
};

const leaks: EvalsRule = {
  id: "evals-input-names-skill",
  severity: "warning",
  why: "A query that names the skill loads it whatever its description says; users do not know the names.",
  docs,
  clauses: ["no query names the skill as it is written", 'no query calls it by its words and "skill"'],
  *check(subject) {
    const sees = namesSkill(subject.skill);
    for (const { one, at } of placed(subject))
      if (one.triggers && sees.test(one.input.slice(0, 10_000)))
        yield {
          at,
          message: `The query names the skill: ${quote(one.input)}.`,
          fix: "Write it as a user would who has never seen the list of skills.",
        };
  },
};

/** `pdf-forms` is a name by itself; `pdf` is one only after a slash or before the word skill. */
function namesSkill(name: string): RegExp {
  const escaped = name.replace(/[^a-z0-9-]/gi, "\\$&");
  const spelled = escaped.replaceAll("-", "[- ]");
  const whole = name.includes("-") ? `|(?<![\\w-])${escaped}(?![\\w-])` : "";
  return new RegExp(`(?<![\\w-])\\/${escaped}(?![\\w-])|(?<![\\w-])[\`'"]?${spelled}[\`'"]? skill\\b${whole}`, "i");
}

const judgement =
  /^(?:(?:the|an?|its?)\s+)?(?:output|response|result|answer|reply|skill|model|agent|assistant|it)?\s*(?:(?:is|are|should|must|be|works?|behaves?|looks?|responds?|does|do|it|its|job|the|task)\s+)*(?:correct(?:ly)?|good|great|fine|ok(?:ay)?|nice(?:ly)?|well|right|appropriate(?:ly)?|proper(?:ly)?|as expected|helpful|useful|high[- ]quality|accurate(?:ly)?)\W*$/i;

const vague: EvalsRule = {
  id: "evals-check-vague",
  severity: "info",
  why: "A judge can only guess what is meant by a check that names nothing to look for.",
  docs,
  clauses: ["a check says what to look for, not that it is good"],
  *check(subject) {
    for (const { one, at } of placed(subject)) {
      const check = one.expectedBehavior.find((text) => judgement.test(text.slice(0, 200).trim()));
      if (check === undefined) continue;
      const fix = "Name what must be seen in the answer: a figure, a file, a question, an order of steps.";
      yield { at, message: `The check ${quote(check)} names nothing to look for.`, fix };
    }
  },
};

/** What the eval files of skill packages hold. */
export const evalsFileRules: readonly EvalsRule[] = [shape, empty, few, negatives, checks, duplicates, leaks, vague];

const lists = ["evals", "cases", "test_cases", "queries", "should_trigger", "should_not_trigger"];

/** The entries of every known shape, in the order in which they are read, with their places. */
function entriesOf(raw: unknown): { entry: unknown; at: Path }[] {
  if (Array.isArray(raw)) return raw.map((entry: unknown, index) => ({ entry, at: [index] }));
  if (!isJsonObject(raw)) return [];
  const found = lists.flatMap((key) => {
    const list = raw[key];
    return Array.isArray(list) ? list.map((entry, index) => ({ entry, at: [key, index] })) : [];
  });
  return found.length > 0 ? found : [{ entry: raw, at: [] }];
}

/** Every query with the place of its entry; that of the file where entries could not be read one for one. */
function placed({ raw, evals }: EvalsFileSubject): { one: SkillEval; at: Path }[] {
  const entries = entriesOf(raw);
  return evals.map((one, index) => ({ one, at: entries.length === evals.length ? (entries[index]?.at ?? []) : [] }));
}

/** Whether a file says of each query no more than whether the skill must load. */
function isTriggerSet(raw: unknown): boolean {
  if (isJsonObject(raw) && ["should_trigger", "should_not_trigger"].some((key) => Array.isArray(raw[key]))) return true;
  const entries = entriesOf(raw);
  return (
    entries.length > 0 &&
    entries.every(
      ({ entry }) =>
        isJsonObject(entry) && typeof entry.should_trigger === "boolean" && entry.expected_behavior === undefined,
    )
  );
}
