import { type SchemaLocation, type Walk, walkToolSchema } from "../../base/jsonSchema/walk.ts";
import { cut } from "../../base/text/text.ts";
import {
  type Finding,
  type FindingLocation,
  isSuppressing,
  type Level,
  readLevel,
  type Settings,
  type Severity,
  type Suppression,
} from "../../base/types/finding.ts";
import type { JsonObject, Path } from "../../base/types/json.ts";
import type { SkillEval, SkillPackage } from "../../base/types/skill.ts";
import type { Suite } from "../../base/types/suite.ts";

/** What a rule reports: the path inside its subject, what is wrong, and how to fix it, in one sentence each. */
export type Violation = { at: Path; message: string; fix: string };

export type RuleHead = {
  /** Stable, kebab-case, unique over all families. */
  readonly id: string;
  /** Default: warning. */
  readonly severity?: Severity;
  /** For a convention of wording or form that breaks nothing: the only profile in which the rule is on. */
  readonly profile?: "spec";
  /** One line: what goes wrong when the convention is broken. */
  readonly why: string;
  /** The source of the convention. Default: that of the table. */
  readonly docs?: string;
};

/** One convention and its check, which is pure, never throws, and takes time linear in the size of the subject. */
export type Rule<Subject> = Required<Pick<RuleHead, "severity" | "docs">> &
  RuleHead & { check(subject: Subject): readonly Violation[] };

/** What a check finds; its path and fix are those of the row, unless it has its own. */
export type Found = Pick<Violation, "message"> & Partial<Violation>;

/** A row of a table of rules. `find`: the message of the only violation that there can be. */
export type RuleRow<Subject> = RuleHead &
  Partial<Pick<Violation, "at" | "fix">> &
  ({ check(subject: Subject): Iterable<Found> } | { find(subject: Subject): string | false | undefined });

/** Turns a table into a list of rules. `docs`: the source of the rows that name none. */
export function defineRules<Subject>(docs: string, table: readonly RuleRow<Subject>[]): readonly Rule<Subject>[] {
  return table.map(({ at = [], fix = "", ...row }) => {
    const check = (subject: Subject): Violation[] => {
      if ("check" in row) return Array.from(row.check(subject), (found) => ({ at, fix, ...found }));
      const message = row.find(subject);
      return message ? [{ at, message, fix }] : [];
    };
    return { severity: "warning", docs, ...row, check };
  });
}

/**
 * A tool as listed, unvalidated: any field may be missing or of a wrong type. `names` are those of all tools of its
 * list; `shownName` is the longest name under which a known host shows it.
 */
export type ToolSubject = { server: string; tool: JsonObject; names: ReadonlySet<string>; shownName: string };

/** A whole tool list. Paths: `[index of a tool, ...]`, `["instructions"]`. */
export type ToolsetSubject = { server: string; tools: readonly JsonObject[]; instructions?: string };

/** The grades of a judge model for one tool: a score (1 to 5) and a reason for each rule. Paths lead into the tool. */
export type JudgedSubject = { judge: string; grades: readonly { rule: string; score: number; reason: string }[] };

/** Two states of a tool list. Paths start with the name of a tool, and lead into the newer state if possible. */
export type VersionSubject = { before: readonly JsonObject[]; after: readonly JsonObject[] };

/** A skill package, and its files by path. Paths: `["frontMatter", key]`, `["line", n]`, `["file", path]`. */
export type SkillSubject = {
  package: SkillPackage;
  files: ReadonlyMap<string, string | undefined>;
  /** Whether the package is a whole repository, whose folder name depends on the clone. */
  isRepository: boolean;
  siblings: readonly { name: string; description: string }[];
};

/**
 * An eval file: its raw content and its queries. `isTriggerFile`: by its name it says only for which queries the skill
 * must load. Paths lead into the raw content; `["evals", index]` is a query, wherever it stands.
 */
export type EvalsFileSubject = { raw: unknown; evals: readonly SkillEval[]; isTriggerFile: boolean };

/** A suite, and the tools of its server if they could be listed, unvalidated. Paths: `["cases", index]`, or a key. */
export type SuiteSubject = { suite: Suite; listed?: readonly JsonObject[] };

