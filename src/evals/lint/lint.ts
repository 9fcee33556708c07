import type { Finding, Level, LintReport, Severity, Suppression, Where } from "../types/lint.ts";
import type { Families, Kind, Rule, Settings, Subjects, Target, TargetOf } from "./rule.ts";

/** What linting came to: findings in the order of the targets, the suppressed ones among them. */
export type Linted = Pick<LintReport, "findings" | "unusedSuppressions" | "counts">;

/** What a report shows of one text at most: what is linted may be of any size. */
const mostSigns = 500;

/** Runs the rules of each target's kind on it. Linear in targets and rules; throws only what a rule throws. */
export function lint(targets: readonly Target[], families: Families): Linted {
  const findings: Finding[] = [];
  const linted: Record<string, number> = {};
  const tried = new Set<Suppression>();
  const used = new Set<Suppression>();
  const settled = settledRules(families);
  for (const target of targets) {
    linted[target.kind] = (linted[target.kind] ?? 0) + 1;
    lintTarget(target, settled(target), { findings, tried, used });
  }
  const count = (level: Level) => findings.filter((one) => !one.suppressed && one.severity === level).length;
  return {
    findings,
    unusedSuppressions: [...tried].filter((suppression) => !used.has(suppression)),
    counts: {
      error: count("error"),
      warning: count("warning"),
      info: count("info"),
      suppressed: findings.filter(({ suppressed }) => suppressed).length,
      linted,
    },
  };
}

type Tally = { findings: Finding[]; tried: Set<Suppression>; used: Set<Suppression> };

/** A rule that is on, with how it counts and what may suppress it. */
type Settled<Subject> = { rule: Rule<Subject>; severity: Severity; suppressions: readonly Suppression[] };

/** The rules of a target, settled once for all targets that share their settings. */
function settledRules(families: Families): <K extends Kind>(target: TargetOf<K>) => readonly Settled<Subjects[K]>[] {
  const known = new Map<unknown, { [K in Kind]?: readonly Settled<Subjects[K]>[] }>();
  return <K extends Kind>({ kind, settings }: TargetOf<K>) => {
    const byKind: { [L in K]?: readonly Settled<Subjects[L]>[] } = known.get(settings) ?? {};
    known.set(settings, byKind);
    byKind[kind] ??= families[kind].flatMap((rule) => {
      const severity = levelOf(rule, settings);
      const suppressions = settings.flatMap(({ ignore = [] }) => ignore.filter((one) => one.rule === rule.id));
      return severity === "off" ? [] : [{ rule, severity, suppressions }];
    });
    return byKind[kind];
  };
}

function lintTarget<K extends Kind>(
  target: TargetOf<K>,
  settled: readonly Settled<Subjects[K]>[],
  { findings, tried, used }: Tally,
): void {
  const { subject, names } = target;
  for (const { rule, severity, suppressions } of settled) {
    for (const one of suppressions)
      if (one.tool === undefined || names.some((name) => isMeant(one, name))) tried.add(one);
    for (const { at, message, fix } of rule.check(subject)) {
      const where = target.where(at);
      const suppression = suppressions.find((one) => isMeant(one, nameIn(where)));
      if (suppression) used.add(suppression);
      findings.push({
        rule: rule.id,
        severity,
        message: short(message),
        fix: short(fix),
        where: bounded(where),
        ...(suppression && { suppressed: suppression.reason }),
      });
    }
  }
}

/** What a suppression calls the thing that a finding is about. */
function nameIn({ tool, skill, server }: Where): string | undefined {
  return tool ?? skill ?? server;
}

function bounded(where: Where): Where {
  const { server = "", tool = "", skill = "", path } = where;
  if (Math.max(server.length, tool.length, skill.length, path.length) <= mostSigns) return where;
  return {
    ...where,
    ...(where.server !== undefined && { server: short(server) }),
    ...(where.tool !== undefined && { tool: short(tool) }),
    ...(where.skill !== undefined && { skill: short(skill) }),
    path: short(path),
  };
}

function short(text: string): string {
  return text.length <= mostSigns ? text : `${text.slice(0, mostSigns - 1)}…`;
}

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
