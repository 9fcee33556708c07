import { resolve } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { EvalsError, messageOf, type Problem, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { parseDocument, type SuiteDocument } from "../suites/document.ts";
import { explain } from "../suites/explain.ts";
import { type Fault, label, shown } from "../suites/fault.ts";
import { readText } from "../suites/text.ts";
import { overlay, overlayFaults } from "../toolsets/overlay.ts";
import { freeze } from "../toolsets/toolset.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";
import {
  replacementSchema,
  reservedVariants,
  rewordingSchema,
  type Variant,
  type VariantsFile,
  variantsFileSchema,
} from "../types/variants.ts";

/** The wordings of a variants file, by name, in the order of the file; `refuse` throws faults with their places. */
export type ReadVariants = { variants: ReadonlyMap<string, Variant>; refuse(faults: readonly Fault[]): void };

/** A wording, and the lists that it makes of those that cases are shown. */
export type Overlaid = { name: string; variant: Variant; listOf(planned: PlannedCase): Toolset };

const exampleHint = "write variants: { <name>: { <tool>: <its description> } }";

/** Reads a variants file, YAML or JSON. Throws EvalsError with the place of everything in it that is malformed. */
export async function readVariants(file: string, cwd: string): Promise<ReadVariants> {
  const text = await readText(resolve(cwd, file), file);
  if (text.replace(/^\s*#.*$/gm, "").trim() === "") throw usageError("the file is empty", exampleHint, { file });
  const document = parseDocument(text, file);
  if (!isJsonObject(document.data)) throw usageError("this is no variants file", exampleHint, document.place([]));
  const refuse: ReadVariants["refuse"] = (faults) => {
    const problems = [...document.problems, ...faults.map((fault) => problemOf(fault, document))];
    if (problems.length > 0) throw new EvalsError(problems);
  };
  refuse(faultsOf(document.data));
  const { variants } = variantsFileSchema.parse(document.data);
  refuse(nameFaults(Object.keys(variants)));
  return { variants: new Map(Object.entries(variants)), refuse };
}

function problemOf({ path, part, message, hint }: Fault, document: SuiteDocument): Problem {
  return { severity: "error", message, ...(hint && { hint }), place: document.place(path, part) };
}

/** What the file's form lacks. Each change is checked by the form that was meant, so that the message is about that. */
function faultsOf(data: { [key: string]: Json }): Fault[] {
  const { variants, ...rest } = data;
  if (!isJsonObject(variants)) return explain(variantsFileSchema, data);
  return [
    ...explain(variantsFileSchema, { ...rest, variants: {} }),
    ...Object.entries(variants).flatMap(([name, variant]) => {
      const path = ["variants", name];
      if (!isJsonObject(variant))
        return [{ path, message: `${label(path)} must be an object, got ${shown(variant)}`, hint: exampleHint }];
      return Object.entries(variant).flatMap(([tool, change]) => changeFaults(change, [...path, tool]));
    }),
  ];
}

function changeFaults(change: Json, path: readonly string[]): Fault[] {
  if (typeof change === "string") return [];
  if (isJsonObject(change)) return explain("tool" in change ? replacementSchema : rewordingSchema, change, path);
  const hint = "give a description, or an object with `description`, `parameters`, or a whole `tool`";
  return [{ path, message: `${label(path)} must be text or an object, got ${shown(change)}`, hint }];
}

function nameFaults(names: readonly string[]): Fault[] {
  if (names.length === 0)
    return [{ path: ["variants"], part: "key", message: "there is no variant", hint: exampleHint }];
  return names.flatMap((name): Fault[] => {
    const path = ["variants", name];
    if (name.trim() === "") return [{ path, part: "key", message: "a variant without a name", hint: "name it" }];
    if (!reservedVariants.has(name)) return [];
    const hint = `${[...reservedVariants].join(", ")} mean something else in a run`;
    return [{ path, part: "key", message: `a variant cannot be named "${name}"`, hint }];
  });
}

/**
 * Lays each variant over the lists of these cases. Throws EvalsError with places for names that no list has, a variant
 * that changes nothing, and one that is the same as another.
 */
export function layOver({ variants, refuse }: ReadVariants, cases: readonly PlannedCase[]): Overlaid[] {
  const lists = [...new Map(cases.map(({ toolset }) => [toolset.hash, toolset])).values()];
  const tools = lists.map((list) => list.tools);
  const within =
    (name: string) =>
    (fault: ReturnType<typeof overlayFaults>[number]): Fault => ({
      ...fault,
      path: ["variants", name, ...fault.path],
      part: "key",
    });
  refuse([...variants].flatMap(([name, variant]) => overlayFaults(tools, variant).map(within(name))));
  const overlaid = [...variants].map(([name, variant]) => {
    const listOf = eachListOnce((list) => overlay(list, variant));
    return { name, variant, listOf, hashes: lists.map((list) => listOf({ toolset: list }).hash).join() };
  });
  const seen = new Map([[lists.map(({ hash }) => hash).join(), "changes nothing"]]);
  refuse(
    overlaid.flatMap(({ name, hashes }): Fault[] => {
      const same = seen.get(hashes);
      if (same === undefined) seen.set(hashes, `is the same as "${name}"`);
      const message = `the variant "${name}" ${same}`;
      const hint = "change some wording in it, or leave it out";
      return same === undefined ? [] : [{ path: ["variants", name], part: "key", message, hint }];
    }),
  );
  return overlaid;
}

/** The same changed list for all cases that are shown the same one, so that what is derived from it is made once. */
export function eachListOnce(
  change: (tools: readonly OfferedTool[]) => readonly OfferedTool[],
): (planned: Pick<PlannedCase, "toolset">) => Toolset {
  const made = new Map<string, Toolset>();
  return ({ toolset }) => {
    const list = made.get(toolset.hash) ?? freeze(change(toolset.tools));
    made.set(toolset.hash, list);
    return list;
  };
}

/** Writes one variant as a file of the same form, or prints it; says so when there is none to write. */
export async function writePatch(target: string, chosen: Overlaid | undefined, io: Io): Promise<void> {
  if (!chosen) {
    io.err("No wording won, so no overlay was written. Name one with --of to write it all the same.\n");
    return;
  }
  const patch: VariantsFile = { variants: { [chosen.name]: chosen.variant } };
  const text = `${JSON.stringify(patch, null, 2)}\n`;
  if (target === "-") {
    io.out(text);
    return;
  }
  await writeFileAtomic(resolve(io.cwd, target), text).catch((error: unknown) => {
    throw usageError(`the overlay cannot be written: ${messageOf(error)}`, "Give --write another path.");
  });
  io.err(`Wrote ${chosen.name} to ${target}\n`);
}
