import { shellWord } from "../base/text/display.ts";
import { usageError } from "../base/types/errors.ts";
import type { JsonObject } from "../base/types/json.ts";
import { asciiJson } from "../reports/escape.ts";
import type { CommandSpec } from "../servers/spec.ts";

// Quoted parts, escaped characters, plain characters. Any other backslash is literal, as in Windows paths.
// Each text matches in one way only, because a line with many backslashes would otherwise take exponential time.
const word = /(?:"(?:\\["\\]|\\(?!["\\])|[^"\\])*"|'[^']*'|\\["'\\ ]|\\(?!["'\\ ])|[^\s"'\\])+/g;
const assignment = /^[A-Za-z_]\w*=/;
const piece = /"((?:\\["\\]|\\(?!["\\])|[^"\\])*)"|'([^']*)'|\\(["'\\ ])|([^\s"'])/g;

/** Splits the command line of a server into words, with quotes as in a shell, after `NAME=value`. Throws EvalsError. */
export function parseCommandLine(line: string): CommandSpec {
  const rest = line.replace(word, "").trim();
  if (rest !== "") throw usageError(`--server ${line} has an unclosed quote.`, `Close it with ${rest[0]}.`);
  const words = (line.match(word) ?? []).map((one) =>
    [...one.matchAll(piece)]
      .map(([, double, single, escaped, plain]) => double?.replace(/\\(["\\])/g, "$1") ?? single ?? escaped ?? plain)
      .join(""),
  );
  const start = words.findIndex((one) => !assignment.test(one));
  const [command, ...args] = start < 0 ? [] : words.slice(start);
  if (!command) throw usageError("--server has no command.", 'Write --server "node dist/main.js".');
  const env = words.slice(0, start).map((one) => one.split(/=(.*)/s).slice(0, 2));
  return { command, args, ...(env.length > 0 && { env: Object.fromEntries(env) }) };
}

/** Like `shellWord`, but leaves `${NAME}` and `${env:NAME}` for the shell to substitute, as a host does. */
export function shellTemplate(text: string): string {
  const parts = text.split(/\$\{(?:env:)?([A-Za-z_]\w{0,255}(?::-[^}]{0,1000})?)\}/);
  if (parts.length === 1) return shellWord(text);
  const words = parts.map((part, at) => (at % 2 === 1 ? `\${${part}}` : part.replace(/["$\\`]/g, "\\$&")));
  return `"${words.join("")}"`;
}

/** The flag with which `evals probe` makes a call. */
export function callFlag(tool: string, args: JsonObject): string {
  return `--call ${shellWord(asciiJson({ tool, arguments: args }))}`;
}
