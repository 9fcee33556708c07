import { type SchemaField, walkToolSchema } from "../../base/jsonSchema/walk.ts";
import { stemWords } from "../../base/search/document.ts";
import { measureSimilarity, weighWords } from "../../base/search/similarity.ts";
import { showValue } from "../../base/text/text.ts";
import { type ChangeClass, changeClassSchema } from "../../base/types/finding.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { formatName, listVersions } from "./names.ts";
import { type Chance, diffWholeSchemas, type SchemaDifference } from "./schemas.ts";

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

/** A tool before and after the change. `successor`: a newer version of it that is listed now. */
type ToolStates = { name: string; before: JsonObject; after: JsonObject; successor: string | undefined };

/** Lists the effects of changes in the parameters of a tool, including nested ones, and in its structured result. */
export function* listSchemaEffects(states: ToolStates): Iterable<ChangeEffect> {
  const { name: tool, before, after } = states;
  for (const difference of diffToolSchemas(states, "inputSchema")) {
    const { name, inside, at } = difference;
    const own = inside || name === "" ? ":schema" : "";
    const [location, aspect] =
      difference.kind === "removed" || difference.kind === "added"
        ? [inside ? name : `${name}.${formatName(difference.property)}`, inside ? ":schema" : `:${difference.kind}`]
        : [name, difference.kind === "wording" && difference.keyword === "description" ? own : ":schema"];
    const id = `${formatName(tool)}${location}${aspect}`;
    yield { id, tool, path: [tool, ...at], ...classifyInput(difference, `${formatName(tool)}${location}`, states) };
  }
  const id = `${formatName(tool)}:outputSchema`;
  const [had, has] = [before.outputSchema !== undefined, after.outputSchema !== undefined];
  if (had !== has) {
    const what = `${formatName(tool)} ${has ? "now has an" : "no longer has an"} outputSchema.`;
    const impact: Impact = has
      ? { kind: "output-wider", class: "compatible", what }
      : { kind: "output", class: "breaking", what, fix: "Keep the outputSchema: clients read the result by it." };
    yield { id, tool, path: has ? [tool, "outputSchema"] : [tool], ...impact };
  }
  if (!had || !has) return;
  for (const difference of diffToolSchemas(states, "outputSchema")) {
    const impact = classifyOutput(difference, `${formatName(tool)} result${difference.name}`);
    yield { id, tool, path: [tool, ...difference.at], ...impact };
  }
}

function diffToolSchemas({ before, after }: ToolStates, field: SchemaField): Iterable<SchemaDifference> {
  // The arguments of a call are always an object, even if the schema does not say so.
  const whole = field === "inputSchema" ? { type: "object" } : {};
  const readSchema = ({ [field]: schema = {} }: JsonObject) =>
    isJsonObject(schema) ? { ...whole, ...schema } : schema;
  const side = (tool: JsonObject) => ({ schema: readSchema(tool), at: [field], walk: walkToolSchema(tool, field) });
  return diffWholeSchemas(side(before), side(after));
}

/**
 * The class of a change by its harm: a parameter may accept more values than before, but not fewer. A result may have
 * fewer possible values, but not more, because its readers expect the old ones.
 */
const classByHarm: Readonly<Record<Chance, ChangeClass>> = { yes: "breaking", perhaps: "unknown", no: "compatible" };

function classifyInput(difference: SchemaDifference, subject: string, states: ToolStates): Impact {
  switch (difference.kind) {
    case "removed": {
      const to = difference.renamed;
      const what = to === undefined ? `${subject} was removed.` : `${subject} was renamed to ${formatName(to)}.`;
      const keep = to === undefined ? "Keep accepting it" : "Keep accepting its old name";
      const fix = `${keep}, and say in its description that it is deprecated.`;
      return { kind: "parameter-removed", class: "breaking", what, fix };
    }
    case "added":
      return classifyAdded(subject, difference);
    case "required": {
      const name = difference.inside ? `${subject}: ${formatName(difference.property)}` : subject;
      if (!difference.now) return { kind: "widened", class: "compatible", what: `${name} is no longer required.` };
      return { kind: "newly-required", class: "breaking", what: `${name} is now required.`, fix: makeOptional };
    }
    case "default":
      return classifyDefault(subject, difference, states);
    case "values": {
      const known = classByHarm[difference.lost];
      const what = `${subject}: ${difference.what}.`;
      if (known === "compatible") return { kind: "widened", class: known, what };
      const kind = known === "breaking" ? "narrowed" : "unclear";
      return { kind, class: known, what, fix: suggestVersion(states, "Accept what was accepted before") };
    }
    case "wording":
      return classifyWording(subject, difference, states);
  }
}

const makeOptional = "Give it a default and remove it from required.";

