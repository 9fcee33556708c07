import type { Path } from "../../base/types/json.ts";
import { type ChangeClass, changeClassSchema } from "../../base/types/lint.ts";

/** What happened. Each versioning rule of lint covers one or two kinds; some kinds are never a problem. */
type EffectKind =
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

/** Kind, class and message of an effect; `fix` is absent if nothing has to be fixed. */
export type Impact = { kind: EffectKind; class: ChangeClass; what: string; fix?: string };

/**
 * One effect of a change on callers. `id` is that of the tool change (`read_file`, `read_file.path:schema`,
 * `read_file:removed`); a change may have several effects. `path` starts with the name of the tool, and leads into the
 * newer list if the place still exists, otherwise into the older one.
 */
export type ChangeEffect = { id: string; tool: string; path: Path } & Impact;

/** Sorts by tool, then by class. The result does not depend on the order of keys in the lists. */
export function sortEffects(effects: ChangeEffect[]): ChangeEffect[] {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  const rank = (effect: ChangeEffect) => changeClassSchema.options.indexOf(effect.class);
  return effects.sort(
    (a, b) =>
      order(a.tool, b.tool) ||
      rank(a) - rank(b) ||
      order(a.id, b.id) ||
      order(a.what, b.what) ||
      order(a.path.join("/"), b.path.join("/")),
  );
}

/** From most to least severe: a reworded description may cost accuracy, a compatible change does not. */
const bySeverity: readonly ChangeClass[] = ["breaking", "unknown", "description only", "compatible"];

/** The class of a change with these effects: the most severe of them. */
export function classifyEffects(effects: readonly ChangeEffect[]): ChangeClass {
  return bySeverity.find((one) => effects.some((effect) => effect.class === one)) ?? "description only";
}
