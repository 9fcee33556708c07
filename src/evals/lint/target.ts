import type { LintSettings, Suppression, Where } from "../types/lint.ts";
import type {
  EvalsFileSubject,
  JudgedSubject,
  Path,
  RegistrationSubject,
  Rule,
  SkillSubject,
  SuiteSubject,
  ToolSubject,
  ToolsetSubject,
  VersionSubject,
} from "./rule.ts";

/** What can be linted, by the name that reports call it by. */
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
export type Kind = keyof Subjects;

/** The rules for each kind of subject. */
export type Families = { readonly [K in Kind]: readonly Rule<Subjects[K]>[] };

/** Settings of one file, or of the command line: its suppressions know their place. */
export type Settings = Pick<LintSettings, "severities"> & { readonly ignore?: readonly Suppression[] };

/** One thing to be linted, where its text lives, and what its author settled, the strongest settings first. */
export type TargetOf<K extends Kind> = {
  readonly kind: K;
  readonly subject: Subjects[K];
  /** The names of the tools, skills or entries in it, as a suppression may name them. */
  readonly names: readonly string[];
  readonly settings: readonly Settings[];
  where(path: Path): Where;
};
export type Target = { [K in Kind]: TargetOf<K> }[Kind];
