import * as z from "zod";
import { defined } from "../base/collections.ts";
import { getProperty, listProperties } from "../base/jsonSchema/keywords.ts";
import { didYouMean } from "../base/text/nearest.ts";
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from "../base/types/json.ts";
import { isCallable, isOwnTool, type OfferedTool, readOwnName, type Tool } from "../base/types/tool.ts";
import { listHostsWithTool, showTool } from "./host.ts";

const parameterSchema = z.strictObject({ name: z.string().optional(), description: z.string().optional() });

/**
 * Other names and descriptions of a tool and of its parameters, and how hosts find it; `filter.name` is a parameter
 * inside of one (or of its items). Calls reach the server under its own names, and expectations use these too.
 */
export const rewordingSchema = z.strictObject({
  name: z.string().optional().describe("what models see as its name"),
  title: z.string().optional(),
  description: z.string().optional(),
  searchHint: z.string().optional().describe("words by which a search finds it; empty: none"),
  alwaysLoad: z.boolean().optional().describe("whether hosts never defer it"),
  parameters: z
    .record(z.string(), z.union([z.string(), parameterSchema]))
    .optional()
    .describe("parameter, dotted where nested -> description, or name and description"),
});

/** A whole tool instead of a listed one. Its annotations stay, because they decide which calls are executed. */
export const replacementSchema = z.strictObject({
  tool: z.strictObject({
    name: z.string().optional().describe("what models see as its name"),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: jsonObjectSchema,
    outputSchema: jsonObjectSchema.optional(),
  }),
});

const variantChangeSchema = z.union([z.string(), rewordingSchema, replacementSchema]);
/** What a variant changes in one tool: just its description, or more. */
type VariantChange = z.infer<typeof variantChangeSchema>;

export const variantSchema = z.record(z.string(), variantChangeSchema);
/** Another wording of a list: tool name -> what is different. All that it does not name stays as it is listed. */
export type Variant = z.infer<typeof variantSchema>;

/** A variants file, also the form of a patch that is written. */
export const variantsFileSchema = z.strictObject({
  $schema: z.string().optional(),
  variants: z.record(z.string(), variantSchema),
});
export type VariantsFile = z.infer<typeof variantsFileSchema>;

/** Arms that mean something already, so no variant can have their names. */
export const reservedVariants: ReadonlySet<string> = new Set(["incumbent", "base", "head"]);

/** An unknown name in a variant. `path` leads to it inside the variant. */
export type VariantProblem = { path: readonly string[]; message: string; hint: string };

/**
 * The tools with the wording of a variant. Own names, order, annotations and origins stay, so calls reach the same
 * tools; other names are in `shownAs`. Unknown names in the variant are ignored: see `checkVariant`.
 */
export function applyVariant(tools: readonly OfferedTool[], variant: Variant): OfferedTool[] {
  const changes = new Map(Object.entries(variant));
  return tools.map((tool) => {
    const change = changes.get(tool.name);
    return change === undefined ? tool : applyChange(tool, change);
  });
}

/** Tools and parameters in a variant that none of the lists has, and names that it cannot give them. */
export function checkVariant(lists: readonly (readonly OfferedTool[])[], variant: Variant): VariantProblem[] {
  const tools = lists.flat();
  const names = [...new Set(tools.map(({ name }) => name))];
  const shown = lists.map((list) => applyVariant(list, variant).filter(isCallable).map(showTool));
  return Object.entries(variant).flatMap(([name, change]) => {
    const meant = tools.filter((tool) => tool.name === name);
    if (meant.length === 0)
      return [{ path: [name], message: `No tool "${name}" is listed.`, hint: suggest(name, names, "Listed tools") }];
    if (typeof change === "string") return [];
    if ("tool" in change) return checkName([name, "tool", "name"], change.tool.name, meant, shown);
    const parameters = Object.entries(change.parameters ?? {});
    return [
      ...checkName([name, "name"], change.name, meant, shown),
      ...parameters.flatMap(([parameter, one]) => checkParameter([name, "parameters", parameter], one, meant)),
    ];
  });
}

/** What model APIs accept as a name. */
const nameForm = /^[a-zA-Z0-9_-]{1,64}$/;
const nameHint = "Use 1 to 64 letters, digits, _ and -.";

const refuseRenaming = (path: readonly string[], what: string) => (why: string, hint: string) => [
  { path, message: `${what}: ${why}.`, hint },
];

function checkName(
  path: readonly string[],
  other: string | undefined,
  meant: readonly OfferedTool[],
  lists: readonly (readonly OfferedTool[])[],
): VariantProblem[] {
  const [tool] = meant;
  if (!tool || other === undefined || other === readOwnName(tool)) return [];
  const refuse = refuseRenaming(path, `The tool "${tool.name}" cannot be renamed to "${other}"`);
  if (!isOwnTool(tool) || !isCallable(tool))
    return refuse("it is no tool that the server under test shows", "Remove the name.");
  if (!nameForm.test(other)) return refuse("model APIs refuse such a name", nameHint);
  const { name } = showTool({ ...tool, shownAs: { name: other } });
  if (lists.some((list) => list.filter((one) => one.name === name).length > 1))
    return refuse("another tool has this name", "Choose another name.");
  const [host] = listHostsWithTool(other);
  if (host === undefined) return [];
  return refuse(`${host} has a tool of its own with this name`, "Choose a name that no host uses.");
}

