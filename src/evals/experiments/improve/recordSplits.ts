import { resolve } from "node:path";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { replaceFile } from "../../base/files/files.ts";
import { printableLines } from "../../base/text/display.ts";
import { messageOf } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Split } from "../../base/types/suiteFile.ts";
import { maxBytes, parseText, readText } from "../../input/parsing/read.ts";
import { count } from "../../reports/format.ts";

/**
 * Writes the split of each case into its suite, where it stays when cases are added, and resolves with how many have
 * theirs in the file. Leaves out what is not YAML, and a file that would then say anything else.
 */
export async function recordSplits(
  file: string,
  splits: ReadonlyMap<string, Split>,
  cases: readonly PlannedCase[],
  io: Io,
): Promise<number> {
  const open = cases.flatMap(({ case: { id, split, location } }) => {
    const { line = 0, column = 0 } = location;
    const own = splits.get(id);
    return split || !own || location.file !== file || column === 0 ? [] : [{ line, column, own }];
  });
  const known = cases.filter((planned) => planned.case.split).length;
  const read = readText(resolve(io.cwd, file), maxBytes);
  if (open.length === 0 || "kind" in read) return known;
  const lines = read.text.split("\n");
  // From the last on, as the places before an insertion stay.
  for (const { line, column, own } of open.toSorted((a, b) => b.line - a.line || b.column - a.column)) {
    const [before, after] = [lines[line - 1]?.slice(0, column - 1) ?? "", lines[line - 1]?.slice(column - 1) ?? ""];
    const added = after.startsWith("{")
      ? `{ ${file.endsWith(".json") ? `"split": "${own}"` : `split: ${own}`},${after.slice(1).replace(/^(?=\S)/, " ")}`
      : `split: ${own}\n${" ".repeat(column - 1)}${after}`;
    lines[line - 1] = before + added;
  }
  const text = lines.join("\n");
  if ((await readContent(text, file)) !== (await readContent(read.text, file))) return known;
  const isWritten = await replaceFile(resolve(io.cwd, file), text).then(
    () => true,
    () => false,
  );
  if (!isWritten) return known;
  io.err(printableLines(`Recorded the split of ${count(open.length, "case")} in ${file}.`));
  return known + open.length;
}

/** The content of a suite without its splits; or the message of what is wrong with it. */
async function readContent(text: string, file: string): Promise<string> {
  try {
    const { value } = await parseText(text, file);
    return JSON.stringify(value, (key, member) => (key === "split" ? undefined : member));
  } catch (error) {
    return messageOf(error);
  }
}
