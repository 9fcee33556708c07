import { type SchemaPlace, type Walk, walkToolSchema } from "../jsonSchema/walk.ts";
import type { JsonObject, Path } from "../types/json.ts";
import type { LintSettings, Severity, Suppression, Where } from "../types/lint.ts";
import type { SkillEval, SkillPackage } from "../types/skill.ts";
import type { Suite } from "../types/suite.ts";

/** What a rule reports: where inside its subject, what is wrong, and how to fix it, in one sentence each. */
export type Violation = { at: Path; message: string; fix: string };

type RuleHead = {
  /** Stable, kebab-case, unique over all families. */
  readonly id: string;
  readonly severity: Severity;
  /** A convention of wording or form that breaks nothing: on in this profile only. */
  readonly profile?: "spec";
  /** One line: what goes wrong when the convention is broken. */
  readonly why: string;
  /** The source of the convention. */
  readonly docs: string;
  /** Each thing that the convention asks for, in a few words. The tests seed a violation of every one. */
  readonly clauses: readonly string[];
};

/**
 * One convention, and how to see that it is broken. Pure; `check` must not throw whatever the subject holds, and takes
 * time linear in its size.
 */
export type Rule<Subject> = RuleHead & { check(subject: Subject): Iterable<Violation> };

/** A rule of one condition at one place: `find` returns the message of the violation, if there is one. */
export type SimpleRule<Subject> = RuleHead & {
  readonly at: Path;
  readonly fix: string;
  find(subject: Subject): string | false | undefined;
};

/** A table of rules, simple ones among them, as a list of rules. */
export function defineRules<Subject>(
  table: readonly (Rule<Subject> | SimpleRule<Subject>)[],
): readonly Rule<Subject>[] {
  return table.map((row) => {
    if ("check" in row) return row;
    const { at, fix, find, ...head } = row;
    const check = (subject: Subject): Violation[] => {
      const message = find(subject);
      return message ? [{ at, message, fix }] : [];
    };
    return { ...head, check };
  });
}

/**
 * A tool as it is listed, unchecked: any field may be missing or of a wrong type. `siblings` are the names of the other
 * tools of the same list; `shownName` is the longest name that a known host shows it under.
 */
export type ToolSubject = { server: string; tool: JsonObject; siblings: Names; shownName: string };

/** Names, each once. */
type Names = Iterable<string> & { readonly size: number; has(name: string): boolean };

/**
 * A whole list, for what only shows between tools, and the instructions of its server. Paths start with the index of a
 * tool, or are `["instructions"]`.
 */
export type ToolsetSubject = { server: string; tools: readonly JsonObject[]; instructions?: string };

/** What a judge model says about one tool: a score (1 to 5) and its reason for each rule. Paths lead into the tool. */
export type JudgedSubject = { judge: string; grades: readonly { rule: string; score: number; reason: string }[] };

/**
 * Two states of a list, the older first. Paths start with the name of a tool and lead into the newer state where it
 * still has the place, otherwise into the older.
 */
export type VersionSubject = { before: readonly JsonObject[]; after: readonly JsonObject[] };

/**
 * A skill package, its files by path relative to its folder (content absent where it is binary or too large).
 * Paths: `["frontMatter", key]`, `["line", n]` for line n of SKILL.md, `["file", path]`.
 */
export type SkillSubject = {
  package: SkillPackage;
  files: ReadonlyMap<string, string | undefined>;
  /** Whether the package is a whole repository, whose folder has the name that its copy was given. */
  isRepository: boolean;
  /** What a path that leads out of the package leads to. `beyond`: out of the repository too, where nothing is opened. */
  outside: (path: string) => "file" | "missing" | "beyond";
  siblings: readonly { name: string; description: string }[];
};

/**
 * An eval file of a skill package: its raw content, and the queries read from it. `all` are the queries of every eval
 * file of the package. Paths lead into the raw content.
 */
export type EvalsFileSubject = { skill: string; raw: unknown; evals: readonly SkillEval[]; all: readonly SkillEval[] };

/**
 * A suite, for what its schema cannot express, and what its server lists, if it could be listed: the names of the tools,
 * and the tools themselves, unchecked. Paths: `["cases", index]`, or a key of the suite.
 */
export type SuiteSubject = { suite: Suite; tools?: readonly string[]; listed?: readonly JsonObject[] };

/** One entry of a host's configuration file, unchecked, and what pure code cannot know about its environment. */
export type RegistrationSubject = {
  name: string;
  entry: unknown;
  /** Whether a path is absolute on this system, and whether a file of that name exists. */
  absolute(path: string): boolean;
  exists(path: string): boolean;
  /** Whether an environment variable is set where the program runs, which is roughly where the host does. */
  isSet?(variable: string): boolean;
};

/** What can be linted, by the name that reports use. */
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

/** The rules for each kind of subject. */
export type Families = { readonly [K in SubjectKind]: readonly Rule<Subjects[K]>[] };

/** Settings of one file, or of the command line: its suppressions know their place. */
export type Settings = Pick<LintSettings, "severities" | "profile"> & { readonly ignore?: readonly Suppression[] };

/** One thing to lint, where its text is, and its author's settings, those with precedence first. */
export type LintSubjectOf<K extends SubjectKind> = {
  readonly kind: K;
  readonly subject: Subjects[K];
  /** The names of the tools, skills or entries in it, as a suppression may name them. */
  readonly names: readonly string[];
  readonly settings: readonly Settings[];
  where(path: Path): Where;
};
export type LintSubject = { [K in SubjectKind]: LintSubjectOf<K> }[SubjectKind];

/** A check of every schema in the inputSchema. */
export function inInput(check: (place: SchemaPlace) => Iterable<Violation>) {
  return ({ tool }: ToolSubject) => visit(walkToolSchema(tool, "inputSchema"), check);
}

/** A check of every schema in both schemas of a tool. */
export function inSchemas(check: (place: SchemaPlace) => Iterable<Violation>) {
  return ({ tool }: ToolSubject) => [
    ...visit(walkToolSchema(tool, "inputSchema"), check),
    ...visit(walkToolSchema(tool, "outputSchema"), check),
  ];
}

/** Returns a list: most places have no violation, and a generator for each costs more than the checks. */
function visit({ places }: Walk, check: (place: SchemaPlace) => Iterable<Violation>): Violation[] {
  const violations: Violation[] = [];
  for (const place of places) for (const one of check(place)) violations.push(one);
  return violations;
}
