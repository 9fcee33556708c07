import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { createJiti } from "jiti";
import { messageOf } from "../../../base/types/errors.ts";
import type { ExecuteReply, ExecuteRequest, Term } from "./execute.ts";
import { Modules } from "./modules.ts";

// The process of `executeSource`. Names that a format defines, packages and the globals of test runners are stubs. Each
// member and each call of a stub is a stub as well, and remembers how it was made.

/** Modules of Node that are not replaced by stubs. */
const allowed = new Set(["fs", "fs/promises", "path", "url", "util"]);
/** Functions of test runners whose callbacks define no tests, so they are not called. */
const bodies = new Set(["it", "test", "beforeAll", "beforeEach", "afterAll", "afterEach"]);
const runnerGlobals = ["describe", "expect", "vi", "jest", ...bodies];

/** The source that is run, and the names that the format defines. */
const state = { entry: "", functions: new Set<string>(), given: new Set<string>() };

type Origin = { path: readonly string[]; args?: readonly unknown[]; line: number };
const origins = new WeakMap<object, Origin>();
const calls: { name: string; args: readonly unknown[]; line: number }[] = [];

process.once("message", async (request: ExecuteRequest) => {
  let reply: ExecuteReply;
  try {
    reply = await run(request);
  } catch (error) {
    reply = { failed: `it threw: ${messageOf(error)}` };
  }
  process.send?.(reply);
});

async function run({ path, cwd, functions, given }: ExecuteRequest): Promise<ExecuteReply> {
  Object.assign(state, { entry: path, functions: new Set(functions), given: new Set(given) });
  for (const name of runnerGlobals) Object.defineProperty(globalThis, name, { value: createStub(name, [name]) });
  await createLoader(path, cwd)(path).done;
  const terms: { name: string; args: Term[]; line: number }[] = [];
  for (const { name, args, line } of calls)
    terms.push({ name, line, args: await Promise.all(args.map((arg) => writeTerm(arg, []))) });
  return { calls: terms };
}

type Loaded = { exports: Record<string, unknown>; done: Promise<unknown> };

/** Creates a loader for files of the repository. Names that the format defines are stubs in every import. */
function createLoader(entry: string, cwd: string) {
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const nodeRequire = createRequire(import.meta.url);
  const modules = new Modules(entry, cwd);
  const known = new Map<string, Loaded>();

  const load = (path: string): Loaded => {
    const before = known.get(path);
    if (before) return before;
    const loaded: Loaded = { exports: {}, done: Promise.resolve() };
    known.set(path, loaded);
    const source = readFileSync(path, "utf8");
    if (path.endsWith(".json")) {
      loaded.exports = { default: JSON.parse(source), __esModule: true };
      return loaded;
    }
    // Only the entry may use top-level await; imports are synchronous.
    const isAsync = path === entry;
    const code = jiti.transform({ source, filename: path, ts: true, jsx: path.endsWith("x"), retainLines: true });
    const wrapped = `(${isAsync ? "async " : ""}function (exports, require, module, jitiImport, __filename, __dirname) {${code}\n})`;
    const module = { exports: loaded.exports };
    const importFile = (specifier: string) => importFrom(specifier, path);
    const made = new Script(wrapped, { filename: path }).runInThisContext();
    loaded.done = made(module.exports, importFile, module, async (one: string) => importFile(one), path, dirname(path));
    loaded.exports = module.exports;
    return loaded;
  };

  /** The exports of a module: stubs, or its own, for which it is loaded on first use. */
  const importFrom = (specifier: string, from: string): unknown => {
    const builtIn = specifier.replace(/^node:/, "");
    if (allowed.has(builtIn)) return withDefault(nodeRequire(`node:${builtIn}`));
    const given = specifier.startsWith("file:") ? { path: fileURLToPath(specifier) } : modules.locate(specifier, from);
    const target = "path" in given ? given.path : undefined;
    const own = () => (target === undefined ? undefined : load(target).exports);
    return new Proxy(Object.create(null), {
      get: (_, key) => {
        if (typeof key === "symbol" || key === "then") return undefined;
        if (key === "__esModule") return true;
        if (state.functions.has(key) || state.given.has(key)) return createStub(key, [key]);
        const exported = own();
        return exported ? exported[key] : createStub(`${key} of ${specifier}`, [key]);
      },
      ownKeys: () => Reflect.ownKeys(own() ?? {}).filter((key) => key !== "__esModule"),
      getOwnPropertyDescriptor: (_, key) => ({ enumerable: true, configurable: true, value: own()?.[String(key)] }),
    });
  };
  return load;
}

