import { isUtf8 } from "node:buffer";
import { closeSync, constants, openSync, readFileSync, readSync, statSync } from "node:fs";
import { type Location, messageOf, usageError } from "../../base/types/errors.ts";
import type { Json } from "../../base/types/json.ts";
import { getMaxDepth, type ParsedFile, type ParseOptions, parseJson } from "./json.ts";

const mib = 1024 * 1024;

/** The maximum size of a parsed file. Nobody could review a larger suite. */
export const maxBytes = 10 * mib;
/** Tool lists are written by programs and may be larger. */
const maxLenientBytes = 100 * mib;

/** Why a file was not read. `kind` is for code; `reason` completes "The file cannot be read: …". */
export type Refusal = {
  kind: "missing" | "not a file" | "too large" | "utf-16" | "binary" | "not utf-8" | "unreadable";
  reason: string;
};

/**
 * Reads a UTF-8 file of at most `limit` bytes, without its byte order mark; with `pipes`, also a pipe or device.
 * Synchronous, because thousands of small skill files are read before any other work starts, which is four times as
 * fast as through the thread pool.
 */
export function readText(
  path: string,
  limit: number,
  { pipes = false }: { pipes?: boolean | undefined } = {},
): { text: string } | Refusal {
  let bytes: Buffer;
  try {
    const found = statSync(path);
    // Checked before opening: opening a pipe would block.
    if (!found.isFile() && (!pipes || found.isDirectory()))
      return { kind: "not a file", reason: "it is not a regular file" };
    const tooLarge = { kind: "too large", reason: `it is larger than ${limit / mib} MiB` } as const;
    if (found.size > limit) return tooLarge;
    bytes = found.isFile() ? readFileSync(path) : readStream(path, limit);
    if (bytes.length > limit) return tooLarge;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing) return { kind: "missing", reason: "it does not exist" };
    return { kind: "unreadable", reason: messageOf(error) };
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    return { kind: "utf-16", reason: "it is UTF-16 text" };
  if (bytes.includes(0)) return { kind: "binary", reason: "it is binary" };
  if (!isUtf8(bytes)) return { kind: "not utf-8", reason: "it is not UTF-8 text" };
  return { text: bytes.toString("utf8").replace(/^\uFEFF/, "") };
}

/** How long to wait for the writer of a pipe. */
const silenceMs = 10_000;
const pollMs = 5;

/** Reads slightly more than `limit` bytes of a pipe or device. Does not block, as a pipe may have no writer. */
function readStream(path: string, limit: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const parts: Uint8Array[] = [];
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  let bytes = 0;
  try {
    for (let silent = 0; bytes <= limit; ) {
      const part = new Uint8Array(64 * 1024);
      let read = -1;
      try {
        read = readSync(file, part);
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      }
      if (read === 0 && bytes > 0) break;
      // The writer has not begun, or has nothing yet.
      if (read <= 0) {
        silent += pollMs;
        if (silent > silenceMs) throw new Error(`nothing was written to it for ${silenceMs / 1_000} s`);
        Atomics.wait(sleeper, 0, 0, pollMs);
        continue;
      }
      silent = 0;
      bytes += read;
      parts.push(part.subarray(0, read));
    }
    return Buffer.concat(parts);
  } finally {
    closeSync(file);
  }
}

export const hints: Record<Refusal["kind"], string> = {
  missing: "Check the path; a path in a suite file is relative to its folder.",
  unreadable: "Check the path and its permissions.",
  "not a file": "Give a .yaml, .yml or .json file.",
  binary: "Give a .yaml, .yml or .json file.",
  "too large": "Split it into several files.",
  "utf-16": "Save it as UTF-8.",
  "not utf-8": "Save it as UTF-8.",
};

type ReadOptions = { limit?: number; pipes?: boolean; hint?: string; location?: Location };

/** Reads the text of a file that the user named. Throws a usage error: "<what> cannot be read: <reason>." */
export function readNamed(what: string, path: string, options: ReadOptions): string {
  const { limit = maxBytes, pipes, hint, location } = options;
  const read = readText(path, limit, { pipes });
  if ("kind" in read) throw usageError(`${what} cannot be read: ${read.reason}.`, hint, location);
  return read.text;
}

/** Reads and parses a file by the ending of its name. `file` is how messages name it. Throws EvalsError. */
export async function readParsed(path: string, file: string, options: ParseOptions = {}): Promise<ParsedFile> {
  const read = options.lenient ? readText(path, maxLenientBytes, { pipes: true }) : readText(path, maxBytes);
  if ("kind" in read) throw usageError(`The file cannot be read: ${read.reason}.`, hints[read.kind], { file });
  return parseText(read.text, file, options);
}

/** Parses a text by the ending of the file's name: JSON, YAML or TOML; others are JSON if `lenient`, otherwise YAML. */
export async function parseText(text: string, file: string, options: ParseOptions = {}): Promise<ParsedFile> {
  if (/\.toml$/i.test(file)) return parseToml(text, file);
  if (/\.json$/i.test(file) || (options.lenient && !/\.ya?ml$/i.test(file))) return parseJson(text, file, options);
  // Loaded on demand, because most tool lists are JSON.
  const { parseYaml } = await import("./yaml.ts");
  return parseYaml(text, file, options);
}

/** Values of a TOML file have no place of their own: its parser gives none. */
async function parseToml(text: string, file: string): Promise<ParsedFile> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    const value = JSON.parse(JSON.stringify(parse(text, { maxDepth: getMaxDepth({ lenient: true }) }))) as Json;
    return { file, value, problems: [], location: () => ({ file }) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ""] = error.message.split("\n");
    throw usageError(`${what}.`, undefined, { file, line: error.line, column: error.column });
  }
}