function checkParameter(
  path: readonly [string, string, string],
  change: string | { name?: string | undefined },
  meant: readonly Tool[],
): VariantProblem[] {
  const [name, , parameter] = path;
  const known = [...new Set(meant.flatMap(({ inputSchema }) => listParameters(inputSchema)))];
  if (!known.includes(normalizePath(parameter))) {
    const hint = suggest(parameter, known, "Its parameters");
    return [{ path, message: `"${name}" has no parameter "${parameter}".`, hint }];
  }
  if (typeof change === "string" || change.name === undefined || change.name === parameter) return [];
  const other = change.name;
  const refuse = refuseRenaming(path, `The parameter "${parameter}" of "${name}" cannot be renamed to "${other}"`);
  if (!meant.some(({ inputSchema }) => getProperty(inputSchema, parameter) !== undefined))
    return refuse("it is inside of another one", "Remove the name.");
  if (!nameForm.test(other)) return refuse("model APIs refuse such a name", nameHint);
  return known.includes(other) ? refuse("another parameter has this name", "Choose another name.") : [];
}

function suggest(name: string, candidates: readonly string[], what: string): string {
  const shown = candidates.slice(0, 12).join(", ") || "none";
  const more = candidates.length > 12 ? ` and ${candidates.length - 12} more` : "";
  return didYouMean(name, candidates, `${what}: ${shown}${more}.`);
}

function applyChange(tool: OfferedTool, change: VariantChange): OfferedTool {
  if (typeof change === "string") return { ...tool, description: change };
  if ("tool" in change) {
    const { title: _, description: __, inputSchema: ___, outputSchema: ____, ...kept } = tool;
    return { ...kept, ...change.tool, name: tool.name, ...renameTo(tool, change.tool.name, []) };
  }
  const { name, title, description, parameters = {}, searchHint, alwaysLoad } = change;
  const changed = Object.entries(parameters).map(([path, one]) => {
    return { path: normalizePath(path), ...(typeof one === "string" ? { description: one } : one) };
  });
  const texts = new Map(changed.flatMap((one) => (one.description === undefined ? [] : [[one.path, one.description]])));
  const { _meta, ...rest } = tool;
  const hints = {
    "anthropic/alwaysLoad": alwaysLoad ?? _meta?.["anthropic/alwaysLoad"],
    "anthropic/searchHint": searchHint ?? _meta?.["anthropic/searchHint"],
  };
  // What is false or empty is as if it were absent.
  const kept = Object.entries(hints).filter(([, value]) => value);
  return {
    ...rest,
    ...(kept.length > 0 && { _meta: Object.fromEntries(kept) }),
    ...defined({ title, description }),
    ...(texts.size > 0 && { inputSchema: describeParameters(tool.inputSchema, [], texts) }),
    ...renameTo(tool, name, changed),
  };
}

/** The names that models see, where they differ from the tool's own. */
function renameTo(
  tool: OfferedTool,
  name = readOwnName(tool),
  parameters: readonly { path: string; name?: string | undefined }[],
): Pick<OfferedTool, "shownAs"> {
  const renamed = parameters.flatMap(({ path, name: other = path }) =>
    other !== path && getProperty(tool.inputSchema, path) !== undefined ? [[path, other]] : [],
  );
  const shownAs = {
    ...(name !== readOwnName(tool) && { name }),
    ...(renamed.length > 0 && { parameters: Object.fromEntries(renamed) }),
  };
  return Object.keys(shownAs).length > 0 ? { shownAs } : {};
}

/** A path may mark the items of a list, as in reports of changes: `edits[].oldText` is `edits.oldText`. */
const normalizePath = (path: string) => path.replaceAll("[]", "");

/** The schema with the given descriptions of the parameters at these paths. */
function describeParameters(
  schema: JsonObject,
  above: readonly string[],
  texts: ReadonlyMap<string, string>,
): JsonObject {
  const properties = listProperties(schema).map(([name, property]): [string, Json] => {
    if (!isJsonObject(property)) return [name, property];
    const path = [...above, name];
    const text = texts.get(path.join("."));
    return [name, { ...describeParameters(property, path, texts), ...(text !== undefined && { description: text }) }];
  });
  return {
    ...schema,
    ...(isJsonObject(schema.properties) && { properties: Object.fromEntries(properties) }),
    ...(isJsonObject(schema.items) && { items: describeParameters(schema.items, above, texts) }),
  };
}

/** The dotted paths of all parameters that can have a description, nested ones and those of items included. */
function listParameters(schema: JsonObject, above: readonly string[] = []): string[] {
  const own = listProperties(schema).flatMap(([name, property]) =>
    isJsonObject(property) ? [[...above, name].join("."), ...listParameters(property, [...above, name])] : [],
  );
  return isJsonObject(schema.items) ? [...own, ...listParameters(schema.items, above)] : own;
}
