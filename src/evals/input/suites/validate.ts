import * as z from "zod";
import { groupBy } from "../../base/collections.ts";
import { nearest } from "../../base/text/nearest.ts";
import { isJsonObject, type Json, type Path } from "../../base/types/json.ts";
import { type CaseFile, type SuiteFile, suiteFileSchema } from "../../base/types/suiteFile.ts";
import { checkExpectation } from "./expectation.ts";
import { explain, type PathProblem } from "./explain.ts";
import { checkMocks } from "./mocks.ts";

const caseSchema = suiteFileSchema.shape.cases.unwrap().element;

/** About what fits into a JSON file of the maximum size. A CSV file could have ten times as many. */
export const maxCases = 300_000;
/** A file with more wrong cases is not checked to its end: it has most likely another format. */
export const maxWrong = 1_000;

/** A suite file without its cases, which are checked one by one so that each reports its own problems. */
const headerSchema = suiteFileSchema.extend({
  cases: z.array(z.unknown()).optional(),
  evals: z.array(z.unknown()).optional(),
});
export type SuiteHeader = Omit<SuiteFile, "cases" | "evals">;

/** The content of a valid suite file; each case with its path. */
export type CheckedSuite = { header: SuiteHeader; cases: readonly { path: Path; content: CaseFile }[] };

/** Checks the content of a suite file; `checked` is the typed content, if no problem is an error. */
export function checkSuite(value: Json): { problems: PathProblem[]; checked?: CheckedSuite } {
  const header = headerSchema.safeParse(value);
  const { key, list, problems: listProblems } = findCases(value);
  const { checks, problems: unchecked } = checkCases(list, key);
  const cases = checks.flatMap(({ path, content }) => (content ? [{ path, content }] : []));
  const problems = [
    ...(header.success ? [] : explain(headerSchema, value)),
    ...listProblems,
    ...unchecked,
    ...checkMockSettings(header.success ? header.data : undefined, cases),
    ...shareProblems([
      ...checks.flatMap((check) => check.problems),
      ...checkPlaceholders(header.success ? header.data.values : undefined, cases),
    ]),
    ...findRepeatedIds(cases),
  ];
  if (!header.success || problems.some(({ severity }) => severity !== "warning")) return { problems };
  const { values, mocks } = header.data;
  if (!values) return { problems, checked: { header: header.data, cases } };
  const filled = cases.map(({ path, content: { id, ...content } }) => {
    return { path, content: { ...(id !== undefined && { id }), ...fillCase(content, values) } };
  });
  // A value can be no operand of the matcher that it is filled into.
  const wrong = filled.flatMap(checkExpected).filter(({ severity }) => severity !== "warning");
  if (wrong.length > 0) return { problems: [...problems, ...wrong] };
  const filledHeader = { ...header.data, ...(mocks && { mocks: fillPlaceholders(mocks, values) }) };
  return { problems, checked: { header: filledHeader, cases: filled } };
}

/** Merges problems with the same `sharedAs` into the first, whose message then gives the number of the others. */
function shareProblems(problems: readonly PathProblem[]): PathProblem[] {
  const groups = groupBy(problems, ({ sharedAs = "" }) => sharedAs);
  return problems.flatMap((problem) => {
    const { sharedAs } = problem;
    const [first, ...others] = sharedAs === undefined ? [problem] : (groups.get(sharedAs) ?? []);
    if (problem !== first) return [];
    if (others.length === 0) return [problem];
    const more = others.length === 1 ? "another" : `${others.length} others`;
    const verb = others.length === 1 ? "is" : "are";
    return [{ ...problem, message: `${problem.message.slice(0, -1)}; so ${verb} ${more}.` }];
  });
}

/** Checks the mocks of the suite, and that there are mocks if `unmatched` is set: alone, it would prevent no call. */
function checkMockSettings(header: SuiteHeader | undefined, cases: CheckedSuite["cases"]): PathProblem[] {
  const problems = checkMocks(header?.mocks, ["mocks"]);
  if (header?.unmatched === undefined || header.mocks || cases.some(({ content }) => content.mocks)) return problems;
  const message = '"unmatched" has no effect: the suite has no "mocks".';
  return [...problems, { path: ["unmatched"], part: "key", message, hint: "Remove it, or add mocks." }];
}

