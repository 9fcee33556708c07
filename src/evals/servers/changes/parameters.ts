import { type SchemaField, walkToolSchema } from "../../base/jsonSchema/walk.ts";
import { stemWords } from "../../base/search/document.ts";
import { measureSimilarity, weighWords } from "../../base/search/similarity.ts";
import { byCodeUnit, showValue } from "../../base/text/text.ts";
import { type ChangeClass, changeClassSchema } from "../../base/types/finding.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { formatName, listVersions } from "./names.ts";
import { diffWholeSchemas, type SchemaDifference } from "./schemas.ts";

type DeprecationKind = "tool-retired" | "deprecated" | "deprecated-early" | "successor-missing";
type ToolKind = "tool-added" | "tool-removed" | "tool-renamed" | "annotation" | "annotation-safer" | "wording";
type ParameterKind = "parameter-added" | "parameter-removed" | "newly-required" | "no-default" | "default" | "meaning";
type ValueKind = "default-added" | "narrowed" | "widened" | "unclear" | "output" | "output-wider";
/** What happened. Each versioning rule of lint covers one or two kinds; some kinds are never a problem. */
type EffectKind = DeprecationKind | ToolKind | ParameterKind | ValueKind;

/** Kind, class and message of an effect; `fix` is absent if nothing has to be fixed. */
export type Impact = { kind: EffectKind; class: ChangeClass; what: string; fix?: string };

/**
 * One effect of a change on callers. `id` is that of the tool change (`read_file`, `read_file.path:schema`,
 * `read_file:removed`), or leads into the schema that it changes; a change may have several effects. `path` starts with
 * the name of the tool, and leads into the newer list if the place still exists, otherwise into the older one.
 */
export type ChangeEffect = { id: string; tool: string; path: Path } & Impact;

/** Sorts by tool, then by class, without repetitions. The result does not depend on the order of keys in the lists. */
export function sortEffects(effects: ChangeEffect[]): ChangeEffect[] {
  const rank = (effect: ChangeEffect) => changeClassSchema.options.indexOf(effect.class);
  const key = (one: ChangeEffect) => [one.tool, rank(one), one.id, one.what, ...one.path].join("\0");
  const sorted = effects.sort((a, b) => byCodeUnit(key(a), key(b)));
  return sorted.filter(({ id, what }, at) => id !== sorted[at - 1]?.id || what !== sorted[at - 1]?.what);
}

/** From most to least severe: a reworded description may cost accuracy, a compatible change does not. */
const bySeverity: readonly ChangeClass[] = ["breaking", "unknown", "description only", "compatible"];

/** The class of a change with these effects: the most severe of them. */
export function classifyEffects(effects: readonly ChangeEffect[]): ChangeClass {
  return bySeverity.find((one) => effects.some((effect) => effect.class === one)) ?? "description only";
}

/** A tool before and after the change. `successor`: a newer version of it that is listed now. */
type ToolStates = { name: string; before: JsonObject; after: JsonObject; successor: string | undefined };

/** Lists the effects of changes in the parameters of a tool, including nested ones, and in its structured result. */
export function* listSchemaEffects(states: ToolStates): Iterable<ChangeEffect> {
  const { name: tool, before, after } = states;
  const shown = formatName(tool);
  for (const difference of diffToolSchemas(states, "inputSchema")) {
    const { kind, name, at } = difference;
    const isDescription = kind === "wording" && difference.keyword === "description" && name !== "";
    const aspect = kind === "removed" || kind === "added" ? `:${kind}` : isDescription ? "" : ":schema";
    const impact = classifyInput(difference, `${shown}${name}`, states);
    yield { id: `${shown}${name}${aspect}`, tool, path: [tool, ...at], ...impact };
  }
  const id = `${shown}:outputSchema`;
  const [had, has] = [before.outputSchema !== undefined, after.outputSchema !== undefined];
  if (had !== has) {
    const what = `${shown} ${has ? "now has an" : "no longer has an"} outputSchema.`;
    const fix = "Keep the outputSchema: clients read the result by it.";
    const impact = has ? wider(what) : changed(what, "breaking", fix);
    yield { id, tool, path: has ? [tool, "outputSchema"] : [tool], ...impact };
  }
  if (!had || !has) return;
  for (const difference of diffToolSchemas(states, "outputSchema")) {
    const impact = classifyOutput(difference, `${shown} result${difference.name}`);
    yield { id, tool, path: [tool, ...difference.at], ...impact };
  }
}

function diffToolSchemas({ before, after }: ToolStates, field: SchemaField): Iterable<SchemaDifference> {
  const enter = (tool: JsonObject) => {
    const { [field]: schema = {} } = tool;
    // The arguments of a call are always an object, even if the schema does not say so.
    const whole = field === "inputSchema" && isJsonObject(schema) ? { type: "object", ...schema } : schema;
    return { schema: whole, at: [field], walk: walkToolSchema(tool, field) };
  };
  return diffWholeSchemas(enter(before), enter(after));
}

/** The fix for a change that cannot be avoided: offer it as a new tool, next to the old one. */
function suggestVersion({ name }: ToolStates, keep: string): string {
  return `${keep}, or keep ${formatName(name)} unchanged and offer the change as ${listVersions(name).next}.`;
}