/** One entry of a host's configuration file, unvalidated, and functions for what depends on the environment. */
export type RegistrationSubject = {
  name: string;
  entry: unknown;
  /** Whether relative paths lead somewhere: from the `cwd` of the entry, or the project of a file like .mcp.json. */
  isFolderKnown: boolean;
  /** Whether a path is absolute on this system, and whether a file exists there. */
  absolute(path: string): boolean;
  exists(path: string): boolean;
  /** Whether an environment variable is set for this program, which is probably the same for the host. */
  isSet?(variable: string): boolean;
};

/** The kinds of subjects that can be linted, by their names in reports. */
export type Subjects = {
  tools: ToolSubject;
  toolsets: ToolsetSubject;
  "judged tools": JudgedSubject;
  suites: SuiteSubject;
  skills: SkillSubject;
  "eval files": EvalsFileSubject;
  "host entries": RegistrationSubject;
  versions: VersionSubject;
};
export type SubjectKind = keyof Subjects;

export type Families = { readonly [K in SubjectKind]: readonly Rule<Subjects[K]>[] };

/** One subject to lint, its settings, in order of precedence, and a function that locates a path in its source. */
export type LintSubjectOf<K extends SubjectKind> = {
  readonly kind: K;
  readonly subject: Subjects[K];
  /** The names of the tools, skills or entries in it, which suppressions can use. */
  readonly names: readonly string[];
  readonly settings: readonly Settings[];
  where(path: Path): FindingLocation;
};
export type LintSubject = { [K in SubjectKind]: LintSubjectOf<K> }[SubjectKind];

/** The length of the path of a parameter: inputSchema, properties, name. */
export const parameterDepth = 3;

/** Applies a check to every schema in the inputSchema of a tool. */
export function inInput(check: (location: SchemaLocation) => Iterable<Found>) {
  return ({ tool }: ToolSubject) => visit(walkToolSchema(tool, "inputSchema"), check);
}

/** The same for the parameters themselves: the properties at the top of the inputSchema, by their names. */
export function inParameters(check: (name: string, location: SchemaLocation) => Iterable<Found>) {
  return inInput((location) =>
    location.role === "property" && location.at.length === parameterDepth ? check(location.name, location) : [],
  );
}

/** Applies a check to every schema in the inputSchema and the outputSchema of a tool. */
export function inSchemas(check: (location: SchemaLocation) => Iterable<Found>) {
  return ({ tool }: ToolSubject) => [
    ...visit(walkToolSchema(tool, "inputSchema"), check),
    ...visit(walkToolSchema(tool, "outputSchema"), check),
  ];
}

/** Not a generator: most places have no violation, and a generator for each takes longer than the checks. */
function visit(walk: Walk, check: (location: SchemaLocation) => Iterable<Found>): Found[] {
  const violations: Found[] = [];
  for (const location of walk) for (const one of check(location)) violations.push(one);
  return violations;
}

/** The maximum length of one text in a report, because linted texts may have any size. */
const maxText = 500;

/** Runs the rules of its kind on each target, in time linear in both. Findings are in the order of the targets. */
export function runRules(targets: readonly LintSubject[], families: Families) {
  const findings: Finding[] = [];
  const linted: Record<string, number> = {};
  const applicable = new Set<Suppression>();
  const used = new Set<Suppression>();
  for (const target of targets) {
    linted[target.kind] = (linted[target.kind] ?? 0) + 1;
    lintTarget(target, families, { findings, applicable, used });
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

function lintTarget<K extends SubjectKind>(target: LintSubjectOf<K>, families: Families, tally: Tally): void {
  const { findings, applicable, used } = tally;
  const { subject, names, settings } = target;
  const rules: readonly Rule<Subjects[K]>[] = families[target.kind];
  for (const rule of rules) {
    const severity = readLevel(rule, settings);
    if (severity === "off") continue;
    const suppressions = settings.flatMap(({ ignore = [] }) => ignore.filter((one) => one.rule === rule.id));
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
        message: cut(message, maxText),
        fix: cut(fix, maxText),
        location: cutLocation(location),
        ...(suppression && { suppressed: suppression.reason }),
      });
    }
  }
}

function cutLocation(location: FindingLocation): FindingLocation {
  const own = ["server", "tool", "skill", "path"] as const;
  const texts = own.flatMap((key) =>
    location[key] === undefined ? [] : [[key, cut(location[key], maxText)] as const],
  );
  return { ...location, ...Object.fromEntries(texts) };
}
