import { readFile, stat } from "node:fs/promises";
import { EvalsError, messageOf, usageError } from "../errors.ts";

/** The largest file that is read. Suites are made to be read and reviewed; far below this size they no longer are. */
const maxBytes = 10 * 1024 * 1024;

/**
 * The text of a UTF-8 file, without a byte order mark. `file` is how messages name it.
 * Throws EvalsError when the file is missing, not a regular file, over 10 MiB, or not UTF-8 text.
 */
export async function readText(path: string, file: string): Promise<string> {
  const bytes = await readBytes(path, file);
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw usageError("the file is UTF-16 text", "save it as UTF-8", { file });
  }
  if (bytes.includes(0)) throw usageError("the file is binary, not text", "give a .yaml, .yml or .json file", { file });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usageError("the file is not UTF-8 text", "save it as UTF-8", { file });
  }
}

async function readBytes(path: string, file: string): Promise<Uint8Array> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw usageError("not a regular file", "give a .yaml, .yml or .json file", { file });
    if (found.size > maxBytes) {
      const size = (found.size / 1024 / 1024).toFixed(1);
      throw usageError(`the file has ${size} MiB; at most 10 MiB are read`, "split it into several suites", { file });
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const message = missing ? "there is no such file" : `cannot read the file: ${messageOf(error)}`;
    throw usageError(message, "check the path and its permissions", { file });
  }
}
