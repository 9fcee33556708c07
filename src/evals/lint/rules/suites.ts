import type { Case } from "../../types/suite.ts";
import { defineRules, type SuiteSubject } from "../rule.ts";

const docs = "docs/lint-rules.md";
const minCases = 5;
const maxNames = 5;

/** What the schema of a suite cannot express. */
export const suiteRules = defineRules<SuiteSubject>([
  {
    id: "suite-size",
    severity: "warning",
    docs,
    why: "Fewer than about 5 to 10 typical queries say little about which tool a model picks.",
    clauses: ["at least 5 cases"],
    at: [],
    fix: "Write about 5 to 10 queries in the words of users.",
    find: ({ suite: { cases } }) =>
      cases.length < minCases && `The suite has only ${cases.length} ${cases.length === 1 ? "case" : "cases"}.`,
  },
  {
    id: "negative-case",
    severity: "warning",
    docs,
    why: "Without a query that needs no tool, nothing shows that a description attracts too many queries.",
    clauses: ["some query needs no tool", "some query needs no skill"],
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
    docs,
    why: "A tool that no case expects can become unusable without a failing case.",
    clauses: ["every listed tool is expected by a case"],
    at: ["cases"],
    fix: "Add a query for each tool that users rely on.",
    find({ suite, tools = [] }) {
      const expected = new Set(suite.cases.flatMap(listExpectedNames));
      const missed = tools.filter((name) => !expected.has(name));
      const more = missed.length > maxNames ? ` and ${missed.length - maxNames} more` : "";
      const names = missed.slice(0, maxNames).join(", ") + more;
      return missed.length > 0 && `No case expects ${missed.length} of ${tools.length} listed tools: ${names}.`;
    },
  },
  {
    id: "duplicate-input",
    severity: "warning",
    docs,
    why: "A query that is asked twice counts twice in every rate, and adds no information.",
    clauses: ["no conversation twice", "no two that differ only in case and white space"],
    *check({ suite }) {
      const first = new Map<string, string>();
      for (const [index, { id, messages, tools }] of suite.cases.entries()) {
        const asked = messages.map(({ role, content }) => [role, content.toLowerCase().replace(/\s+/g, " ").trim()]);
        const key = JSON.stringify([asked, tools]);
        const other = first.get(key);
        if (other === undefined) {
          first.set(key, id);
          continue;
        }
        const message = `The case "${id}" asks the same as "${other}".`;
        yield { at: ["cases", index], message, fix: "Rephrase it, or raise `trials` of one of them." };
      }
    },
  },
  {
    id: "answer-in-input",
    severity: "warning",
    docs,
    why: "A query that names its tool is answered with any description; users do not know the names.",
    clauses: ["a name of several words", "a name of one word that is marked as a name"],
    *check({ suite }) {
      for (const [index, one] of suite.cases.entries()) {
        const asked = one.messages.filter(({ role }) => role === "user").map(({ content }) => content.toLowerCase());
        const name = listExpectedNames(one).find((name) => asked.some((text) => mentions(text, name)));
        if (name === undefined) continue;
        const message = `The query of the case "${one.id}" contains the answer: ${name}.`;
        yield { at: ["cases", index], message, fix: "Write it like a user who has never seen the tool list." };
      }
    },
  },
]);

/** Tools and skills that a case expects by name. */
function listExpectedNames({ expect }: Case): readonly string[] {
  if (expect?.kind === "tool") return expect.call.tools;
  if (expect?.kind === "calls") return expect.calls.flatMap(({ tools }) => tools);
  return expect?.kind === "skill" && expect.skill !== "none" ? [expect.skill] : [];
}

/** A name of one word (`echo`) is ordinary language unless it is marked: in backticks, before `()`, or before "tool". */
const marked = /^(?:`|\(\)|\s+(?:tool|function|skill)\b)/;

/** Whether a text in lower case mentions a name as a separate word. */
function mentions(text: string, name: string): boolean {
  const compound = /[a-z0-9][._-]|[a-z][A-Z]|\d/.test(name);
  const sought = name.toLowerCase();
  if (sought === "") return false;
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + sought.length)) {
    const after = text.slice(at + sought.length, at + sought.length + 20);
    const whole = !/[\w-]/.test(text[at - 1] ?? "") && !/^[\w-]/.test(after);
    if (whole && (compound || marked.test(after))) return true;
  }
  return false;
}
