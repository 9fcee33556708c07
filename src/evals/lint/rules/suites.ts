import type { Case } from "../../types/suite.ts";
import type { Rule, SuiteSubject, Violation } from "../rule.ts";

type SuiteRule = Rule<SuiteSubject>;

const docs = "docs/lint-rules.md";
const fewest = 5;
const shownNames = 5;

const suiteSize: SuiteRule = {
  id: "suite-size",
  severity: "warning",
  why: "Fewer than about 5 to 10 typical queries say little about which tool a model picks.",
  docs,
  clauses: ["at least 5 cases"],
  *check({ suite: { cases } }) {
    if (cases.length >= fewest) return;
    const message = `${cases.length === 1 ? "1 case is" : `${cases.length} cases are`} few for a suite.`;
    yield { at: [], message, fix: "Write about 5 to 10 queries as users put them." };
  },
};

const caseExpectation: SuiteRule = {
  id: "case-expectation",
  severity: "error",
  why: "A case that expects nothing can be asked, but never graded.",
  docs,
  clauses: ["every case expects something"],
  *check({ suite }) {
    for (const [index, { id, expect, expectedBehavior }] of suite.cases.entries())
      if (!expect && expectedBehavior.length === 0)
        yield {
          at: ["cases", index],
          message: `The case ${id} expects nothing.`,
          fix: "Add `expect` or `expected_behavior`.",
        };
  },
};

const negativeCase: SuiteRule = {
  id: "negative-case",
  severity: "warning",
  why: "Without a query that wants no tool, a description that attracts too much goes unseen.",
  docs,
  clauses: ["some query wants no tool", "some query wants no skill"],
  *check({ suite: { cases } }) {
    const kinds = new Set(cases.map(({ expect }) => expect?.kind));
    const skills = new Set(cases.flatMap(({ expect }) => (expect?.kind === "skill" ? [expect.skill] : [])));
    if (kinds.has("none") || skills.has("none")) return;
    const wanted = (["tool", "any", "calls"] as const).some((kind) => kinds.has(kind)) ? "tool" : "skill";
    if (wanted === "skill" && skills.size === 0) return;
    const fix = `Add a query that is close to the others and expects \`${wanted}: none\`.`;
    yield { at: ["cases"], message: `No case wants no ${wanted}, so over-triggering goes unseen.`, fix };
  },
};

const toolCoverage: SuiteRule = {
  id: "tool-coverage",
  severity: "info",
  why: "A tool that no case expects can lose its users without a red case.",
  docs,
  clauses: ["every listed tool is expected by a case"],
  *check({ suite, tools = [] }) {
    const expected = new Set(suite.cases.flatMap(expectedNames));
    const missed = tools.filter((name) => !expected.has(name));
    if (missed.length === 0) return;
    const more = missed.length > shownNames ? ` and ${missed.length - shownNames} more` : "";
    const names = missed.slice(0, shownNames).join(", ") + more;
    const message = `${missed.length} of ${tools.length} listed tools are expected by no case: ${names}.`;
    yield { at: ["cases"], message, fix: "Add a query for each tool that users rely on." };
  },
};

const duplicateInput: SuiteRule = {
  id: "duplicate-input",
  severity: "warning",
  why: "A query that is asked twice counts twice in every rate, and tells nothing new.",
  docs,
  clauses: ["no conversation twice", "none that differs in case and white space alone"],
  *check({ suite }) {
    const first = new Map<string, string>();
    for (const [index, { id, messages, tools }] of suite.cases.entries()) {
      const asked = messages.map(({ role, content }) => [role, content.toLowerCase().replace(/\s+/g, " ").trim()]);
      const key = JSON.stringify([asked, tools]);
      const other = first.get(key);
      if (other === undefined) first.set(key, id);
      else
        yield {
          at: ["cases", index],
          message: `The case ${id} asks the same as ${other}.`,
          fix: "Ask for it in other words, or raise `trials` of one of them.",
        };
    }
  },
};

const answerInInput: SuiteRule = {
  id: "answer-in-input",
  severity: "warning",
  why: "A query that names its tool is answered by any description; users do not know the names.",
  docs,
  clauses: ["a name of several words", "a name of one word that is marked as a name"],
  *check({ suite }) {
    for (const [index, one] of suite.cases.entries()) {
      const asked = one.messages.filter(({ role }) => role === "user").map(({ content }) => content.toLowerCase());
      const told = expectedNames(one).find((name) => asked.some((text) => names(text, name)));
      if (told !== undefined) yield leak(index, one, told);
    }
  },
};

function leak(index: number, { id }: Case, name: string): Violation {
  return {
    at: ["cases", index],
    message: `The case ${id} names the answer in its query: ${name}.`,
    fix: "Write the query as a user would who has never seen the list.",
  };
}

/** Tools and skills that a case expects by name. */
function expectedNames({ expect }: Case): readonly string[] {
  if (expect?.kind === "tool") return expect.call.tools;
  if (expect?.kind === "calls") return expect.calls.flatMap(({ tools }) => tools);
  return expect?.kind === "skill" && expect.skill !== "none" ? [expect.skill] : [];
}

/** One word (`echo`) is language, unless it is marked: in backquotes, before `()`, or before "tool". */
const marked = /^(?:`|\(\)|\s+(?:tool|function|skill)\b)/;

/** Whether a text in lower case tells a name, as a word of its own. */
function names(text: string, name: string): boolean {
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

/** What the schema of a suite cannot say. */
export const suiteRules: readonly SuiteRule[] = [
  caseExpectation,
  suiteSize,
  negativeCase,
  toolCoverage,
  duplicateInput,
  answerInInput,
];
