import { usageError } from "../../errors.ts";
import type { CommandSpec } from "../../toolsets/spec.ts";

// Quoted parts, escaped signs, plain signs. A backslash before anything else is one: paths of Windows have them.
const word = /(?:"(?:\\["\\]|[^"])*"|'[^']*'|\\["'\\ ]|[^\s"'])+/g;
const piece = /"((?:\\["\\]|[^"])*)"|'([^']*)'|\\(["'\\ ])|([^\s"'])/g;

/** The server that a command line starts: words between spaces, with quotes as a shell has them; no shell is asked. */
export function commandSpec(line: string): CommandSpec {
  const rest = line.replace(word, "").trim();
  if (rest !== "") throw usageError(`--server ${line}: a quote is not closed`, `Close it: ${rest[0]}.`);
  const [command, ...args] = (line.match(word) ?? []).map((one) =>
    [...one.matchAll(piece)]
      .map(([, double, single, escaped, plain]) => double?.replace(/\\(["\\])/g, "$1") ?? single ?? escaped ?? plain)
      .join(""),
  );
  if (!command) throw usageError("--server names no command", 'Write --server "node dist/main.js".');
  return { command, args };
}
