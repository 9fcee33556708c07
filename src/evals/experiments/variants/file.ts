import { resolve } from "node:path";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { getOrAdd } from "../../base/collections.ts";
import { printableLines } from "../../base/text/display.ts";
import { EvalsError, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import type { Toolset } from "../../base/types/tool.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { describeValue, explain, locateProblem, type PathProblem, quotePath } from "../../input/suites/explain.ts";
import {
  applyVariant,
  checkVariant,
  replacementSchema,
  reservedVariants,
  rewordingSchema,
  type Variant,
  type VariantsFile,
  variantsFileSchema,
} from "../../servers/overlay.ts";
import { createToolset } from "../../servers/toolList.ts";
import { writeOutput } from "../workspace/writeOutput.ts";

/** The variants of a file by name, in file order. `refuse` throws the given problems with their places, if any. */
export type ReadVariants = { variants: ReadonlyMap<string, Variant>; refuse(problems: readonly PathProblem[]): void };

/** A variant. `getToolset` returns the list of a case with the variant applied. */
export type Overlaid = { name: string; variant: Variant; getToolset(planned: Pick<PlannedCase, "toolset">): Toolset };

const exampleHint = "Write variants: { <name>: { <tool>: <its description> } }.";

/** Reads a variants file, YAML or JSON. Throws EvalsError with the place of everything in it that is malformed. */
export async function readVariants(file: string, cwd: string): Promise<ReadVariants> {
  const parsed = await readParsed(resolve(cwd, file), file);
  if (!isJsonObject(parsed.value)) throw usageError("This is not a variants file.", exampleHint, parsed.location([]));
  const refuse: ReadVariants["refuse"] = (found) => {
    const problems = [...parsed.problems, ...found.map((problem) => locateProblem(problem, parsed))];
    if (problems.length > 0) throw new EvalsError(problems);
  };
  refuse(checkForm(parsed.value));
  const { variants } = variantsFileSchema.parse(parsed.value);
  refuse(checkNames(Object.keys(variants)));
  return { variants: new Map(Object.entries(variants)), refuse };
}

/** Checks each change against the form that its author intended, so that messages refer to that form. */
function checkForm(value: JsonObject): PathProblem[] {
  const { variants, ...rest } = value;
  if (!isJsonObject(variants)) return explain(variantsFileSchema, value);
  return [
    ...explain(variantsFileSchema, { ...rest, variants: {} }),
    ...Object.entries(variants).flatMap(([name, variant]) => {
      const path = ["variants", name];
      if (!isJsonObject(variant)) {
        const message = `${quotePath(path)} must be an object, got ${describeValue(variant)}.`;
        return [{ path, message, hint: exampleHint }];
      }
      return Object.entries(variant).flatMap(([tool, change]) => checkChange(change, [...path, tool]));
    }),
  ];
}

function checkChange(change: Json, path: readonly string[]): PathProblem[] {
  if (typeof change === "string") return [];
  if (isJsonObject(change)) return explain("tool" in change ? replacementSchema : rewordingSchema, change, path);
  const message = `${quotePath(path)} must be text or an object, got ${describeValue(change)}.`;
  return [{ path, message, hint: 'Give a description, or an object with "description", "parameters" or "tool".' }];
}

function checkNames(names: readonly string[]): PathProblem[] {
  if (names.length === 0)
    return [{ path: ["variants"], part: "key", message: "There are no variants.", hint: exampleHint }];
  return names.flatMap((name): PathProblem[] => {
    const path = ["variants", name];
    if (name.trim() === "") return [{ path, part: "key", message: "A variant has no name.", hint: "Name it." }];
    if (!reservedVariants.has(name)) return [];
    const hint = `Use another name: ${[...reservedVariants].join(", ")} are reserved.`;
    return [{ path, part: "key", message: `A variant cannot be named "${name}".`, hint }];
  });
}

/** Applies each variant. Throws EvalsError with the place of unknown names, and of variants that change nothing. */
export function applyVariants({ variants, refuse }: ReadVariants, cases: readonly PlannedCase[]): Overlaid[] {
  const lists = [...new Map(cases.map(({ toolset }) => [toolset.hash, toolset])).values()];
  const tools = lists.map((list) => list.tools);
  const within =
    (name: string) =>
    (problem: ReturnType<typeof checkVariant>[number]): PathProblem => ({
      ...problem,
      path: ["variants", name, ...problem.path],
      part: "key",
    });
  refuse([...variants].flatMap(([name, variant]) => checkVariant(tools, variant).map(within(name))));
  const overlaid = [...variants].map(([name, variant]) => {
    const one = overlay(name, variant);
    return { ...one, hashes: lists.map((list) => one.getToolset({ toolset: list }).hash).join() };
  });
  const seen = new Map([[lists.map(({ hash }) => hash).join(), "changes nothing"]]);
  refuse(
    overlaid.flatMap(({ name, hashes }): PathProblem[] => {
      const same = seen.get(hashes);
      if (same === undefined) seen.set(hashes, `equals "${name}"`);
      const message = `The variant "${name}" ${same}.`;
      const hint = "Change its wording, or remove it.";
      return same === undefined ? [] : [{ path: ["variants", name], part: "key", message, hint }];
    }),
  );
  return overlaid;
}

/** Lays a variant over lists. Equal lists share the result, so it is computed once. */
export function overlay(name: string, variant: Variant): Overlaid {
  const made = new Map<string, Toolset>();
  const getToolset: Overlaid["getToolset"] = ({ toolset }) =>
    getOrAdd(made, toolset.hash, () => createToolset(applyVariant(toolset.tools, variant)));
  return { name, variant, getToolset };
}

/** Writes one variant as a variants file, or prints it. Reports if there is none to write. */
export async function writeOverlay(target: string, chosen: Overlaid | undefined, io: Io): Promise<void> {
  if (!chosen) {
    io.err("No wording won, so no variants file was written. Name one with --of to write it anyway.\n");
    return;
  }
  const patch: VariantsFile = { variants: { [chosen.name]: chosen.variant } };
  const text = `${JSON.stringify(patch, null, 2)}\n`;
  if (target === "-") {
    io.out(text);
    return;
  }
  await writeOutput(resolve(io.cwd, target), text, io);
  io.err(printableLines(`Wrote ${chosen.name} to ${target}.`));
}
