import type { Path } from "../jsonSchema/paths.ts";

/**
 * `breaking`: a call or a reader that was right before can now be wrong. `compatible`: none can. `description only`: a
 * model may choose otherwise, no call is affected. `unknown`: cannot be decided from the two lists.
 */
export type ChangeClass = "breaking" | "compatible" | "description only" | "unknown";

/** What happened; each rule of `rules/versioning.ts` is about one or two of them, some are no rule's business. */
type ChangeKind =
  | "tool-added"
  | "tool-removed"
  | "tool-renamed"
  | "tool-retired"
  | "deprecated"
  | "deprecated-early"
  | "successor-missing"
  | "parameter-added"
  | "parameter-removed"
  | "newly-required"
  | "no-default"
  | "default"
  | "default-added"
  | "narrowed"
  | "widened"
  | "unclear"
  | "meaning"
  | "wording"
  | "output"
  | "output-wider"
  | "annotation"
  | "annotation-safer";

/**
 * One difference between two lists. `path` starts with the name of the tool and leads into the newer list where the place
 * is still there, else into the older. `id` is that of the change of wording that `verdicts/changes.ts` lists for the same
 * place (`read_file`, `read_file.path:schema`, `read_file:removed`); several changes may share one. `what` and `fix` are
 * sentences; `fix` is absent where nothing is to be mended.
 */
export type Change = {
  id: string;
  tool: string;
  path: Path;
  kind: ChangeKind;
  class: ChangeClass;
  what: string;
  fix?: string;
};

const gravest: readonly ChangeClass[] = ["breaking", "unknown", "description only", "compatible"];

/** The class that says most of several changes: what may break comes before what does not. */
export function worst(classes: Iterable<ChangeClass>): ChangeClass | undefined {
  const all = new Set(classes);
  return gravest.find((one) => all.has(one));
}

/** Names that could be taken for a path are quoted, as `verdicts/changes.ts` does. */
export function segment(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** The names of the versions before and after a tool, by the suffix of its name: `search`, `search_v2`, `search_v3`. */
export function versionsOf(name: string): { before: string | undefined; next: string } {
  const [, base = name, suffix = "1"] = /^(.*)_v(\d{1,6})$/s.exec(name) ?? [];
  const version = Number(suffix);
  return {
    before: version < 2 ? undefined : version === 2 ? base : `${base}_v${version - 1}`,
    next: `${base}_v${version + 1}`,
  };
}
