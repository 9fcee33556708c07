import { dirname, join, resolve } from "node:path";
import { messageOf, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type Path, parseBoundedJson, writeExactJson } from "../../base/types/json.ts";
import type { Mock } from "../../base/types/suite.ts";
import type { MockFile, MocksFile } from "../../base/types/suiteFile.ts";
import { type ToolResult, toolResultSchema } from "../../base/types/tool.ts";
import type { ParsedFile } from "../parsing/json.ts";
import { maxBytes, readText } from "../parsing/read.ts";
import { checkMatcher } from "./expectation.ts";
import type { PathProblem } from "./explain.ts";

/** Reads the files that mocks name as their results. Throws EvalsError with the place of one that cannot be read. */
export function withMockFiles(parsed: ParsedFile, cwd: string): ParsedFile {
  const { value } = parsed;
  if (!isJsonObject(value)) return parsed;
  const readAll = (mocks: Json | undefined, path: Path): Json | undefined => {
    if (!isJsonObject(mocks)) return mocks;
    const tools = Object.entries(mocks).map(([tool, written]): [string, Json] => {
      const at = [...path, tool];
      if (!Array.isArray(written)) return [tool, readOne(written, parsed, at, cwd)];
      return [tool, written.map((one, i) => readOne(one, parsed, [...at, i], cwd))];
    });
    return Object.fromEntries(tools);
  };
  const withMocks = (holder: Json, path: Path): Json => {
    if (!isJsonObject(holder) || holder.mocks === undefined) return holder;
    return { ...holder, mocks: readAll(holder.mocks, [...path, "mocks"]) ?? null };
  };
  const withCases = Object.entries(value).map(([key, member]): [string, Json] => {
    const isList = (key === "cases" || key === "evals") && Array.isArray(member);
    return [key, isList ? member.map((one, i) => withMocks(one, [key, i])) : member];
  });
  return { ...parsed, value: withMocks(Object.fromEntries(withCases), []) };
}

function readOne(mock: Json, parsed: ParsedFile, path: Path, cwd: string): Json {
  if (!isJsonObject(mock) || typeof mock.file !== "string" || mock.result !== undefined) return mock;
  const { file, ...rest } = mock;
  const read = readText(resolve(cwd, join(dirname(parsed.file), file)), maxBytes);
  const location = parsed.location([...path, "file"]);
  const unread = (reason: string) => `The result of a mock cannot be read from "${file}": ${reason}.`;
  if ("kind" in read) throw usageError(unread(read.reason), "Its path is relative to the suite.", location);
  if (!/\.json$/i.test(file)) return { ...rest, result: read.text };
  try {
    return { ...rest, result: parseBoundedJson(read.text) };
  } catch (error) {
    throw usageError(`"${file}" is not JSON: ${messageOf(error)}.`, "Fix it, or give it another ending.", location);
  }
}

/** Checks mocks for what their schema cannot express. */
export function checkMocks(mocks: MocksFile | undefined, path: Path): PathProblem[] {
  return listMocks(mocks, path).flatMap(({ tool, at, mock }) => {
    const given = (["result", "file", "error"] as const).filter((key) => mock[key] !== undefined);
    const matchers = Object.entries(mock.args ?? {}).flatMap(([name, value]) =>
      checkMatcher(value, [...at, "args", name]),
    );
    if (given.length === 1) return matchers;
    const message = `The mock of "${tool}" has ${given.length === 0 ? "no result" : "more than one result"}.`;
    return [...matchers, { path: at, message, hint: 'Give one of "result", "file" and "error".' }];
  });
}

function listMocks(mocks: MocksFile = {}, path: Path): { tool: string; index?: number; at: Path; mock: MockFile }[] {
  return Object.entries(mocks).flatMap(([tool, written]) => {
    const at = [...path, tool];
    if (!Array.isArray(written)) return [{ tool, at, mock: written }];
    return written.map((mock, index) => ({ tool, index, at: [...at, index], mock }));
  });
}

/** Builds the mocks of a suite or a case, in the order written. Their labels start with `prefix`. */
export function buildMocks(mocks: MocksFile | undefined, prefix = ""): Mock[] {
  return listMocks(mocks, []).map(({ tool, index, mock }) => ({
    label: `${prefix}${tool}${index === undefined ? "" : `[${index + 1}]`}`,
    tool,
    ...(mock.args && { args: mock.args }),
    result: mock.error === undefined ? toResult(mock.result ?? "") : toText(mock.error, true),
  }));
}

function toResult(written: Json): ToolResult {
  if (typeof written === "string") return toText(written);
  if (isJsonObject(written) && Array.isArray(written.content)) {
    const whole = toolResultSchema.safeParse({ isError: false, ...written });
    if (whole.success) return whole.data;
  }
  const text = toText(writeExactJson(written));
  return isJsonObject(written) ? { ...text, structuredContent: written } : text;
}

const toText = (text: string, isError = false): ToolResult => ({ isError, content: [{ type: "text", text }] });
