import { EvalsError, messageOf, type Place, type Problem, usageError } from "../../base/types/errors.ts";
import { markWholes } from "../../base/types/exactJson.ts";
import { isJsonObject, type Json, type JsonObject, parseBoundedJson } from "../../base/types/json.ts";
import { maxBytes, readText } from "../parsing/read.ts";
import { suggestKey } from "./explain.ts";
import { maxCases, maxWrong } from "./validate.ts";

/** The cases of a CSV or JSON Lines file, in the form of a suite file, and the place of each. */
export type CaseList = { cases: readonly Json[]; place(index: number): Place };

type Row = { line: number; content: JsonObject };

/** Columns that belong to the case, and those that belong to its `expect`. */
const caseColumns = ["id", "input", "trials", "passRate", "maxTurns"] as const;
const expectColumns = ["tool", "args", "avoid", "skill"] as const;
const columns: readonly string[] = [...caseColumns, ...expectColumns];

/**
 * Reads the cases of a `.csv` or `.jsonl` file. The columns of a CSV file are `input`, `tool` (several separated by
 * `|`), `args` (a JSON object), `avoid`, `skill`, `id`, `trials`, `passRate` and `maxTurns`; empty cells are ignored. A
 * line of a JSON Lines file has the same keys, or those of a case in a suite. `file` is how messages name it. Throws
 * EvalsError.
 */
export async function readCaseList(path: string, file: string): Promise<CaseList> {
  const read = readText(path, maxBytes);
  if ("kind" in read)
    throw usageError(`The file of cases cannot be read: ${read.reason}.`, "Its path is relative to the suite.", {
      file,
    });
  const rows = /\.csv$/i.test(file) ? await readCsv(read.text, file) : readLines(read.text, file);
  return {
    cases: rows.map(({ content }) => nestExpectation(content)),
    place: (index) => ({ file, line: rows[index]?.line ?? 1 }),
  };
}

function readLines(text: string, file: string): Row[] {
  const problems: Problem[] = [];
  const rows: Row[] = [];
  for (const [at, one] of text.split(/\r?\n/).entries()) {
    if (one.trim() === "") continue;
    if (problems.length === maxWrong) break;
    const place = { file, line: at + 1 };
    try {
      const content = parseBoundedJson(markWholes(one));
      if (isJsonObject(content)) rows.push({ line: at + 1, content });
      else problems.push({ severity: "error", message: "This line is not a JSON object.", place });
    } catch (error) {
      const hint = "Write one JSON object per line.";
      problems.push({ severity: "error", message: `Invalid JSON: ${messageOf(error)}.`, hint, place });
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
    const cells = record.flatMap((cell, at): [string, Json][] => {
      const value = cell.trim() === "" ? undefined : readCell(names[at] ?? "", cell.trim());
      if (value instanceof Error) problems.push({ severity: "error", message: value.message, place: { file, line } });
      return value === undefined || value instanceof Error ? [] : [[names[at] ?? "", value]];
    });
    return { line, content: Object.fromEntries(cells) };
  });
  if (problems.length > 0) throw new EvalsError(problems);
  return rows;
}

/** Loads the parser on demand, because few suites have a CSV file. */
async function parseCsv(text: string, file: string): Promise<{ record: string[]; line: number }[]> {
  const { CsvError, parse } = await import("csv-parse/sync");
  try {
    // The parser counts "\r\n" as two lines where it is not the first line break of the file, and takes long to find out
    // which line breaks a file has.
    const records = parse(text.replace(/\r\n?/g, "\n"), {
      bom: true,
      record_delimiter: "\n",
      info: true,
      skip_empty_lines: true,
      // The head, and one case more than a suite can have, which is then refused.
      to: maxCases + 2,
    }) as unknown as {
      record: string[];
      info: { lines: number };
    }[];
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

function findWrongColumns(names: readonly string[], place: Place): Problem[] {
  const known = `Columns: ${columns.join(", ")}.`;
  const unknown = names
    .filter((name) => !columns.includes(name))
    .slice(0, maxWrong)
    .map((name): Problem & { hint: string } => {
      return {
        severity: "error",
        message: `Unknown column "${name}".`,
        hint: suggestKey(name, columns) ?? known,
        place,
      };
    });
  if (names.includes("input") || unknown.some(({ hint }) => hint.includes('"input"'))) return unknown;
  const isOneColumn = names.length === 1 && /[;\t|]/.test(names[0] ?? "");
  const hint = isOneColumn ? "Separate the columns with commas." : known;
  return [{ severity: "error", message: 'There is no column "input".', hint, place }];
}

function readCell(name: string, cell: string): Json | Error {
  if (name === "tool" || name === "avoid") {
    const names = cell.split("|").map((one) => one.trim());
    return names.length === 1 ? cell : names;
  }
  if (["trials", "passRate", "maxTurns"].includes(name)) {
    const value = Number(cell);
    return Number.isFinite(value) ? value : new Error(`"${name}" is not a number: "${cell}".`);
  }
  if (name !== "args") return cell;
  try {
    return parseBoundedJson(markWholes(cell));
  } catch (error) {
    return new Error(`"args" is not a JSON object: ${messageOf(error)}.`);
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