function findCases(value: Json): { key: string; list: readonly Json[]; problems: PathProblem[] } {
  const refuse = (path: Path, message: string, hint: string) => {
    return { key: "cases", list: [], problems: [{ path, part: "key" as const, message, hint }] };
  };
  // The schema reports a value of another type.
  if (!isJsonObject(value)) return { key: "cases", list: [], problems: [] };
  const [key, second] = Object.keys(value).filter((name) => name === "cases" || name === "evals");
  if (key === undefined)
    return refuse([], 'There are no cases: neither "cases" nor "evals".', 'List the cases under "cases" (or "evals").');
  if (second !== undefined) {
    const message = 'The suite has both "cases" and "evals", which mean the same.';
    return refuse([second], message, "Put all cases into one of them.");
  }
  const list = value[key];
  if (!Array.isArray(list)) return { key, list: [], problems: [] };
  if (list.length === 0) return refuse([key], `There are no cases: "${key}" is empty.`, "Add at least one case.");
  if (list.length <= maxCases) return { key, list, problems: [] };
  return refuse([key], "There are more than 300,000 cases.", "Split them into several suites.");
}

type CheckedCase = { path: Path; content?: CaseFile; problems: PathProblem[] };

function checkCases(list: readonly Json[], key: string): { checks: CheckedCase[]; problems: PathProblem[] } {
  const checks: CheckedCase[] = [];
  let wrong = 0;
  for (const [i, one] of list.entries()) {
    if (wrong === maxWrong) {
      const message = `The cases from here on are not checked, because ${maxWrong.toLocaleString("en")} are wrong.`;
      return { checks, problems: [{ path: [key, i], message }] };
    }
    const check = checkCase(one, [key, i]);
    checks.push(check);
    if (check.problems.some(({ severity }) => severity !== "warning")) wrong++;
  }
  return { checks, problems: [] };
}

function checkCase(value: Json, path: Path): CheckedCase {
  const result = caseSchema.safeParse(value);
  if (!result.success) return { path, problems: explain(caseSchema, value, path) };
  const content = result.data;
  const problems = [...checkPrompt(content, path), ...checkTools(content, path), ...checkExpected({ content, path })];
  return { path, content, problems };
}

/** Checks what a case expects, and its mocks. */
const checkExpected = ({ content, path }: CheckedSuite["cases"][number]): PathProblem[] => [
  ...checkGoal(content, path),
  ...checkMocks(content.mocks, [...path, "mocks"]),
];

function checkPrompt({ input, messages, turns }: CaseFile, path: Path): PathProblem[] {
  const prompts = { input, messages, turns };
  const [first, second] = (["input", "messages", "turns"] as const).filter((key) => prompts[key] !== undefined);
  if (second !== undefined) {
    const message = `The case has both "${first}" and "${second}".`;
    return [{ path: [...path, second], part: "key", message, hint: "Remove one of them." }];
  }
  const twice = Array.isArray(input) ? input.findIndex((one, i) => input.indexOf(one) < i) : -1;
  if (twice >= 0)
    return [{ path: [...path, "input", twice], message: "This paraphrase is listed twice.", hint: "Remove one." }];
  if (first === undefined)
    return [{ path, message: "The case has no prompt.", hint: 'Add "input" (or "messages" or "turns").' }];
  if (!messages || messages.at(-1)?.role === "user") return [];
  const at = [...path, "messages", messages.length - 1];
  return [{ path: at, message: '"messages" must end with a user message.', hint: 'Add one with "role: user".' }];
}

function checkGoal({ expect, turns = [], expected_behavior: behavior }: CaseFile, path: Path): PathProblem[] {
  const expectations = [
    ...turns.map((turn, i) => ({ expect: turn.expect, at: [...path, "turns", i, "expect"] })),
    { expect, at: [...path, "expect"] },
  ];
  const misplaced = turns.flatMap((turn, i): PathProblem[] => {
    const key = (["assert", "files"] as const).find((one) => turn.expect?.[one] !== undefined);
    if (key === undefined) return [];
    const message = `"${key}" is about the whole conversation, not about one turn.`;
    const hint = 'Write it in the "expect" of the case.';
    return [{ path: [...path, "turns", i, "expect", key], part: "key", message, hint }];
  });
  if (misplaced.length > 0) return misplaced;
  if (expectations.some((one) => one.expect))
    return expectations.flatMap((one) => (one.expect ? checkExpectation(one.expect, one.at) : []));
  if (behavior) return [];
  const message = "The case is not gradable because it expects nothing.";
  return [{ path, message, hint: 'Add "expect" or "expected_behavior".' }];
}

