import type { Finding, Location, Severity } from "../../base/types/finding.ts";
import type { Level, LintReport, Suppression } from "../../base/types/lint.ts";
import { isSuppressing, readLevel } from "../settings.ts";
import type { Families, LintSubject, LintSubjectOf, Rule, SubjectKind, Subjects } from "./rule.ts";

/** The result of linting: findings in the order of the targets, including suppressed ones. */
export type Linted = Pick<LintReport, "findings" | "unusedSuppressions" | "counts">;

/** The maximum length of one text in a report, because linted texts may have any size. */
const maxText = 500;

/** Runs the rules of its kind on each target, in time linear in targets and rules. */
export function lint(targets: readonly LintSubject[], families: Families): Linted {
  const findings: Finding[] = [];
  const linted: Record<string, number> = {};
  const applicable = new Set<Suppression>();
  const used = new Set<Suppression>();
  const getActiveRules = selectRules(families);
  for (const target of targets) {
    linted[target.kind] = (linted[target.kind] ?? 0) + 1;
    lintTarget(target, getActiveRules(target), { findings, applicable, used });
  }
  const count = (level: Level) => findings.filter((one) => !one.suppressed && one.severity === level).length;
  return {
    findings,
    unusedSuppressions: [...applicable].filter((suppression) => !used.has(suppression)),
    counts: {
      error: count("error"),
      warning: count("warning"),
      info: count("info"),
      suppressed: findings.filter(({ suppressed }) => suppressed).length,
      linted,
    },
  };
}

type Tally = { findings: Finding[]; applicable: Set<Suppression>; used: Set<Suppression> };

/** A rule that is on, with its severity and suppressions according to the settings. */
type ActiveRule<Subject> = { rule: Rule<Subject>; severity: Severity; suppressions: readonly Suppression[] };

/** Creates a function that returns the active rules of a target, memoized for targets with the same settings. */
function selectRules(
  families: Families,
): <K extends SubjectKind>(target: LintSubjectOf<K>) => readonly ActiveRule<Subjects[K]>[] {
  const known = new Map<unknown, { [K in SubjectKind]?: readonly ActiveRule<Subjects[K]>[] }>();
  return <K extends SubjectKind>({ kind, settings }: LintSubjectOf<K>) => {
    const byKind: { [L in K]?: readonly ActiveRule<Subjects[L]>[] } = known.get(settings) ?? {};
    known.set(settings, byKind);
    byKind[kind] ??= families[kind].flatMap((rule) => {
      const severity = readLevel(rule, settings);
      const suppressions = settings.flatMap(({ ignore = [] }) => ignore.filter((one) => one.rule === rule.id));
      return severity === "off" ? [] : [{ rule, severity, suppressions }];
    });
    return byKind[kind];
  };
}

function lintTarget<K extends SubjectKind>(
  target: LintSubjectOf<K>,
  active: readonly ActiveRule<Subjects[K]>[],
  { findings, applicable, used }: Tally,
): void {
  const { subject, names } = target;
  for (const { rule, severity, suppressions } of active) {
    for (const one of suppressions)
      if (one.tool === undefined || names.some((name) => isSuppressing(one, name))) applicable.add(one);
    for (const { at, message, fix } of rule.check(subject)) {
      const location = target.where(at);
      const suppression = suppressions.find((one) =>
        isSuppressing(one, location.tool ?? location.skill ?? location.server),
      );
      if (suppression) used.add(suppression);
      findings.push({
        rule: rule.id,
        severity,
        message: truncate(message),
        fix: truncate(fix),
        location: truncateLocation(location),
        ...(suppression && { suppressed: suppression.reason }),
      });
    }
  }
}

function truncateLocation(location: Location): Location {
  const { server = "", tool = "", skill = "", path = "" } = location;
  if (Math.max(server.length, tool.length, skill.length, path.length) <= maxText) return location;
  return {
    ...location,
    ...(location.server !== undefined && { server: truncate(server) }),
    ...(location.tool !== undefined && { tool: truncate(tool) }),
    ...(location.skill !== undefined && { skill: truncate(skill) }),
    path: truncate(path),
  };
}

function truncate(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText - 1)}…`;
}
