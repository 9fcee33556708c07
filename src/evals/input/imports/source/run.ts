import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startGroup } from "../../../base/processes/group.ts";
import { type Json, parseJsonText } from "../../../base/types/json.ts";

/** What the process is given: the sources, all of one repository. */
export type ProcessInput = { root: string; sources: readonly Source[] };
type Source = { path: string; request: SourceRequest };

/** Maximum time without a reply: more than any source of cases takes. */
const limitMs = 10_000;
const maxReply = 64 * 1024 * 1024;
const heapMib = 1024;

/**
 * Runs TypeScript sources and the files of their repositories that they import, and returns the calls that each makes
 * of some functions, by its path. All sources of a repository run in one process, one after the other. It has an empty
 * environment and limited memory, can read the repository alone, and can neither write files, start programs nor open
 * connections. Packages are stubs. A source that takes more than 10 s ends its process, and the others run in a new
 * one. Does not reject; an aborted run returns what was read before.
 */
export async function runSources(
  sources: readonly Source[],
  { signal }: { signal?: AbortSignal | undefined },
): Promise<ReadonlyMap<string, SourceRun>> {
  const runs = new Map<string, SourceRun>();
  let left = sources.map((source) => ({ ...source, root: findRoot(source.path) }));
  while (left.length > 0 && !signal?.aborted) {
    const root = left[0]?.root ?? "";
    const batch = left.filter((one) => one.root === root);
    const failed = await runBatch({ root, sources: batch }, signal, (path, run) => runs.set(path, run));
    const current = batch.find(({ path }) => !runs.has(path));
    if (current) runs.set(current.path, { calls: [], failed: failed ?? "it ended the process" });
    left = left.filter(({ path }) => !runs.has(path));
  }
  return runs;
}

/** Runs sources in one process until it ends; returns why it ended before all were read. */
async function runBatch(
  input: ProcessInput,
  signal: AbortSignal | undefined,
  keep: (path: string, run: SourceRun) => void,
): Promise<string | undefined> {
  // Next to this file, with the same ending: .js in the package.
  const script = fileURLToPath(new URL(`./sourceProcess${extname(import.meta.url)}`, import.meta.url));
  const options = { cwd: input.root, env: {}, orphanMs: 0 };
  const group = startGroup(process.execPath, [...listFlags(input.root), script], options);
  let why: string | undefined;
  const stop = (reason: string) => {
    why ??= reason;
    group.child.kill("SIGKILL");
  };
  const onAbort = () => stop("it was interrupted");
  signal?.addEventListener("abort", onAbort);
  const startTimer = () => setTimeout(() => stop(`it did not end within ${limitMs / 1000} s`), limitMs);
  let timer = startTimer();
  let bytes = 0;
  group.child.stdout.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxReply) stop("its calls are larger than 64 MiB");
  });
  createInterface({ input: group.child.stdout }).on("line", (line) => {
    if (why !== undefined) return;
    clearTimeout(timer);
    timer = startTimer();
    const reply = parseJsonText(line) as { path: string; run: SourceRun } | undefined;
    if (reply) keep(reply.path, reply.run);
    else stop("it wrote to the output of the process");
  });
  group.child.stdin.end(JSON.stringify(input));
  await group.ended;
  clearTimeout(timer);
  signal?.removeEventListener("abort", onAbort);
  return why ?? (group.stderrTail().split("\n").at(-1) || undefined);
}

/** The flags of Node that take rights away from the process. It reads the repository, its own program and jiti. */
function listFlags(root: string): string[] {
  const { allowedNodeEnvironmentFlags: flags } = process;
  // The package, from dist/chunks.
  const own = fileURLToPath(new URL("../../", import.meta.url));
  const jiti = dirname(createRequire(import.meta.url).resolve("jiti/package.json"));
  return [
    flags.has("--permission") ? "--permission" : "--experimental-permission",
    ...[root, own, jiti].map((folder) => `--allow-fs-read=${join(folder, "*")}`),
    "--no-warnings",
    `--max-old-space-size=${heapMib}`,
  ];
}

const maxLevels = 12;

/** The root of the repository of a file: the nearest folder above with `.git`, or the highest with a package.json. */
function findRoot(start: string): string {
  const first = existsSync(start) && statSync(start).isDirectory() ? start : dirname(start);
  let found = first;
  for (let [folder, level] = [first, 0]; level < maxLevels; [folder, level] = [dirname(folder), level + 1]) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (existsSync(join(folder, "package.json"))) found = folder;
    if (dirname(folder) === folder) break;
  }
  return found;
}

/** What a format asks of its sources. */
export type SourceRequest = {
  /**
   * Names of functions whose calls are recorded. Callbacks among their arguments are called once; a call of such a
   * callback's parameter is recorded under `<name>/callback`.
   */
  functions: readonly string[];
  /** Other names of libraries that are stubs in every import, such as `Matcher`. */
  stubs?: readonly string[];
  /** Regular expressions for the texts of functions, by name: the first group is an expression to evaluate. */
  expressions?: Readonly<Record<string, string>>;
  /** A constant of another file: `file` stands beside the file from which `importedName` is imported. */
  constant?: { importedName: string; file: string; name: string };
};

/** A value of a source that was run, as JSON; undefined is null. */
export type Value = null | string | number | boolean | Value[] | ObjectValue | Stub | FunctionValue | Unknown;
export type ObjectValue = { kind: "object"; members: { [name: string]: Value } };
/** A name of a module that is not run (`Matcher.anyOf`), or with `args` a call of it. */
export type Stub = { kind: "stub"; name: string; args?: Value[] };
/** `returned`: what a function without parameters returned. `expressions`: those that the format asks for. */
export type FunctionValue = {
  kind: "function";
  source: string;
  returned?: Value;
  expressions: Readonly<Record<string, Value[]>>;
};
/** A value that is not plain data, or could not be found. */
export type Unknown = { kind: "unknown"; reason: string };

export type SourceCall = { name: string; args: Value[]; line: number };

/** The recorded calls of one source. `failed`: why it did not run to its end. */
export type SourceRun = { calls: SourceCall[]; constant?: Value; failed?: string };

const isKind =
  <K extends string>(kind: K) =>
  (value: Value | undefined): value is Extract<Value, { kind: K }> =>
    typeof value === "object" && value !== null && !Array.isArray(value) && value.kind === kind;
export const isObject = isKind("object");
export const isStub = isKind("stub");
export const isFunction = isKind("function");
export const isUnknown = isKind("unknown");

/** Converts plain data to JSON, or says why the value is not plain data. */
export function toJson(value: Value): { json: Json } | { reason: string } {
  try {
    return { json: convert(value) };
  } catch (error) {
    if (error instanceof NotPlain) return { reason: error.message };
    throw error;
  }
}

class NotPlain extends Error {}

function convert(value: Value): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(convert);
  if (value.kind === "object")
    return Object.fromEntries(Object.entries(value.members).map(([name, one]) => [name, convert(one)]));
  throw new NotPlain(explainOther(value));
}

/** What a value is that is not plain data. */
export function explainOther(value: Stub | FunctionValue | Unknown): string {
  if (value.kind === "unknown") return value.reason;
  return value.kind === "function" ? "a function is not plain data" : `${value.name} is of a module that is not run`;
}
