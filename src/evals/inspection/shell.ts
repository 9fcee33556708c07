import { usageError } from "../base/types/errors.ts";
import type { JsonObject } from "../base/types/json.ts";
import { asciiJson } from "../reports/escape.ts";
import type { CommandSpec } from "../servers/spec.ts";

// Quoted parts, escaped characters, plain characters. Any other backslash is literal, as in Windows paths.
// Each text matches in one way only, because a line with many backslashes would otherwise take exponential time.
const word = /(?:"(?:\\["\\]|\\(?!["\\])|[^"\\])*"|'[^']*'|\\["'\\ ]|\\(?!["'\\ ])|[^\s"'\\])+/g;
const piece = /"((?:\\["\\]|\\(?!["\\])|[^"\\])*)"|'([^']*)'|\\(["'\\ ])|([^\s"'])/g;

/** Splits the command line of a server into words, with quotes as in a shell; no shell is run. Throws EvalsError. */
export function parseCommandLine(line: string): CommandSpec {
  const rest = line.replace(word, "").trim();
  if (rest !== "") throw usageError(`--server ${line} has an unclosed quote.`, `Close it with ${rest[0]}.`);
  const [command, ...args] = (line.match(word) ?? []).map((one) =>
    [...one.matchAll(piece)]
      .map(([, double, single, escaped, plain]) => double?.replace(/\\(["\\])/g, "$1") ?? single ?? escaped ?? plain)
      .join(""),
  );
  if (!command) throw usageError("--server has no command.", 'Write --server "node dist/main.js".');
  return { command, args };
}

/** Quotes a text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
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

const interpreters =
  /(?:^|[/\\])(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pythonw?|ruby|php|perl|bash|sh|java)(?:\.exe)?$/i;
const scriptEnding = /\.(?:[cm]?[jt]s|py|rb|php|pl|sh|jar)$/i;

/** The argument that is the script of an interpreter; undefined if it runs a module, a package or inline code. */
export function findScript({ command, args }: JsonObject): { path: string; index: number } | undefined {
  if (typeof command !== "string" || !interpreters.test(command) || !Array.isArray(args)) return undefined;
  const index = args.findIndex((one) => typeof one === "string" && scriptEnding.test(one) && !one.startsWith("-"));
  const path = args[index];
  const before = args.slice(0, Math.max(0, index));
  if (typeof path !== "string" || ["-m", "-e", "-c"].some((flag) => before.includes(flag))) return undefined;
  return { path, index };
}
