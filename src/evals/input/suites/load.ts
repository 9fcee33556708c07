import { createHash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { readRegularFile } from "../../base/files/files.ts";
import { byPlace, EvalsError, type Location, messageOf, type Problem, usageError } from "../../base/types/errors.ts";
import { type LintSettings, lintSettingsSchema } from "../../base/types/finding.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  markWholes,
  type Path,
  parseBoundedJson,
} from "../../base/types/json.ts";
import type { Suite } from "../../base/types/suite.ts";
import type { ParsedFile } from "../parsing/json.ts";
import { readNamed, readParsed } from "../parsing/read.ts";
import { buildSuite, readWorkspaceFiles } from "./build.ts";
import { listCodeFiles } from "./expectation.ts";
import { explain, locateProblem, type PathProblem, suggestKey } from "./explain.ts";
import { withMockFiles } from "./mocks.ts";
import { type CheckedSuite, checkSuite, maxCases, maxWrong } from "./validate.ts";

type LoadOptions = { cwd: string; redact?: ((text: string) => string) | undefined };

type Loaded = { suite?: Suite; nameLocation?: Problem["location"]; problems: readonly Problem[] };

/**
 * Reads suite files, in the given order. `files` are relative to `cwd` or absolute; messages name them as given.
 * `parsed` is the content of files that were parsed before. Throws one EvalsError with all problems of all files if any
 * of them is an error; otherwise returns the warnings. `redact` removes secrets from texts that ids are made of.
 */
export async function loadSuites(
  files: readonly string[],
  { cwd, parsed = new Map(), redact }: LoadOptions & { parsed?: ReadonlyMap<string, ParsedFile> },
): Promise<{ suites: Suite[]; warnings: Problem[] }> {
  const read = async (file: string) => {
    const hint = `Name it in a suite beside the server: \`cases: ${basename(file)}\`.`;
    if (caseListName.test(file)) throw usageError("This is a list of cases, and not a suite.", hint, { file });
    return parsed.get(file) ?? (await readParsed(resolve(cwd, file), file));
  };
  const loaded: Loaded[] = [];
  // One after the other, so that the text of only one large file is in memory.
  for (const file of files) loaded.push(await loadSuite(() => read(file), { cwd, redact }));
  return collect(loaded);
}

/** Like `loadSuites`, for suites given as objects. Messages name them `suite-1` and so on. */
export async function loadInlineSuites(contents: readonly unknown[], { cwd, redact }: LoadOptions) {
  const loaded = contents.map((content, at) => {
    const file = `suite-${at + 1}`;
    // A copy without functions and undefined members, like the content of a file.
    const read = async () => JSON.parse(JSON.stringify(content ?? null)) as Json;
    const parse = async () => ({ file, value: await read(), problems: [], location: () => ({ file }) });
    return loadSuite(parse, { cwd, redact });
  });
  return collect(await Promise.all(loaded));
}

function collect(loaded: readonly Loaded[]): { suites: Suite[]; warnings: Problem[] } {
  const problems = [...loaded.flatMap((one) => one.problems), ...findRepeatedNames(loaded)];
  if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
  return { suites: loaded.flatMap(({ suite }) => suite ?? []), warnings: problems };
}

async function loadSuite(read: () => Promise<ParsedFile>, { cwd, redact }: LoadOptions): Promise<Loaded> {
  try {
    const parsed = withMockFiles(await withCaseList(await read(), cwd), cwd);
    const { problems: found, checked } = checkSuite(parsed.value);
    const locateAll = (problems: readonly PathProblem[]) =>
      [
        ...parsed.problems,
        ...(parsed.warnings ?? []),
        ...problems.map((problem) => locateProblem(problem, parsed)),
      ].sort(byPlace);
    if (!checked) return { problems: locateAll(found) };
    const code = await hashCode(checked.cases, dirname(resolve(cwd, parsed.file)));
    const { files, problems: unread } = readWorkspaceFiles(checked, parsed.file, cwd);
    const suite = buildSuite(checked, parsed, cwd, { code: code.hashes, files, redact });
    const problems = locateAll([...found, ...code.problems, ...unread]);
    return { suite, nameLocation: parsed.location(["name"]), problems };
  } catch (error) {
    if (error instanceof EvalsError) return { problems: error.problems };
    throw error;
  }
}

