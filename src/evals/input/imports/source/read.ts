import { Evaluator } from "./evaluate.ts";
import { executeSource } from "./execute.ts";
import { type Module, Modules } from "./modules.ts";
import { getName, getNode, parseSource, walkNodes } from "./syntax.ts";
import { Closure, isObject, lines, Marker, Native, type SourceCall, Unknown, type Value } from "./values.ts";

/** The result of reading a source. `failed`: why it could not be run, if running it was requested. */
export type ReadSource = {
  module: Module & { kind: "module" };
  modules: Modules;
  evaluator: Evaluator;
  calls: SourceCall[];
  failed?: string;
};

/**
 * Reads the calls of some functions in a TypeScript source, in order. The source is evaluated without running it; with
 * `executeSource` it is also run, to fill in what could not be known. Throws EvalsError for a source that cannot be
 * parsed.
 * @param given values of other names that the source imports
 */
export async function readSource(
  { path, file, text }: { path: string; file: string; text: string },
  functions: readonly string[],
  given: Readonly<Record<string, Value>>,
  { cwd, executeSource: isRun }: { cwd: string; executeSource?: boolean | undefined },
): Promise<ReadSource> {
  const module = { kind: "module", path, file, tree: parseSource(text, file) } as const;
  const modules = new Modules(path, cwd);
  const calls: SourceCall[] = [];
  const recorders = functions.map((name) => {
    const record = (args: readonly Value[], line: number) => void calls.push({ name, args, line });
    return [name, new Native(name, record)] as const;
  });
  const evaluator = new Evaluator(modules, { ...given, ...Object.fromEntries(recorders) });
  evaluator.run(module);
  const run = isRun ? await executeSource({ path, cwd, functions }, given) : undefined;
  const known = run && "calls" in run ? fillCalls(calls, run.calls) : calls;
  const read = { module, modules, evaluator, calls: [...known, ...listMissed(module, functions, known)] };
  return run && "failed" in run ? { ...read, failed: run.failed } : read;
}

/** The calls that are in the text of the source but were not made. */
function listMissed(
  { tree }: ReadSource["module"],
  functions: readonly string[],
  made: readonly SourceCall[],
): SourceCall[] {
  const reached = new Set(made.map(({ name, line }) => `${name}:${line}`));
  return [...walkNodes(tree)].flatMap((node): SourceCall[] => {
    const name = node.type === "CallExpression" ? getName(getNode(node, "callee")) : undefined;
    const { line } = node.loc.start;
    if (name === undefined || !functions.includes(name) || reached.has(`${name}:${line}`)) return [];
    return [{ name, line, args: [], missed: `the call of ${name} is not reached` }];
  });
}

/** The calls that were made when the source was run, each merged with the same call as evaluated. */
function fillCalls(evaluated: readonly SourceCall[], run: readonly SourceCall[]): SourceCall[] {
  // Lines can differ because of the translation to JavaScript.
  const isPaired = run.length === evaluated.length && run.every(({ name }, at) => name === evaluated[at]?.name);
  return run.map((call, at) => {
    const same = isPaired
      ? evaluated[at]
      : evaluated.find(({ name, line }) => name === call.name && line === call.line);
    return same ? { ...call, line: same.line, args: fillList(same.args, call.args) } : call;
  });
}

/** Fills in the unknown parts of an evaluated value, which has lines and syntax trees, from the value of the run. */
function fill(value: Value, run: Value): Value {
  if (value instanceof Unknown) return run;
  if (value instanceof Closure && run instanceof Closure)
    return new Closure(value.node, (args) => fill(value.call(args), run.call(args)));
  if (value instanceof Marker && run instanceof Marker)
    return new Marker(value.name, fillList(value.args, run.args), value.line);
  if (Array.isArray(value)) return Array.isArray(run) ? fillList(value, run) : value;
  if (!isObject(value) || !isObject(run)) return value;
  const members = Object.entries(run).map(([key, one]) => [
    key,
    Object.hasOwn(value, key) ? fill(value[key], one) : one,
  ]);
  const filled = Object.fromEntries(members);
  lines.set(filled, lines.get(value) ?? 1);
  return filled;
}

/** An unknown spread stands for any number of items, so the items after it are taken from the run. */
function fillList(items: readonly Value[], run: readonly Value[]): Value[] {
  const open = items.length === run.length ? -1 : items.findIndex((item) => item instanceof Unknown);
  return run.map((item, at) => (at < items.length && (open < 0 || at < open) ? fill(items[at], item) : item));
}
