import { nearest } from "../../base/text/nearest.ts";
import type { Json, Path } from "../../base/types/json.ts";
import type { CaseFile, MocksFile } from "../../base/types/suiteFile.ts";
import type { PathProblem } from "./explain.ts";

/** The `values` of a suite, by the name of the placeholder. */
export type Values = Readonly<Record<string, string | number | boolean>>;

/** `<name>`: a letter, then words with hyphens, underscores, dots or single spaces between. */
const placeholder = /<([A-Za-z][\w.-]*(?: [\w.-]+)*)>/g;

type PlacedCase = { path: Path; content: CaseFile };

/**
 * Checks the placeholders of prompts. With `values`, a placeholder without a value is an error, and a value that
 * nothing uses is a warning. Without `values`, text in angle brackets is sent as it is, with one warning per file.
 */
export function checkPlaceholders(
  { values, mocks }: { values?: Values | undefined; mocks?: MocksFile | undefined },
  cases: readonly PlacedCase[],
): PathProblem[] {
  const prompts = cases.flatMap(({ content, path }) => listPrompts(content, path));
  if (!values) return prompts.flatMap(({ text, path }) => warnOfPlaceholder(text, path));
  const names = Object.keys(values);
  // An expectation alone may also use a value.
  const expected = cases.flatMap(({ content: { expect, turns, mocks, files } }) => [expect, turns, mocks, files]);
  const used = new Set(findNames(JSON.stringify([expected, mocks ?? null])));
  const missing = prompts.flatMap(({ text, path }) =>
    findNames(text).flatMap((name): PathProblem[] => {
      used.add(name);
      if (Object.hasOwn(values, name)) return [];
      const near = nearest(name, names);
      const hint = near === undefined ? `Add "${name}" to "values".` : `Did you mean "<${near}>"?`;
      return [{ path, message: `The placeholder "<${name}>" has no value.`, hint }];
    }),
  );
  const unused = names
    .filter((name) => !used.has(name))
    .map((name): PathProblem => {
      const message = `Nothing has the placeholder "<${name}>".`;
      return { path: ["values", name], part: "key", severity: "warning", message, hint: "Remove the value." };
    });
  return [...missing, ...unused];
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
export function fillCase({ input, messages, turns, ...rest }: CaseFile, values: Values): CaseFile {
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
