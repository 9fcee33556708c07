import type { Level, Severity, Suppression } from "../types/lint.ts";
import type { Settings } from "./target.ts";

/** How a rule counts: by the first settings that name it, else as it is made. */
export function levelOf(rule: { id: string; severity: Severity }, settings: readonly Settings[]): Level {
  for (const { severities = {} } of settings) {
    const level = Object.hasOwn(severities, rule.id) ? severities[rule.id] : undefined;
    if (level !== undefined) return level;
  }
  return rule.severity;
}

/** Whether a suppression is meant for something of this name: all are, unless it names one. */
export function isMeant({ tool }: Suppression, name: string | undefined): boolean {
  return tool === undefined || (name !== undefined && matches(tool, name));
}

/** `*` is any text. Looks for each piece once, from left to right. */
function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
