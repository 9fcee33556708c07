import { listProperties } from "../../base/jsonSchema/keywords.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";
import { findRenamedTools, formatName, indexByName, isInstructions } from "./names.ts";

/**
 * One edit of a tool list. `id` is stable, and unique in the list of edits: `read_file` for its description,
 * `read_file.path` for the description of a parameter, `read_file.path:schema`, `read_file:added`. `label` is for
 * reports. `before` and `after` are the texts (JSON for other values), and absent if there is none.
 */
export type ToolEdit = { id: string; label: string; tool: string; before?: string; after?: string } & (
  | { kind: "added" | "removed" | "description" | "title" | "schema" | "outputSchema" | "annotations" | "other" }
  /** A key of `_meta` that hosts read. */
  | { kind: "alwaysLoad" | "searchHint" }
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
 * Applies only the edits with these ids to the base list. No edit results in the tools of `base`, all edits in the
 * tools of `head`. New tools are last.
 */
export function applyChanges<T extends Tool>(base: readonly T[], head: readonly T[], ids: ReadonlySet<string>): T[] {
  return mixLists(base, head, ({ id }) => ids.has(id));
}

/** Called once for every edit; true applies it. One function lists and applies edits, so the two cannot differ. */
type Choose = (edit: ToolEdit) => boolean;

function mixLists<T extends Tool>(base: readonly T[], head: readonly T[], choose: Choose): T[] {
  const after = new Map(head.map((tool) => [tool.name, tool]));
  const before = new Set(base.map(({ name }) => name));
  const added = head.filter(({ name }) => !before.has(name)).sort(byName);
  const removed = base.filter(({ name }) => !after.has(name)).sort(byName);
  const index = (tools: readonly Tool[]) => indexByName(tools as readonly JsonObject[]);
  const renamed = findRenamedTools(index(removed), index(added));
  const kept = base.flatMap((tool) => {
    const current = after.get(tool.name);
    if (current) return [mixTool(tool, current, choose)];
    const successor = after.get(renamed.get(tool.name) ?? "");
    if (successor) return [choose(editRename(tool, successor.name)) ? successor : tool];
    return choose(editTool("removed", tool)) ? [] : [tool];
  });
  const successors = new Set(renamed.values());
  return [...kept, ...added.filter((tool) => !successors.has(tool.name) && choose(editTool("added", tool)))];
}

/** What all edits have: `aspect` names what changed at the location in the id, `label` in reports. */
function describe({ tool, path }: ParameterLocation, aspect: string, label: string, before?: unknown, after?: unknown) {
  const name = `${formatName(tool)}${path}`;
  const text = (value: unknown) => (typeof value === "string" ? value : toText(value));
  const texts = {
    ...(before !== undefined && { before: text(before) }),
    ...(after !== undefined && { after: text(after) }),
  };
  return { id: `${name}${aspect}`, label: `${name}: ${label}`, tool, ...texts };
}

const editRename = ({ name }: Tool, to: string): ToolEdit => {
  return { kind: "renamed", to, ...describe({ tool: name, path: "" }, ":renamed", `renamed to ${formatName(to)}`) };
};

function editTool(kind: "added" | "removed", { name, description }: Tool): ToolEdit {
  const what = isInstructions(name) ? "instructions" : "tool";
  const location = { tool: name, path: "" };
  if (kind === "removed") return { kind, ...describe(location, ":removed", `removed ${what}`, description) };
  return { kind, ...describe(location, ":added", `new ${what}`, undefined, description) };
}

const fields = ["description", "title", "annotations", "outputSchema"] as const;
type FieldKind = (typeof fields)[number] | "alwaysLoad" | "searchHint" | "other";

function mixTool<T extends Tool>(base: T, head: T, choose: Choose): T {
  const choices: boolean[] = [];
  const counted: Choose = (edit) => {
    const isApplied = choose(edit);
    choices.push(isApplied);
    return isApplied;
  };
  const location = { tool: base.name, path: "" };
  const isChosen = (kind: FieldKind, before: unknown, after: unknown) => {
    const aspect = kind === "description" ? "" : `:${kind}`;
    return !same(before, after) && counted({ kind, ...describe(location, aspect, kind, before, after) });
  };
  const changed = fields.filter((field) => isChosen(field, base[field], head[field]));
  let _meta = base._meta ?? {};
  for (const kind of ["alwaysLoad", "searchHint"] as const) {
    const key = `anthropic/${kind}` as const;
    if (isChosen(kind, base._meta?.[key], head._meta?.[key])) _meta = withKeys(_meta, head._meta ?? {}, [key]);
  }
  const [before, after] = [optional(base.inputSchema), optional(head.inputSchema)];
  const { schema } = mixParameter(location, before, after, counted);
  // A difference that no edit covers, such as the order of `required`, is an edit only if the tool has no other edit.
  // Otherwise it is applied together with all of the tool's edits.
  if (choices.length === 0) isChosen("other", differing(base, head), differing(head, base));
  if (!choices.includes(true)) return base;
  if (!choices.includes(false)) return head;
  const { _meta: _, ...rest } = head;
  const mixed = { ...rest, inputSchema: schema, ...(Object.keys(_meta).length > 0 && { _meta }) };
  return withKeys(base, mixed, [...changed, "inputSchema", "_meta"]);
}

/** Copies these keys from `head` to `base`, and removes those that `head` lacks. */
function withKeys<T extends object>(base: T, head: object, keys: readonly string[]): T {
  const kept = Object.entries(base).filter(([key]) => !keys.includes(key));
  return Object.fromEntries([...kept, ...Object.entries(head).filter(([key]) => keys.includes(key))]) as T;
}

/** The members of an object that another lacks or has with a different value. */
function differing(one: object, other: object): object {
  const others = new Map<string, unknown>(Object.entries(other));
  return Object.fromEntries(Object.entries(one).filter(([key, value]) => !same(value, others.get(key))));
}

/** The schema of a parameter, of its items, or (if `path` is empty) of all arguments together. */
type Parameter = { schema: Json; required: boolean };
type ParameterLocation = { tool: string; path: string };
const optional = (schema: Json): Parameter => ({ schema, required: false });

function mixParameter(spot: ParameterLocation, base: Parameter, head: Parameter, choose: Choose): Parameter {
  const [before, after] = [base.schema, head.schema];
  if (!isJsonObject(before) || !isJsonObject(after))
    return !same(base, head) && choose(editParameter(spot, "schema", format(base), format(head))) ? head : base;
  // A description at the root is compared as part of the schema.
  const described = spot.path !== "" && !same(before.description, after.description);
  const { description } =
    described && choose(editParameter(spot, "description", before.description, after.description)) ? after : before;
  const parameters = mixProperties(spot, before, after, choose);
  const old = { schema: pickOwnKeywords(spot, before, after), required: base.required };
  const current = { schema: pickOwnKeywords(spot, after, before), required: head.required };
  const isApplied = !same(old, current) && choose(editParameter(spot, "schema", format(old), format(current)));
  const own = isApplied ? current : old;
  const areMixed = isJsonObject(before.items) && isJsonObject(after.items);
  const [one, other] = [optional(before.items ?? null), optional(after.items ?? null)];
  const items = areMixed && mixParameter({ ...spot, path: `${spot.path}[]` }, one, other, choose).schema;
  const required = [
    ...[...parameters].flatMap(([name, parameter]) => (parameter.required ? [name] : [])),
    ...(Array.isArray(own.schema.required) ? own.schema.required : []),
  ];
  const properties = Object.fromEntries([...parameters].map(([name, { schema }]) => [name, schema]));
  const schema: JsonObject = {
    ...own.schema,
    ...(spot.path !== "" && description !== undefined && { description }),
    ...((parameters.size > 0 || isJsonObject(before.properties)) && { properties }),
    ...(areMixed && { items }),
    ...(required.length > 0 && { required }),
  };
  return { schema, required: own.required };
}

function mixProperties({ tool, path }: ParameterLocation, before: JsonObject, after: JsonObject, choose: Choose) {
  const [base, head] = [indexParameters(before), indexParameters(after)];
  const mixed = new Map<string, Parameter>();
  for (const name of new Set([...base.keys(), ...head.keys()])) {
    const spot = { tool, path: `${path}.${formatName(name)}` };
    const [old, current] = [base.get(name), head.get(name)];
    const chooseWhole = () =>
      choose(editParameter(spot, old ? "removed" : "added", old && format(old), current && format(current)));
    const one = old && current ? mixParameter(spot, old, current, choose) : chooseWhole() ? current : old;
    if (one) mixed.set(name, one);
  }
  return mixed;
}

function indexParameters(schema: JsonObject): Map<string, Parameter> {
  const required = new Set<Json>(Array.isArray(schema.required) ? schema.required : []);
  return new Map(listProperties(schema).map(([name, one]) => [name, { schema: one, required: required.has(name) }]));
}

/** A schema without what is compared separately: description, parameters and which of them are required, items. */
function pickOwnKeywords(spot: ParameterLocation, schema: JsonObject, other: JsonObject): JsonObject {
  const named = new Set<Json>([...indexParameters(schema).keys(), ...indexParameters(other).keys()]);
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

const labels = { added: "new parameter", removed: "removed parameter", description: "description", schema: "schema" };

function editParameter(location: ParameterLocation, what: keyof typeof labels, before?: Json, after?: Json): ToolEdit {
  const common = describe(location, what === "description" ? "" : `:${what}`, labels[what], before, after);
  const parameter = location.path.replace(/^\./, "");
  return parameter === "" ? { kind: "schema", ...common } : { kind: "parameter", parameter, what, ...common };
}

const format = ({ schema, required }: Parameter) => `${toText(schema)}${required ? " required" : ""}`;

/** Everything in a tool is JSON; undefined members are omitted. */
const toText = (value: unknown) => canonicalJson(value as Json);
const same = (a: unknown, b: unknown) => a === b || (a !== undefined && b !== undefined && toText(a) === toText(b));
const byName = (a: Tool, b: Tool) => (a.name < b.name ? -1 : 1);