/** Hashes the code files that cases name. Each case whose file cannot be read is a problem. */
async function hashCode(cases: CheckedSuite["cases"], dir: string) {
  const named = cases.flatMap(({ path, content }) => listCodeFiles(content).map((file) => ({ path, file })));
  const hashes = new Map<string, string>();
  const problems: PathProblem[] = [];
  for (const { path, file } of named) {
    try {
      const text = await readRegularFile(resolve(dir, file));
      hashes.set(file, createHash("sha256").update(text).digest("hex"));
    } catch {
      const hint = "Paths are relative to the suite file.";
      problems.push({ path: [...path, "expect"], message: `There is no file "${file}".`, hint });
    }
  }
  return { hashes, problems };
}

const caseListName = /\.(csv|jsonl)$/i;

/** If `cases` names a CSV or JSON Lines file, inserts the cases of that file, with their places in it. */
async function withCaseList(parsed: ParsedFile, cwd: string): Promise<ParsedFile> {
  const { value, file } = parsed;
  if (!isJsonObject(value) || typeof value.cases !== "string") return parsed;
  if (!caseListName.test(value.cases)) {
    const message = `"cases" names "${value.cases}", which is neither a .csv nor a .jsonl file.`;
    throw usageError(message, "List the cases, or name a file with one of these endings.", parsed.location(["cases"]));
  }
  const listed = join(dirname(file), value.cases);
  const { cases, location } = await readCaseList(resolve(cwd, listed), listed);
  return {
    ...parsed,
    value: { ...value, cases: [...cases] },
    location: (path, part) => {
      const [key, index] = path;
      return key === "cases" && typeof index === "number" ? location(index) : parsed.location(path, part);
    },
  };
}

/** Records and baselines are found by suite name, so two suites must not have the same one. */
function findRepeatedNames(loaded: readonly Loaded[]): Problem[] {
  const first = new Map<string, string>();
  return loaded.flatMap(({ suite, nameLocation }): Problem[] => {
    if (!suite) return [];
    const other = first.get(suite.name);
    if (other === undefined) {
      first.set(suite.name, suite.file);
      return [];
    }
    const message = `The suite name "${suite.name}" is already used by ${other}.`;
    const hint = 'Give one of them another "name".';
    return [{ severity: "error", message, hint, ...(nameLocation && { location: nameLocation }) }];
  });
}

/** Lint settings, and the place of each of their values. */
export type PlacedSettings = { settings: LintSettings; location(path: Path): Location };

/** Reads lint settings as strictly as a suite. Throws EvalsError with every problem and its place. */
export async function loadLintSettings(file: string, { cwd }: { cwd: string }): Promise<PlacedSettings> {
  const parsed = await readParsed(resolve(cwd, file), file);
  const problems = explain(lintSettingsSchema, parsed.value).map((problem) => locateProblem(problem, parsed));
  if (parsed.problems.length + problems.length > 0) throw new EvalsError([...parsed.problems, ...problems]);
  return { settings: lintSettingsSchema.parse(parsed.value), location: parsed.location };
}

type Row = { line: number; content: JsonObject };

/** Columns that belong to the case, and those that belong to its `expect`. */
const caseColumns = ["id", "input", "trials", "passRate", "maxTurns"] as const;
const expectColumns = ["tool", "args", "avoid", "skill"] as const;
const columns: readonly string[] = [...caseColumns, ...expectColumns];

/**
 * Reads the cases of a `.csv` or `.jsonl` file. The columns of a CSV file are `input`, `tool` (several separated by
 * `|`), `args` (a JSON object), `avoid`, `skill`, `id`, `trials`, `passRate` and `maxTurns`; empty cells are ignored. A
 * line of a JSON Lines file has the same keys, or those of a case in a suite. `file` is how messages name it. Returns
 * them in the form of a suite file, and the place of each. Throws EvalsError.
 */
export async function readCaseList(path: string, file: string) {
  const text = readNamed("The file of cases", path, { hint: "Its path is relative to the suite.", location: { file } });
  const rows = /\.csv$/i.test(file) ? await readCsv(text, file) : readLines(text, file);
  const location = (index: number): Location => ({ file, line: rows[index]?.line ?? 1 });
  return { cases: rows.map(({ content }) => nestExpectation(content)), location };
}

