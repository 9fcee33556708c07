import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import type { Tool } from "../types/tool.ts";
import { findRenamedTools, formatName, indexByName } from "./names.ts";

/**
 * One edit of a tool list. `id` is unique in the list of edits and the same for the same edit (`read_file`: its
 * description, `read_file.path`: that of a parameter, `read_file.path:schema`, `read_file:added`); `label` is for reports.
 * `before` and `after` are the wording, or JSON where it is not text; absent where there is none.
 */
export type ToolEdit = { id: string; label: string; tool: string; before?: string; after?: string } & (
  | { kind: "added" | "removed" | "description" | "title" | "schema" | "outputSchema" | "annotations" | "other" }
  /** The same description and schema under another name: a heuristic. `tool` is the old name. */
  | { kind: "renamed"; to: string }
  /** `parameter` is a path: `filter.tags[].name`. A parameter that became required has another schema. */
  | { kind: "parameter"; parameter: string; what: "added" | "removed" | "description" | "schema" }
);

/** The edits that turn `base` into `head`, sorted by tool, new tools last. */
export function findEdits(base: readonly Tool[], head: readonly Tool[]): ToolEdit[] {
  const edits: ToolEdit[] = [];
  mixLists(base.toSorted(byName), head, (edit) => {
    edits.push(edit);
    return false;
  });
  return edits;
}

/**
 * The base list with only the changes of these ids in their new form. None gives the tools of `base`, all of them give
 * the tools of `head`. New tools stand last.
 */
export function applyChanges<T extends Tool>(base: readonly T[], head: readonly T[], ids: ReadonlySet<string>): T[] {
  return mixLists(base, head, ({ id }) => ids.has(id));
}

/** Called once for every edit; true applies it. So what is listed is exactly what can be applied. */
type Choose = (edit: ToolEdit) => boolean;

function mixLists<T extends Tool>(base: readonly T[], head: readonly T[], choose: Choose): T[] {
  const now = new Map(head.map((tool) => [tool.name, tool]));
  const then = new Set(base.map(({ name }) => name));
  const added = head.filter(({ name }) => !then.has(name)).sort(byName);
  const removed = base.filter(({ name }) => !now.has(name)).sort(byName);
  const renamed = findRenamedTools(
    indexByName(removed as readonly JsonObject[]),
    indexByName(added as readonly JsonObject[]),
  );
  const kept = base.flatMap((tool) => {
    const current = now.get(tool.name);
    if (current) return [mixTool(tool, current, choose)];
    const successor = now.get(renamed.get(tool.name) ?? "");
    if (successor) return [choose(makeRenaming(tool, successor)) ? successor : tool];
    return choose(editTool("removed", tool)) ? [] : [tool];
  });
  const successors = new Set(renamed.values());
  return [...kept, ...added.filter((tool) => !successors.has(tool.name) && choose(editTool("added", tool)))];
}

const makeRenaming = ({ name }: Tool, successor: Tool): ToolEdit => ({
  kind: "renamed",
  id: `${formatName(name)}:renamed`,
  label: `${formatName(name)}: renamed to ${formatName(successor.name)}`,
  tool: name,
  to: successor.name,
});

function editTool(kind: "added" | "removed", { name, description }: Tool): ToolEdit {
  const [id, label] = [
    `${formatName(name)}:${kind}`,
    `${formatName(name)}: ${kind === "added" ? "new" : "removed"} tool`,
  ];
  return { kind, id, label, tool: name, ...(kind === "added" ? texts(undefined, description) : texts(description)) };
}

const fields = ["description", "title", "annotations", "outputSchema"] as const;

function mixTool<T extends Tool>(base: T, head: T, choose: Choose): T {
  let asked = 0;
  let taken = 0;
  const counted: Choose = (change) => {
    const yes = choose(change);
    asked++;
    if (yes) taken++;
    return yes;
  };
  const describe = (kind: (typeof fields)[number] | "other", before: unknown, after: unknown): ToolEdit => {
    const id = formatName(base.name) + (kind === "description" ? "" : `:${kind}`);
    return { kind, id, label: `${formatName(base.name)}: ${kind}`, tool: base.name, ...texts(before, after) };
  };
  const changed = fields.filter(
    (field) => !same(base[field], head[field]) && counted(describe(field, base[field], head[field])),
  );
  const [before, after] = [optional(base.inputSchema), optional(head.inputSchema)];
  const { schema } = mixParameter({ tool: base.name, path: "" }, before, after, counted);
  // What no change names, such as the order of `required`, goes with the last of the tool's changes, or is one itself.
  if (asked === 0 && !same(base, head)) counted(describe("other", differing(base, head), differing(head, base)));
  if (taken === 0) return base;
  return taken === asked ? head : withKeys(base, { ...head, inputSchema: schema }, [...changed, "inputSchema"]);
}

/** `base` with these keys as they are in `head`, absent where they are absent there. */
function withKeys<T extends object>(base: T, head: object, keys: readonly string[]): T {
  const kept = Object.entries(base).filter(([key]) => !keys.includes(key));
  return Object.fromEntries([...kept, ...Object.entries(head).filter(([key]) => keys.includes(key))]) as T;
}

/** The members of an object that another does not have, or not as they are here. */
function differing(one: object, other: object): object {
  const there = new Map<string, unknown>(Object.entries(other));
  return Object.fromEntries(Object.entries(one).filter(([key, value]) => !same(value, there.get(key))));
}

