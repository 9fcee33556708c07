import { mentionsName, quote, showValue } from "../../../base/text/text.ts";
import type { Path } from "../../../base/types/json.ts";
import { isJsonObject, type Json } from "../../../base/types/json.ts";
import type { SkillEval } from "../../../base/types/skill.ts";
import { type Case, findRepeatedQueries, listCaseCalls } from "../../../base/types/suite.ts";
import { defineRules, type EvalsFileSubject, type SuiteSubject } from "../rule.ts";

const docs = "docs/lint-rules.md";
const minCases = 5;
const maxNames = 5;

/** Rules about suites, for what their schema cannot express. */
export const suiteRules = defineRules<SuiteSubject>(docs, [
  {
    id: "suite-size",
    why: "Fewer than about 5 to 10 typical queries say little about which tool a model picks.",
    at: [],
    fix: "Write about 5 to 10 queries in the words of users.",
    find: ({ suite: { cases } }) =>
      cases.length < minCases && `The suite has only ${cases.length} ${cases.length === 1 ? "case" : "cases"}.`,
  },
  {
    id: "negative-case",
    why: "Without a query that needs no tool, nothing shows that a description attracts too many queries.",
    *check({ suite: { cases } }) {
      const kinds = new Set(cases.map(({ expect }) => expect?.kind));
      const skills = new Set(cases.flatMap(({ expect }) => (expect?.kind === "skill" ? [expect.skill] : [])));
      if (kinds.has("none") || skills.has("none")) return;
      const wanted = (["tool", "any", "calls"] as const).some((kind) => kinds.has(kind)) ? "tool" : "skill";
      if (wanted === "skill" && skills.size === 0) return;
      const fix = `Add a query that is close to the others and expects \`${wanted}: none\`.`;
      yield { at: ["cases"], message: `Every case expects a ${wanted}, so over-triggering is not measured.`, fix };
    },
  },
  {
    id: "tool-coverage",
    severity: "info",
    why: "A tool that no case expects can become unusable without a failing case.",
    at: ["cases"],
    fix: "Add a query for each tool that users rely on.",
    find({ suite, tools = [] }) {
      const expected = new Set(suite.cases.flatMap(listExpectedNames));
      const missed = tools.filter((name) => !expected.has(name) && !Object.hasOwn(suite.dispatch ?? {}, name));
      const more = missed.length > maxNames ? ` and ${missed.length - maxNames} more` : "";
      const names = missed.slice(0, maxNames).join(", ") + more;
      return missed.length > 0 && `No case expects ${missed.length} of ${tools.length} listed tools: ${names}.`;
    },
  },
  {
    id: "duplicate-input",
    why: "A query that is asked twice counts twice in every rate, and adds no information.",
    *check({ suite }) {
      for (const { index, id, first } of findRepeatedQueries(suite.cases)) {
        const message = `The case "${id}" asks the same as "${first}".`;
        yield { at: ["cases", index], message, fix: "Rephrase it, or raise `trials` of one of them." };
      }
    },
  },
  {
    id: "answer-in-input",
    why: "A query that names its tool is answered with any description; users do not know the names.",
    *check({ suite }) {
      for (const [index, one] of suite.cases.entries()) {
        const messages = [...one.messages.filter(({ role }) => role === "user"), ...(one.turns ?? [])];
        const asked = messages.map(({ content }) => content.toLowerCase());
        const name = listExpectedNames(one).find((name) => asked.some((text) => mentionsName(text, name)));
        if (name === undefined) continue;
        const message = `The query of the case "${one.id}" contains the answer: ${name}.`;
        yield { at: ["cases", index], message, fix: "Write it like a user who has never seen the tool list." };
      }
    },
  },
  {
    id: "query-in-description",
    why: "A query that a description quotes as an example is answered by it, and says nothing about other requests.",
    *check({ suite, listed = [] }) {
      const texts = new Map(listed.map(({ name, description }) => [name, toPlain(description)]));
      for (const [index, one] of suite.cases.entries()) {
        const query = toPlain(one.messages.at(-1)?.content);
        if (query.length < shortestQuery) continue;
        const name = listExpectedNames(one).find((expected) => texts.get(expected)?.includes(query));
        if (name === undefined) continue;
        const message = `The description of "${name}" contains the query of the case "${one.id}".`;
        yield { at: ["cases", index], message, fix: "Use another query, or remove the example from the description." };
      }
    },
  },
]);

