import { resolve } from "node:path";
import type { LiveSpec } from "../../toolsets/spec.ts";
import { shellTemplate, shellWord } from "../shell.ts";

/** A server as a person would start or ask it, without the values of variables and headers, which may be secrets. */
export function shownCommand(spec: LiveSpec, dir: string): { starts: string; direct: string } {
  if ("url" in spec) {
    const url = shownUrl(spec.url);
    const headers = Object.keys(spec.headers ?? {}).map((name) => ` -H '${name}: ...'`);
    return {
      starts: url,
      direct: `curl -i${spec.transport === "sse" ? "" : " -X POST"}${headers.join("")} ${shellWord(url)}`,
    };
  }
  const line = [spec.command, ...(spec.args ?? [])].map(shellTemplate).join(" ");
  const variables = Object.keys(spec.env ?? {}).map((name) => `${name}=... `);
  return { starts: line, direct: `cd ${shellWord(resolve(dir, spec.cwd ?? "."))} && ${variables.join("")}${line}` };
}

/** A URL without what may be a secret in it: user, password and query. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`;
}