function readLines(text: string, file: string): Row[] {
  const problems: Problem[] = [];
  const rows: Row[] = [];
  for (const [at, one] of text.split(/\r?\n/).entries()) {
    if (one.trim() === "") continue;
    if (problems.length === maxWrong) break;
    const location = { file, line: at + 1 };
    try {
      const content = parseBoundedJson(markWholes(one));
      if (isJsonObject(content)) rows.push({ line: at + 1, content });
      else problems.push({ severity: "error", message: "This line is not a JSON object.", location });
    } catch (error) {
      const hint = "Write one JSON object per line.";
      problems.push({ severity: "error", message: `Invalid JSON: ${messageOf(error)}.`, hint, location });
    }
  }
  if (problems.length > 0) throw new EvalsError(problems);
  return rows;
}

async function readCsv(text: string, file: string): Promise<Row[]> {
  const [head, ...records] = await parseCsv(text, file);
  const names = head?.record.map((name) => name.trim()) ?? [];
  const problems = findWrongColumns(names, { file, line: head?.line ?? 1 });
  const rows = records.map(({ record, line }): Row => {
    if (problems.length >= maxWrong) throw new EvalsError(problems);
    const content: JsonObject = {};
    for (const [at, cell] of record.entries()) {
      if (cell.trim() === "") continue;
      try {
        content[names[at] ?? ""] = readCell(names[at] ?? "", cell.trim());
      } catch (error) {
        problems.push({ severity: "error", message: messageOf(error), location: { file, line } });
      }
    }
    return { line, content };
  });
  if (problems.length > 0) throw new EvalsError(problems);
  return rows;
}

/** Loads the parser on demand, because few suites have a CSV file. */
async function parseCsv(text: string, file: string): Promise<{ record: string[]; line: number }[]> {
  const { CsvError, parse } = await import("csv-parse/sync");
  try {
    // The parser counts "\r\n" as two lines where it is not the first line break of the file, and takes long to find
    // out which line breaks a file has.
    const records = parse(text.replace(/\r\n?/g, "\n"), {
      bom: true,
      record_delimiter: "\n",
      info: true,
      skip_empty_lines: true,
      // The head, and one case more than a suite can have, which is then refused.
      to: maxCases + 2,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    // `lines` is the last line of a record, whose cells may contain line breaks.
    return records.map(({ record, info }) => ({ record, line: info.lines - countBreaks(record) }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number((error as { lines?: unknown }).lines ?? 1);
    const hint = 'Put cells with commas or quotes in quotes, and write " as "".';
    throw usageError(`Invalid CSV: ${error.message}.`, hint, { file, line });
  }
}

const countBreaks = (record: readonly string[]) => record.join("").split("\n").length - 1;

function findWrongColumns(names: readonly string[], location: Location): Problem[] {
  const known = `Columns: ${columns.join(", ")}.`;
  const strange = names.filter((name) => !columns.includes(name)).slice(0, maxWrong);
  const unknown = strange.map((name): Problem & { hint: string } => {
    const hint = suggestKey(name, columns) ?? known;
    return { severity: "error", message: `Unknown column "${name}".`, hint, location };
  });
  if (names.includes("input") || unknown.some(({ hint }) => hint.includes('"input"'))) return unknown;
  const isOneColumn = names.length === 1 && /[;\t|]/.test(names[0] ?? "");
  const hint = isOneColumn ? "Separate the columns with commas." : known;
  return [{ severity: "error", message: 'There is no column "input".', hint, location }];
}

/** Throws an Error with the message of a problem. */
function readCell(name: string, cell: string): Json {
  if (name === "tool" || name === "avoid") {
    const names = cell.split("|").map((one) => one.trim());
    return names.length === 1 ? cell : names;
  }
  if (["trials", "passRate", "maxTurns"].includes(name)) {
    if (Number.isFinite(Number(cell))) return Number(cell);
    throw new Error(`"${name}" is not a number: "${cell}".`);
  }
  if (name !== "args") return cell;
  try {
    return parseBoundedJson(markWholes(cell));
  } catch (error) {
    throw new Error(`"args" is not a JSON object: ${messageOf(error)}.`);
  }
}

/** Turns `{ input, tool, args }` into `{ input, expect: { tool, args } }`. */
function nestExpectation(row: JsonObject): JsonObject {
  const isExpectation = ([key]: [string, Json]) => (expectColumns as readonly string[]).includes(key);
  const expected = Object.entries(row).filter(isExpectation);
  if (expected.length === 0 || "expect" in row) return row;
  const rest = Object.entries(row).filter((entry) => !isExpectation(entry));
  return { ...Object.fromEntries(rest), expect: Object.fromEntries(expected) };
}