/** In characters. A shorter query can be part of a description by chance. */
const shortestQuery = 15;

function toPlain(text: unknown): string {
  if (typeof text !== "string") return "";
  return text
    .slice(0, 20_000)
    .toLowerCase()
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[.?!]$/, "");
}

function listExpectedNames(one: Case): readonly string[] {
  const { expect } = one;
  if (expect?.kind === "skill") return expect.skill === "none" ? [] : [expect.skill];
  return listCaseCalls(one).flatMap(({ tools }) => tools);
}

const minQueries = 5;
const specifiedShape = 'Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';

/** Rules about the eval files of skill packages. */
export const evalsFileRules = defineRules<EvalsFileSubject>(docs, [
  {
    id: "evals-file-shape",
    severity: "info",
    why: "Other shapes are read here, but not by every tool that runs the evals of a skill.",
    *check({ raw }) {
      // The specified shape cannot express whether a skill must load, so trigger files have another one.
      if (isTriggerSet(raw)) return;
      const list = isJsonObject(raw) ? raw.evals : undefined;
      if (!Array.isArray(list)) {
        const message =
          list === undefined ? "The file has no key `evals`." : `evals is ${showValue(list)}, not a list.`;
        yield { at: list === undefined ? [] : ["evals"], message, fix: specifiedShape };
        return;
      }
      const entries: readonly Json[] = list;
      for (const [index, entry] of entries.entries()) {
        const problem = explainEntry(entry);
        if (problem === undefined) continue;
        yield { at: ["evals", index], message: `${problem}; later entries are not checked.`, fix: specifiedShape };
        return;
      }
    },
  },
  {
    id: "evals-file-empty",
    severity: "error",
    why: "A file without a query measures nothing, and looks as if it did.",
    at: [],
    fix: specifiedShape,
    find: ({ evals }) => evals.length === 0 && "The file has no query.",
  },
  {
    id: "evals-file-size",
    why: "Fewer than about 5 to 10 typical queries say little about when a skill loads.",
    at: [],
    fix: "Write about 5 to 10 queries in the words of users.",
    find: ({ evals, all }) =>
      evals.length > 0 &&
      all.length < minQueries &&
      `The skill has only ${all.length} ${all.length === 1 ? "query" : "queries"}.`,
  },
  {
    id: "evals-negatives",
    why: "Without a query that the skill must ignore, nothing shows that its description attracts too many queries.",
    at: [],
    fix: 'Add a near miss with "should_trigger": false: close to what the skill does, but not its task.',
    find: ({ evals, all }) =>
      evals.length > 0 &&
      all.every(({ triggers }) => triggers) &&
      "Every query expects the skill, so over-triggering is not measured.",
  },
  {
    id: "evals-check-missing",
    why: "For a query without expected behavior only the trigger is measured, not the result of the skill.",
    *check(subject) {
      if (isTriggerSet(subject.raw)) return;
      for (const { one, at } of listPlaced(subject)) {
        if (!one.triggers || one.expectedBehavior.length > 0) continue;
        const message = `The query ${quote(one.input)} expects nothing except that the skill loads.`;
        yield { at, message, fix: "Say in expected_behavior what the answer must do." };
      }
    },
  },
  {
    id: "evals-duplicate-input",
    why: "Two equal queries count twice in the rate of a skill, and test it once.",
    *check(subject) {
      const seen = new Set<string>();
      for (const { one, at } of listPlaced(subject)) {
        const key = JSON.stringify([one.input.toLowerCase().replace(/\s+/g, " ").trim(), one.files]);
        if (seen.has(key)) yield { at, message: `The query ${quote(one.input)} is a duplicate.`, fix: "Rephrase it." };
        seen.add(key);
      }
    },
  },
  {
    id: "evals-input-names-skill",
    why: "A query that names the skill loads it with any description; users do not know the names.",
    *check(subject) {
      const pattern = matchSkillName(subject.skill);
      for (const { one, at } of listPlaced(subject)) {
        if (!one.triggers || !pattern.test(one.input.slice(0, 10_000))) continue;
        const message = `The query names the skill: ${quote(one.input)}.`;
        yield { at, message, fix: "Write it like a user who has never seen the list of skills." };
      }
    },
  },
  {
    id: "evals-check-vague",
    severity: "info",
    why: "A judge can only guess the meaning of a check that names nothing to look for.",
    *check(subject) {
      for (const { one, at } of listPlaced(subject)) {
        const vague = one.expectedBehavior.find((text) => judgement.test(text.slice(0, 200).trim()));
        if (vague === undefined) continue;
        const fix = "Name what the answer must show: a figure, a file, a question, an order of steps.";
        yield { at, message: `The check ${quote(vague)} names nothing to look for.`, fix };
      }
    },
  },
]);

