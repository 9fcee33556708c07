import { asciiJson } from "../reports/escape.ts";
import type { JsonObject } from "../types/json.ts";

/** A text as one word that a POSIX shell reads back as it is. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** As `shellWord`, but `${NAME}` and `${env:NAME}` are left for the shell to fill in, as a host does. */
export function shellTemplate(text: string): string {
  const parts = text.split(/\$\{(?:env:)?([A-Za-z_]\w*(?::-[^}]*)?)\}/);
  if (parts.length === 1) return shellWord(text);
  const words = parts.map((part, at) => (at % 2 === 1 ? `\${${part}}` : part.replace(/["$\\`]/g, "\\$&")));
  return `"${words.join("")}"`;
}

/** The flag by which `evals probe` makes a call. */
export function callFlag(tool: string, args: JsonObject): string {
  return `--call ${shellWord(asciiJson({ tool, arguments: args }))}`;
}