/** The schema of a parameter, of the items of one, or (where `path` is empty) of all arguments together. */
type Parameter = { schema: Json; required: boolean };
type Spot = { tool: string; path: string };
const optional = (schema: Json): Parameter => ({ schema, required: false });

function mixParameter(spot: Spot, base: Parameter, head: Parameter, choose: Choose): Parameter {
  const [then, now] = [base.schema, head.schema];
  if (!isJsonObject(then) || !isJsonObject(now)) {
    return !same(base, head) && choose(editParameter(spot, "schema", shown(base), shown(head))) ? head : base;
  }
  // At the root the description says no more than the tool's own, and is part of the schema.
  const described = spot.path !== "" && !same(then.description, now.description);
  const { description } =
    described && choose(editParameter(spot, "description", then.description, now.description)) ? now : then;
  const parameters = mixProperties(spot, then, now, choose);
  const before = { schema: ownPart(spot, then, now), required: base.required };
  const after = { schema: ownPart(spot, now, then), required: head.required };
  const changed = !same(before, after) && choose(editParameter(spot, "schema", shown(before), shown(after)));
  const own = changed ? after : before;
  const items = mixItems(spot, then, now, choose);
  const required = [
    ...[...parameters].flatMap(([name, parameter]) => (parameter.required ? [name] : [])),
    ...(Array.isArray(own.schema.required) ? own.schema.required : []),
  ];
  const properties = Object.fromEntries([...parameters].map(([name, { schema }]) => [name, schema]));
  const schema: JsonObject = {
    ...own.schema,
    ...(spot.path !== "" && description !== undefined && { description }),
    ...((parameters.size > 0 || isJsonObject(then.properties)) && { properties }),
    ...(items !== undefined && { items }),
    ...(required.length > 0 && { required }),
  };
  return { schema, required: own.required };
}

function mixProperties({ tool, path }: Spot, then: JsonObject, now: JsonObject, choose: Choose) {
  const [base, head] = [parametersOf(then), parametersOf(now)];
  const mixed = new Map<string, Parameter>();
  for (const name of new Set([...base.keys(), ...head.keys()])) {
    const spot = { tool, path: `${path}.${formatName(name)}` };
    const [before, after] = [base.get(name), head.get(name)];
    const whole = () =>
      choose(editParameter(spot, before ? "removed" : "added", before && shown(before), after && shown(after)));
    const one = before && after ? mixParameter(spot, before, after, choose) : whole() ? after : before;
    if (one) mixed.set(name, one);
  }
  return mixed;
}

function mixItems({ tool, path }: Spot, then: JsonObject, now: JsonObject, choose: Choose): Json | undefined {
  const [base, head] = [then.items, now.items];
  if (!isJsonObject(base) || !isJsonObject(head)) return undefined;
  return mixParameter({ tool, path: `${path}[]` }, optional(base), optional(head), choose).schema;
}

function parametersOf({ properties, required }: JsonObject): Map<string, Parameter> {
  const names = new Set(Array.isArray(required) ? required : []);
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return new Map(entries.map(([name, schema]) => [name, { schema, required: names.has(name) }]));
}

/** A schema without what is looked at by itself: description, parameters and which of them are required, items. */
function ownPart(spot: Spot, schema: JsonObject, other: JsonObject): JsonObject {
  const named = new Set<Json>([...parametersOf(schema).keys(), ...parametersOf(other).keys()]);
  const entries = Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
    if (key === "description" && spot.path !== "") return [];
    if (key === "properties" && isJsonObject(value)) return [];
    if (key === "items" && isJsonObject(value) && isJsonObject(other.items)) return [];
    if (key !== "required" || !Array.isArray(value)) return [[key, value]];
    const unknown = value.filter((name) => !named.has(name));
    return unknown.length > 0 ? [[key, unknown]] : [];
  });
  return Object.fromEntries(entries);
}

const parameterLabels = {
  added: "new parameter",
  removed: "removed parameter",
  description: "description",
  schema: "schema",
};

function editParameter(
  { tool, path }: Spot,
  what: keyof typeof parameterLabels,
  before?: Json,
  after?: Json,
): ToolEdit {
  const name = formatName(tool) + path;
  const id = what === "description" ? name : `${name}:${what}`;
  const common = { id, label: `${name}: ${parameterLabels[what]}`, tool, ...texts(before, after) };
  return path === ""
    ? { kind: "schema", ...common }
    : { kind: "parameter", parameter: path.replace(/^\./, ""), what, ...common };
}

const shown = ({ schema, required }: Parameter) => `${textOf(schema)}${required ? " required" : ""}`;

function texts(before?: unknown, after?: unknown): { before?: string; after?: string } {
  const text = (value: unknown) => (typeof value === "string" ? value : textOf(value));
  return { ...(before !== undefined && { before: text(before) }), ...(after !== undefined && { after: text(after) }) };
}

/** Everything in a tool is JSON; members that are undefined are left out. */
const textOf = (value: unknown) => canonicalJson(value as Json);
const same = (a: unknown, b: unknown) => a === b || (a !== undefined && b !== undefined && textOf(a) === textOf(b));
const byName = (a: Tool, b: Tool) => (a.name < b.name ? -1 : 1);
