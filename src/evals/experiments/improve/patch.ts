import { relative, resolve } from "node:path";
import { createTwoFilesPatch } from "diff";
import { parse } from "yaml";
import type { Io } from "../../base/types/io.ts";
import { readText } from "../../input/parsing/read.ts";
import type { TextChange } from "../../reports/document.ts";
import { listTrackedFiles } from "../workspace/git.ts";

/** Larger files are no sources, and a shorter text can stand anywhere. */
const limits = { bytes: 1024 * 1024, characters: 12 } as const;

/** Whether YAML reads a text without quotes, as in the head of a skill, as something else. */
function needsQuotes(text: string): boolean {
  try {
    return parse(`text: ${text}`, { logLevel: "silent" }).text !== text;
  } catch {
    return true;
  }
}

/** How a text stands in sources: as it is, or in a string of JavaScript, JSON, Python and the like. */
const writings = [
  (text: string) => text,
  (text: string) => JSON.stringify(text).slice(1, -1),
  (text: string) => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n"),
];

/**
 * A patch for `git apply` to the tracked files under the working directory. `left`: the labels of changes for a person:
 * the old text does not stand there exactly once, or the new one needs quotes there.
 */
export async function makePatch(
  changes: readonly TextChange[],
  without: readonly string[],
  io: Pick<Io, "cwd" | "env">,
): Promise<{ patch: string; left: string[] }> {
  const isSkipped = (path: string) => without.some((dir) => !relative(resolve(io.cwd, dir), path).startsWith(".."));
  const originals = new Map<string, string>();
  for (const path of await listTrackedFiles(io)) {
    const read = readText(resolve(io.cwd, path), limits.bytes);
    if (!("kind" in read) && !isSkipped(resolve(io.cwd, path))) originals.set(path, read.text);
  }
  const edited = new Map(originals);
  const left = changes.flatMap(({ label, before = "", after = "" }) => {
    const forms = new Map(writings.map((write) => [write(before), write(after)]));
    const found = [...edited].flatMap(([path, text]) =>
      [...forms].flatMap(([old, now]) =>
        text
          .split(old)
          .slice(1)
          .map(() => ({ path, old, now })),
      ),
    );
    const [location] = found;
    if (before.length < limits.characters || !location || found.length > 1) return [label];
    if (/\.(?:md|ya?ml)$/.test(location.path) && needsQuotes(after)) return [label];
    const text = edited.get(location.path) ?? "";
    const now = text.replace(location.old, () => location.now);
    edited.set(location.path, now);
    return [];
  });
  const patches = [...edited].flatMap(([path, text]) => {
    const original = originals.get(path) ?? text;
    const patch = createTwoFilesPatch(`a/${path}`, `b/${path}`, original, text, "", "");
    return text === original ? [] : [patch.replace(/^=+\n/, "")];
  });
  return { patch: patches.join(""), left };
}
