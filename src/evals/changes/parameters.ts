import { walkToolSchema } from "../jsonSchema/walk.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { showValue } from "../types/quote.ts";
import { type Change, type ChangeClass, segment, versionsOf } from "./change.ts";
import { otherMeaning } from "./meaning.ts";
import { type SchemaDifference, schemaDifferences, wholeSchema } from "./schemas.ts";
import type { Effect } from "./values.ts";

/** The two states of one tool. `successor`: a newer version of it that is listed now. */
export type ToolStates = { name: string; before: JsonObject; after: JsonObject; successor: string | undefined };
export type Said = Pick<Change, "kind" | "class" | "what" | "fix">;

/** A call may be given more values than before, but no fewer. */
const classOf: Readonly<Record<Effect, ChangeClass>> = {
  narrower: "breaking",
  other: "breaking",
  wider: "compatible",
  "perhaps narrower": "unknown",
  "perhaps wider": "compatible",
  unclear: "unknown",
};

/** What changed in the parameters of a tool, nested ones among them. */
export function* parameterChanges(states: ToolStates): Iterable<Change> {
  for (const difference of toolDifferences(states, "inputSchema")) {
    const { name, inside, at } = difference;
    const own = inside || name === "" ? ":schema" : "";
    const [place, aspect] =
      difference.kind === "removed" || difference.kind === "added"
        ? [inside ? name : `${name}.${segment(difference.property)}`, inside ? ":schema" : `:${difference.kind}`]
        : [name, difference.kind === "wording" && difference.keyword === "description" ? own : ":schema"];
    const id = `${segment(states.name)}${place}${aspect}`;
    yield { id, tool: states.name, path: [states.name, ...at], ...saidOf(difference, place, states) };
  }
}

/** The differences between two states of one of a tool's schemas. */
export function toolDifferences(
  { before, after }: Pick<ToolStates, "before" | "after">,
  field: "inputSchema" | "outputSchema",
): Iterable<SchemaDifference> {
  // The arguments of a call are an object, whether the schema says so or not.
  const whole = field === "inputSchema" ? { type: "object" } : {};
  const schemaOf = ({ [field]: schema = {} }: JsonObject) => (isJsonObject(schema) ? { ...whole, ...schema } : schema);
  const side = (tool: JsonObject) => ({ schema: schemaOf(tool), at: [field], walk: walkToolSchema(tool, field) });
  return schemaDifferences(side(before), side(after), wholeSchema());
}

function saidOf(difference: SchemaDifference, place: string, states: ToolStates): Said {
  const subject = place === "" ? segment(states.name) : `${segment(states.name)}${place}`;
  switch (difference.kind) {
    case "removed":
      return removed(subject, difference.renamed);
    case "added":
      return added(subject, difference);
    case "required":
      return required(difference.inside ? `${subject}: ${segment(difference.property)}` : subject, difference.now);
    case "default":
      return defaulted(subject, difference, states);
    case "values": {
      const decided = classOf[difference.effect];
      const kind = decided === "breaking" ? "narrowed" : decided === "unknown" ? "unclear" : "widened";
      const what = `${subject}: ${difference.what}.`;
      if (decided === "compatible") return { kind, class: decided, what };
      return { kind, class: decided, what, fix: mend(states, "Take what was taken before") };
    }
    case "wording":
      return worded(subject, difference, states);
  }
}

/** The remedy of SPEC.md for what cannot stay as it was: another tool, with the old one beside it for a time. */
function mend({ name }: ToolStates, keep: string): string {
  return `${keep}, or leave ${segment(name)} as it was and offer the change as ${versionsOf(name).next}.`;
}

function removed(subject: string, renamed: string | undefined): Said {
  const what = renamed === undefined ? `${subject} was removed.` : `${subject} was renamed to ${segment(renamed)}.`;
  const fix = `Keep taking it${renamed === undefined ? "" : " under its old name"}, and say in its description that it is deprecated.`;
  return { kind: "parameter-removed", class: "breaking", what, fix };
}

function added(
  subject: string,
  { required: must, hasDefault, renames }: Extract<SchemaDifference, { kind: "added" }>,
): Said {
  if (must) {
    const what = `${subject} is new and required: calls as they were made before now fail.`;
    return { kind: "newly-required", class: "breaking", what, fix: "Give it a default and take it out of required." };
  }
  const what = `${subject} is new${renames === undefined ? "" : `: it was ${segment(renames)}`}`;
  if (hasDefault) return { kind: "parameter-added", class: "compatible", what: `${what}, with a default.` };
  const fix = "Give it a default that keeps what the tool did before.";
  return { kind: "no-default", class: "unknown", what: `${what}, and has no default.`, fix };
}

function required(subject: string, now: boolean): Said {
  if (!now) return { kind: "widened", class: "compatible", what: `${subject} is no longer required.` };
  const fix = "Give it a default and take it out of required.";
  return { kind: "newly-required", class: "breaking", what: `${subject} is now required.`, fix };
}

type Default = Extract<SchemaDifference, { kind: "default" }>;

function defaulted(subject: string, { before, after, wasRequired }: Default, states: ToolStates): Said {
  const told = (value: Json) =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : showValue(value);
  const fix = mend(states, before === undefined ? "Make the default what was done without it" : "Keep the default");
  if (before !== undefined && after !== undefined) {
    const what = `The default of ${subject} was ${told(before)} and is ${told(after)}.`;
    return { kind: "default", class: "breaking", what, fix };
  }
  if (after === undefined) {
    const what = `${subject} no longer says its default${before === undefined ? "" : `, which was ${told(before)}`}.`;
    return { kind: "default", class: "unknown", what, fix };
  }
  const what = `${subject} now has the default ${told(after)}.`;
  return wasRequired
    ? { kind: "widened", class: "compatible", what }
    : { kind: "default-added", class: "unknown", what };
}

type Wording = Extract<SchemaDifference, { kind: "wording" }>;

function worded(subject: string, { keyword, before, after, inside, name }: Wording, states: ToolStates): Said {
  const plain =
    keyword === "description" && !inside && name !== "" && typeof before === "string" && typeof after === "string";
  const other = plain && states.successor === undefined ? otherMeaning(before, after) : undefined;
  if (other === undefined) {
    return { kind: "wording", class: "description only", what: `The ${keyword} of ${subject} was reworded.` };
  }
  const what = `${subject} seems to mean something else: ${other}.`;
  return { kind: "meaning", class: "unknown", what, fix: mend(states, "Describe it as what it was") };
}