function classifyInput(difference: SchemaDifference, subject: string, states: ToolStates): Impact {
  const makeOptional = "Give it a default and remove it from required.";
  switch (difference.kind) {
    case "removed": {
      const to = difference.renamed;
      const [change, old] = to === undefined ? ["removed", "it"] : [`renamed to ${formatName(to)}`, "its old name"];
      const fix = `Keep accepting ${old}, and say in its description that it is deprecated.`;
      return { kind: "parameter-removed", class: "breaking", what: `${subject} was ${change}.`, fix };
    }
    case "added": {
      const { isRequired, hasDefault, renames } = difference;
      const failing = `${subject} is new and required: calls that were valid before now fail.`;
      if (isRequired) return { kind: "newly-required", class: "breaking", what: failing, fix: makeOptional };
      const what = `${subject} is new${renames === undefined ? "" : ` (formerly ${formatName(renames)})`} and has`;
      if (hasDefault) return { kind: "parameter-added", class: "compatible", what: `${what} a default.` };
      const fix = "Give it a default that keeps the previous behavior.";
      return { kind: "no-default", class: "unknown", what: `${what} no default.`, fix };
    }
    case "required":
      return difference.isRequired
        ? { kind: "newly-required", class: "breaking", what: `${subject} is now required.`, fix: makeOptional }
        : { kind: "widened", class: "compatible", what: `${subject} is no longer required.` };
    case "default": {
      const [was, is] = [difference.before, difference.after].map(showDefault);
      const fix = suggestVersion(states, "Keep the default");
      const changed = `The default of ${subject} changed from ${was} to ${is}.`;
      if (was !== undefined && is !== undefined) return { kind: "default", class: "breaking", what: changed, fix };
      const gone = `${subject} no longer has a default (it was ${was}).`;
      if (was !== undefined) return { kind: "default", class: "unknown", what: gone, fix };
      const what = `${subject} now has the default ${is}.`;
      if (difference.wasRequired) return { kind: "widened", class: "compatible", what };
      return { kind: "default-added", class: "unknown", what };
    }
    case "values": {
      const { lost: known } = difference;
      const what = `${subject}: ${difference.what}.`;
      if (known === "compatible") return { kind: "widened", class: known, what };
      const kind = known === "breaking" ? "narrowed" : "unclear";
      return { kind, class: known, what, fix: suggestVersion(states, "Accept what was accepted before") };
    }
    case "wording": {
      const { keyword, before, after, name } = difference;
      const isMeaning = keyword === "description" && name !== "" && states.successor === undefined;
      const reason = isMeaning ? explainNewMeaning(before, after) : undefined;
      if (reason === undefined) return reworded(keyword, subject);
      const what = `${subject} seems to mean something else: ${reason}.`;
      return { kind: "meaning", class: "unknown", what, fix: suggestVersion(states, "Describe it as what it was") };
    }
  }
}

const showDefault = (value: Json | undefined) =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value === undefined ? value : showValue(value);

const reworded = (keyword: string, subject: string): Impact => {
  return { kind: "wording", class: "description only", what: `The ${keyword} of ${subject} was reworded.` };
};

/**
 * Descriptions with a lower similarity mean something else. Measured on the tools of the Berkeley leaderboard: 2% of
 * 611 pairs of descriptions of the same parameter by different authors are below it, and 60% of 1,793 pairs of
 * descriptions of two parameters of the same tool. So most findings are real changes of meaning, but not every change
 * is found.
 */
const minSimilarity = 0.2;

/** Replacing one of these words by another changes what a value means, however similar the rest is. */
const unitWords = new Set(
  stemWords(
    `nanoseconds microseconds milliseconds seconds minutes hours days weeks months years ns ms sec secs min mins bits bytes
    kilobytes megabytes gigabytes kb mb gb kib mib gib millimetres centimetres metres kilometres millimeters centimeters
    meters kilometers inches feet yards miles km cm grams kilograms pounds ounces kg lb celsius fahrenheit kelvin degrees
    radians percent fraction cents dollars euros usd eur utc local absolute relative inclusive exclusive ascending
    descending`,
  ),
);

/** Why a description seems to mean something else than before; undefined if it seems to mean the same. A heuristic. */
function explainNewMeaning(before?: Json, after?: Json): string | undefined {
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  const [old, current] = [new Set(stemWords(before)), new Set(stemWords(after))];
  const hasUnitNotIn = (one: Set<string>, other: Set<string>) =>
    [...one].some((word) => unitWords.has(word) && !other.has(word));
  if (hasUnitNotIn(old, current) && hasUnitNotIn(current, old)) return "its unit or range changed";
  const [a, b] = weighWords([{ description: before }, { description: after }]);
  if (old.size === 0 || current.size === 0 || !a || !b || measureSimilarity(a, b) >= minSimilarity) return undefined;
  return "its description shares hardly a word with the old one";
}

const wider = (what: string): Impact => ({ kind: "output-wider", class: "compatible", what });
const changed = (what: string, known: ChangeClass, fix: string): Impact => {
  return { kind: "output", class: known, what, fix };
};

/**
 * Classifies a difference in a structured result. A new field is compatible even if the old schema accepted no other
 * fields, as generated schemas do: readers read the fields they know.
 */
function classifyOutput(difference: SchemaDifference, subject: string): Impact {
  switch (difference.kind) {
    case "removed":
      return changed(`${subject} was removed.`, "breaking", "Keep the field, or offer the new result as a new tool.");
    case "added":
      return wider(`${subject} is new.`);
    case "required":
      if (difference.isRequired) return wider(`${subject} is now always present.`);
      return changed(`${subject} is no longer always present.`, "breaking", "Include it in every result.");
    case "values": {
      const what = `${subject}: ${difference.what}.`;
      if (difference.gained === "compatible") return wider(what);
      return changed(what, difference.gained, "Return only values that a reader of the old schema expects.");
    }
    case "default":
      return { ...reworded("default", subject), what: `The default of ${subject} changed.` };
    case "wording":
      return reworded(difference.keyword, subject);
  }
}
