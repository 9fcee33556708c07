import { readFile, stat } from "node:fs/promises";

/**
 * The text of a file. Rejects with the error of the file system, and for a folder, a pipe or a device: a pipe would be
 * waited for without end.
 */
export async function readRegularFile(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) throw new Error("it is not a regular file");
  return await readFile(path, "utf8");
}
