import type { Finding, Location, Severity } from "../base/types/finding.ts";
import type { Inline, Item, Span } from "./document.ts";

/** The findings that are not suppressed, errors first. The order within a severity stays. */
export function worstFirst<F extends Pick<Finding, "severity" | "suppressed">>(findings: readonly F[]): F[] {
  const rank = ({ severity }: F) => severities.indexOf(severity);
  return findings.filter(({ suppressed }) => suppressed === undefined).sort((a, b) => rank(a) - rank(b));
}

/** All severities, the worst first. */
export const severities: readonly Severity[] = ["error", "warning", "info"];

/** What a finding is about: `server · tool`, `skill name`, or the file. */
export function subjectText({ server, tool, skill, file }: Location): string {
  if (skill !== undefined) return `skill ${skill}`;
  if (server !== undefined) return tool === undefined ? server : `${server} · ${tool}`;
  return file ?? "";
}

/** Characters of one line of evidence that are shown. */
const maxEvidence = 2_100;

/**
 * A finding in a list: its severity and `title` (default: the rule), then what is wrong, how to fix it, what was observed,
 * and the command that shows it again. `more` follows the fix.
 */
export function findingItem(
  { severity, rule, message, fix, evidence = [], command }: Omit<Finding, "location">,
  { title = rule, more = [] }: { title?: string; more?: readonly Inline[] } = {},
): Item {
  return {
    text: [showSeverity(severity), ` ${title}`],
    items: [message, `Fix: ${fix}`, ...more, ...evidence.map((line) => ({ code: `| ${line}`, max: maxEvidence }))],
    max: Number.POSITIVE_INFINITY,
    ...(command !== undefined && { command }),
  };
}

export function showSeverity(severity: Severity): Span {
  return { strong: severity, ...(severity !== "info" && { tone: severity === "error" ? "bad" : "warn" }) };
}