/** The fix for a change that cannot be avoided: offer it as a new tool, next to the old one. */
function suggestVersion({ name }: ToolStates, keep: string): string {
  return `${keep}, or keep ${formatName(name)} unchanged and offer the change as ${listVersions(name).next}.`;
}

function classifyAdded(
  subject: string,
  { required, hasDefault, renames }: Extract<SchemaDifference, { kind: "added" }>,
): Impact {
  if (required) {
    const what = `${subject} is new and required: calls that were valid before now fail.`;
    return { kind: "newly-required", class: "breaking", what, fix: makeOptional };
  }
  const what = `${subject} is new${renames === undefined ? "" : ` (formerly ${formatName(renames)})`}`;
  if (hasDefault) return { kind: "parameter-added", class: "compatible", what: `${what} and has a default.` };
  const fix = "Give it a default that keeps the previous behavior.";
  return { kind: "no-default", class: "unknown", what: `${what} and has no default.`, fix };
}

function classifyDefault(
  subject: string,
  { before, after, wasRequired }: Extract<SchemaDifference, { kind: "default" }>,
  states: ToolStates,
): Impact {
  const show = (value: Json) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : showValue(value);
  const keep = before === undefined ? "Make the default what was done without it" : "Keep the default";
  const fix = suggestVersion(states, keep);
  if (before !== undefined && after !== undefined) {
    const what = `The default of ${subject} changed from ${show(before)} to ${show(after)}.`;
    return { kind: "default", class: "breaking", what, fix };
  }
  if (after === undefined) {
    const what = `${subject} no longer has a default${before === undefined ? "" : ` (it was ${show(before)})`}.`;
    return { kind: "default", class: "unknown", what, fix };
  }
  const what = `${subject} now has the default ${show(after)}.`;
  return wasRequired
    ? { kind: "widened", class: "compatible", what }
    : { kind: "default-added", class: "unknown", what };
}

function classifyWording(
  subject: string,
  { keyword, before, after, inside, name }: Extract<SchemaDifference, { kind: "wording" }>,
  states: ToolStates,
): Impact {
  const isParameter = keyword === "description" && !inside && name !== "";
  if (isParameter && typeof before === "string" && typeof after === "string" && states.successor === undefined) {
    const reason = explainNewMeaning(before, after);
    const what = `${subject} seems to mean something else: ${reason}.`;
    if (reason !== undefined)
      return { kind: "meaning", class: "unknown", what, fix: suggestVersion(states, "Describe it as what it was") };
  }
  return { kind: "wording", class: "description only", what: `The ${keyword} of ${subject} was reworded.` };
}

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
function explainNewMeaning(before: string, after: string): string | undefined {
  const [old, current] = [new Set(stemWords(before)), new Set(stemWords(after))];
  const hasUnitNotIn = (one: Set<string>, other: Set<string>) =>
    [...one].some((word) => unitWords.has(word) && !other.has(word));
  if (hasUnitNotIn(old, current) && hasUnitNotIn(current, old)) return "its unit or range changed";
  const [a, b] = weighWords([{ description: before }, { description: after }]);
  if (old.size === 0 || current.size === 0 || !a || !b || measureSimilarity(a, b) >= minSimilarity) return undefined;
  return "its description shares hardly a word with the old one";
}

/**
 * Classifies a difference in a structured result. A new field is compatible even if the old schema accepted no other
 * fields, as generated schemas do: readers read the fields they know.
 */
function classifyOutput(difference: SchemaDifference, subject: string): Impact {
  const wider = (what: string): Impact => ({ kind: "output-wider", class: "compatible", what });
  const wording = (what: string): Impact => ({ kind: "wording", class: "description only", what });
  switch (difference.kind) {
    case "removed": {
      const what = `${subject}.${formatName(difference.property)} was removed.`;
      return { kind: "output", class: "breaking", what, fix: "Keep the field, or offer the new result as a new tool." };
    }
    case "added":
      return wider(`${subject}.${formatName(difference.property)} is new.`);
    case "required": {
      const { now, inside, property } = difference;
      const field = inside ? `${subject}: ${formatName(property)}` : subject;
      if (now) return wider(`${field} is now always present.`);
      const what = `${field} is no longer always present.`;
      return { kind: "output", class: "breaking", what, fix: "Include it in every result." };
    }
    case "values": {
      const known = classByHarm[difference.gained];
      const what = `${subject}: ${difference.what}.`;
      if (known === "compatible") return wider(what);
      return { kind: "output", class: known, what, fix: "Return only values that a reader of the old schema expects." };
    }
    case "default":
      return wording(`The default of ${subject} changed.`);
    case "wording":
      return wording(`The ${difference.keyword} of ${subject} was reworded.`);
  }
}