const withDefault = (module: object) => ({ ...module, default: module });

/** Creates a stub. Calls of wanted functions are recorded; callbacks that may contain such calls are called once. */
function createStub(label: string, path: readonly string[], args?: readonly unknown[]): unknown {
  const make = (given: readonly unknown[]) => {
    const [name = ""] = path;
    const { file, line } = findPlace();
    const isWanted = path.length === 1 && state.functions.has(name);
    // Calls in imported files belong to those files.
    if (isWanted && file === state.entry) calls.push({ name, args: given, line });
    if (!isWanted && !state.given.has(name) && !bodies.has(name))
      for (const one of given) if (isCallback(one)) callWithStubs(one, label);
    return createStub(`${label}(...)`, path, given);
  };
  const stub: object = new Proxy(class {}, {
    get: (_, key) => {
      if (key === Symbol.toPrimitive) return () => fail(label);
      if (typeof key === "symbol" || key === "then") return undefined;
      if (key === "toString" || key === "toJSON" || key === "valueOf") return () => fail(label);
      return createStub(`${label}.${key}`, args ? [label, key] : [...path, key]);
    },
    apply: (_, __, given) => make(given),
    construct: (_, given) => make(given) as object,
  });
  origins.set(stub, { path, line: findPlace().line, ...(args && { args }) });
  return stub;
}

type Callback = (...args: unknown[]) => unknown;

const isCallback = (value: unknown): value is Callback => typeof value === "function" && !origins.has(value);

function fail(label: string): never {
  throw new Error(`${label} is not known: its module is not run`);
}

function callWithStubs(callback: Callback, label: string): void {
  const result = callback(createStub(`a parameter of ${label}`, ["(parameter)"]));
  if (result instanceof Promise) result.catch(() => {});
}

/** The current place in the sources: the first stack frame outside of this program and Node. */
function findPlace(): { file: string; line: number } {
  const own = dirname(fileURLToPath(import.meta.url));
  for (const frame of (new Error().stack ?? "").split("\n").slice(1)) {
    const [, file = "", line] = /(?:\(|at )([^()]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (file.startsWith("/") || /^[A-Za-z]:\\/.test(file))
      if (!file.startsWith(own)) return { file, line: Number(line) };
  }
  return { file: "", line: 1 };
}

/** Converts a value to JSON. Functions without parameters are called, because they often return data. */
async function writeTerm(value: unknown, outer: readonly object[]): Promise<Term> {
  if (value === undefined) return { kind: "undefined" };
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number")
    return Number.isFinite(value) ? value : { kind: "unknown", reason: `the number ${value}` };
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "symbol") return { kind: "unknown", reason: "a symbol" };
  const origin = origins.get(value);
  if (outer.includes(value)) return { kind: "unknown", reason: "a value that contains itself" };
  if (outer.length > 60) return { kind: "unknown", reason: "a value that is nested too deeply" };
  const write = (one: unknown) => writeTerm(one, [...outer, value]);
  if (origin) {
    const { path, line, args } = origin;
    return { kind: "stub", path, line, ...(args && { args: await Promise.all(args.map(write)) }) };
  }
  if (typeof value === "function") {
    const source = String(value);
    if (value.length > 0 || /^class\b/.test(source)) return { kind: "function", source };
    try {
      return { kind: "function", source, returned: await write(await value()) };
    } catch (error) {
      const returned = { kind: "unknown", reason: `a function that threw: ${messageOf(error)}` } as const;
      return { kind: "function", source, returned };
    }
  }
  if (value instanceof Promise) return await write(await value.catch((error) => fail(messageOf(error))));
  if (value instanceof RegExp) return { kind: "pattern", source: value.source, flags: value.flags };
  if (Array.isArray(value)) return { kind: "list", items: await Promise.all(value.map(write)) };
  if (value instanceof Date) return value.toJSON();
  const members = Object.entries(value).map(async ([key, one]): Promise<[string, Term]> => [key, await write(one)]);
  return { kind: "object", members: await Promise.all(members) };
}