function checkTools({ tools = [] }: CaseFile, path: Path): PathProblem[] {
  const names = tools.map(({ name }) => name);
  return names.flatMap((name, i): PathProblem[] => {
    if (names.indexOf(name) === i) return [];
    return [{ path: [...path, "tools", i, "name"], message: `Two tools are named "${name}".`, hint: "Rename one." }];
  });
}

function findRepeatedIds(cases: CheckedSuite["cases"]): PathProblem[] {
  const seen = new Set<string>();
  return cases.flatMap(({ path, content: { id } }): PathProblem[] => {
    if (id === undefined || (!seen.has(id) && seen.add(id))) return [];
    const message = `An earlier case has the id "${id}" already.`;
    return [{ path: [...path, "id"], message, hint: "Give each case of the suite its own id." }];
  });
}

/** The `values` of a suite, by the name of the placeholder. */
export type Values = Readonly<Record<string, string | number | boolean>>;

/** `<name>`: a letter, then words with hyphens, underscores, dots or single spaces between. */
const placeholder = /<([A-Za-z][\w.-]*(?: [\w.-]+)*)>/g;

/**
 * Checks the placeholders of prompts. With `values`, a placeholder without a value is an error. Without, text in angle
 * brackets is sent as it is, with one warning per file.
 */
function checkPlaceholders(values: Values | undefined, cases: CheckedSuite["cases"]): PathProblem[] {
  const prompts = cases.flatMap(({ content, path }) => listPrompts(content, path));
  if (!values) return prompts.flatMap(({ text, path }) => warnOfPlaceholder(text, path));
  const names = Object.keys(values);
  return prompts.flatMap(({ text, path }) =>
    findNames(text).flatMap((name): PathProblem[] => {
      if (Object.hasOwn(values, name)) return [];
      const near = nearest(name, names);
      const hint = near === undefined ? `Add "${name}" to "values".` : `Did you mean "<${near}>"?`;
      return [{ path, message: `The placeholder "<${name}>" has no value.`, hint }];
    }),
  );
}

/** The placeholders of a prompt, each once. */
export const findNames = (text: string) => [...new Set([...text.matchAll(placeholder)].map(([, name = ""]) => name))];

/** The prompts of a case that may contain placeholders, each with its path. */
function listPrompts({ input, messages = [], turns = [] }: CaseFile, path: Path): { text: string; path: Path }[] {
  const found: { text: string; path: Path }[] = [];
  const add = (text: string, ...at: Path) => {
    if (text.includes("<")) found.push({ text, path: [...path, ...at] });
  };
  if (typeof input === "string") add(input, "input");
  else input?.forEach((text, i) => void add(text, "input", i));
  messages.forEach(({ content }, i) => void add(content, "messages", i, "content"));
  turns.forEach((turn, i) => void add(turn.input, "turns", i, "input"));
  return found;
}

/** Warns about the first placeholder of a prompt, unless the prompt has closing tags: then it contains markup. */
function warnOfPlaceholder(text: string, path: Path): PathProblem[] {
  const name = text.includes("</") ? undefined : findNames(text)[0];
  if (name === undefined) return [];
  const message = `The prompt contains "<${name}>", which the model is sent as it is.`;
  const hint = `Give it a value: values: { ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: ... }.`;
  return [{ path, severity: "warning", message, hint, sharedAs: "placeholder" }];
}

/** Replaces the placeholders of a case. Outside of prompts, a text that is one becomes its value, such as a number. */
function fillCase({ input, messages, turns, ...rest }: CaseFile, values: Values): CaseFile {
  const fillPrompt = (text: string) => String(fillText(text, values));
  return {
    ...fillPlaceholders(rest, values),
    ...(input !== undefined && { input: typeof input === "string" ? fillPrompt(input) : input.map(fillPrompt) }),
    ...(messages && { messages: messages.map((one) => ({ ...one, content: fillPrompt(one.content) })) }),
    ...(turns && { turns: turns.map((one) => ({ ...fillPlaceholders(one, values), input: fillPrompt(one.input) })) }),
  };
}

/** Replaces the placeholders that have a value, in all texts of `content`. */
export function fillPlaceholders<T>(content: T, values: Values): T {
  const fill = (value: Json): Json => {
    if (typeof value === "string") return fillText(value, values);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fill(member)]));
  };
  return fill(content as Json) as T;
}

function fillText(text: string, values: Values): Values[string] {
  const whole = new RegExp(`^${placeholder.source}$`).exec(text)?.[1];
  if (whole !== undefined && Object.hasOwn(values, whole)) return values[whole] ?? text;
  return text.replace(placeholder, (written, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : written,
  );
}