function explainEntry(entry: Json): string | undefined {
  if (!isJsonObject(entry)) return `An entry is ${showValue(entry)}, not an object`;
  const { input, expected_behavior: checks, should_trigger: triggers } = entry;
  if (typeof input !== "string") return "The query of an entry is not under `input`";
  if (triggers === false && checks === undefined) return undefined;
  const isValid = Array.isArray(checks) && checks.every((check) => typeof check === "string");
  return isValid ? undefined : "The checks of an entry are not a list of strings under `expected_behavior`";
}

/** A pattern for the name of a skill. A name of one word, such as `pdf`, must follow a slash or precede "skill". */
function matchSkillName(name: string): RegExp {
  const escaped = name.replace(/[^a-z0-9-]/gi, "\\$&");
  const spelled = escaped.replaceAll("-", "[- ]");
  const whole = name.includes("-") ? `|(?<![\\w-])${escaped}(?![\\w-])` : "";
  return new RegExp(`(?<![\\w-])\\/${escaped}(?![\\w-])|(?<![\\w-])[\`'"]?${spelled}[\`'"]? skill\\b${whole}`, "i");
}

const judgement =
  /^(?:(?:the|an?|its?)\s+)?(?:output|response|result|answer|reply|skill|model|agent|assistant|it)?\s*(?:(?:is|are|should|must|be|works?|behaves?|looks?|responds?|does|do|it|its|job|the|task)\s+)*(?:correct(?:ly)?|good|great|fine|ok(?:ay)?|nice(?:ly)?|well|right|appropriate(?:ly)?|proper(?:ly)?|as expected|helpful|useful|high[- ]quality|accurate(?:ly)?)\W*$/i;

const listKeys = ["evals", "cases", "test_cases", "queries", "should_trigger", "should_not_trigger"];

/** Lists the entries of an eval file in any known shape, in the order in which they are read, with their paths. */
function listEntries(raw: unknown): { entry: unknown; at: Path }[] {
  if (Array.isArray(raw)) return raw.map((entry: unknown, index) => ({ entry, at: [index] }));
  if (!isJsonObject(raw)) return [];
  const found = listKeys.flatMap((key) => {
    const list = raw[key];
    return Array.isArray(list) ? list.map((entry, index) => ({ entry, at: [key, index] })) : [];
  });
  return found.length > 0 ? found : [{ entry: raw, at: [] }];
}

/** Lists the queries with the paths of their entries, or that of the file if entries and queries do not correspond. */
function listPlaced({ raw, evals }: EvalsFileSubject): { one: SkillEval; at: Path }[] {
  const entries = listEntries(raw);
  return evals.map((one, index) => ({ one, at: entries.length === evals.length ? (entries[index]?.at ?? []) : [] }));
}

/** Whether a file only says for each query whether the skill must load. */
function isTriggerSet(raw: unknown): boolean {
  if (isJsonObject(raw) && ["should_trigger", "should_not_trigger"].some((key) => Array.isArray(raw[key]))) return true;
  const entries = listEntries(raw);
  const isTrigger = ({ entry }: { entry: unknown }) =>
    isJsonObject(entry) && typeof entry.should_trigger === "boolean" && entry.expected_behavior === undefined;
  return entries.length > 0 && entries.every(isTrigger);
}
