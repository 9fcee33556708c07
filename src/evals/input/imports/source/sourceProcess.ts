import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { dirname, join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { createJiti } from "jiti";
import { messageOf } from "../../../base/types/errors.ts";
import type { ProcessInput, SourceCall, SourceRequest, SourceRun, Value } from "./run.ts";

// The process of `runSources`. Names that a format defines, packages and the globals of test runners are stubs. Each
// member and each call of a stub is a stub as well, and remembers how it was made.

/** Modules of Node that are not replaced by stubs. */
const allowedModules = new Set(["fs", "fs/promises", "path", "url", "util"]);
/** Functions of test runners whose callbacks define no tests, so they are not called. */
const bodies = new Set(["it", "test", "beforeAll", "beforeEach", "afterAll", "afterEach"]);
const runnerGlobals = ["describe", "expect", "vi", "jest", ...bodies];
/** What opens connections. */
const forbiddenGlobals = ["fetch", "WebSocket", "EventSource"];

/** Evaluates an expression in the scope of a file. */
type Scope = (expression: string) => unknown;
type Loaded = { exports: Record<string, unknown>; done: Promise<unknown>; scope?: Scope };

/** The file that is run, and what was recorded of it. */
const state = {
  entry: "",
  request: { functions: [] } as SourceRequest,
  calls: [] as { name: string; args: readonly unknown[]; line: number }[],
  scope: undefined as Scope | undefined,
};
/** How each stub was made. */
const origins = new WeakMap<object, { path: readonly string[]; args?: readonly unknown[] }>();
const jiti = createJiti(import.meta.url, { fsCache: false });
const nodeRequire = createRequire(import.meta.url);
/** The translated code of each file: every source runs in modules of its own. */
const translated = new Map<string, string>();

async function main(): Promise<void> {
  const { root, sources } = JSON.parse(await text(process.stdin)) as ProcessInput;
  const { stdout } = process;
  const end = process.exit.bind(process);
  // What fails after a source was read is not about its cases.
  process.on("uncaughtException", () => {});
  process.on("unhandledRejection", () => {});
  restrictGlobals();
  for (const name of runnerGlobals) Object.defineProperty(globalThis, name, { value: createStub(name, [name]) });
  const files = new RepositoryFiles(root);
  for (const { path, request } of sources) {
    const run = await runSource(path, request, files);
    await new Promise<void>((done) => void stdout.write(`${JSON.stringify({ path, run })}\n`, () => done()));
  }
  end();
}

/**
 * Takes from the sources what the permissions of Node leave: connections, signals to other processes, the streams of
 * this process (sockets, and what is written there counts as a reply), and through `process` all modules.
 */
function restrictGlobals(): void {
  for (const name of forbiddenGlobals) Reflect.deleteProperty(globalThis, name);
  Object.defineProperty(Socket.prototype, "connect", { value: undefined });
  const { platform, arch, version, versions, nextTick, hrtime, uptime } = process;
  const [cwd, exit] = [process.cwd.bind(process), process.exit.bind(process)];
  const stream = { isTTY: false, columns: 80, write: () => true };
  const shown = { platform, arch, version, versions, nextTick, hrtime, uptime, cwd, exit };
  const listening = Object.fromEntries(["on", "once", "off", "emit", "emitWarning"].map((name) => [name, () => {}]));
  const value = { ...shown, ...listening, argv: [], execArgv: [], env: {}, stdout: stream, stderr: stream };
  Object.defineProperty(globalThis, "process", { value });
  Object.defineProperty(globalThis, "console", {
    value: Object.fromEntries(Object.keys(console).map((name) => [name, () => {}])),
  });
}

async function runSource(path: string, request: SourceRequest, files: RepositoryFiles): Promise<SourceRun> {
  Object.assign(state, { entry: path, request, calls: [], scope: undefined });
  const load = createLoader(path, files);
  let failed: string | undefined;
  try {
    const loaded = load(path);
    state.scope = loaded.scope;
    await loaded.done;
  } catch (error) {
    failed = `it threw: ${messageOf(error)}`;
  }
  const calls: SourceCall[] = [];
  for (const { name, args, line } of state.calls)
    calls.push({ name, line, args: await Promise.all(args.map((arg) => toValue(arg, []))) });
  const constant = await readConstant(path, request, files, load);
  return { calls, ...(constant !== undefined && { constant }), ...(failed !== undefined && { failed }) };
}

/** The value of a constant in another file, whether or not it is exported; undefined if it is not found. */
async function readConstant(
  entry: string,
  { constant }: SourceRequest,
  files: RepositoryFiles,
  load: (path: string) => Loaded,
): Promise<Value | undefined> {
  if (!constant) return undefined;
  const { importedName, file, name } = constant;
  const imports = readFileSync(entry, "utf8").matchAll(/^import\b([^"';]*)\bfrom\s*["']([^"']+)["']/gm);
  const found = [...imports].find(([, names = ""]) => names.split(/\W+/).includes(importedName));
  const located = found && files.locate(`${found[2]?.slice(0, found[2].lastIndexOf("/") + 1)}${file}`, entry);
  if (located === undefined) return undefined;
  try {
    return await toValue(load(located).scope?.(name), []);
  } catch {
    return undefined;
  }
}

/** Creates a loader for files of the repository. Names that the format defines are stubs in every import. */
function createLoader(entry: string, files: RepositoryFiles): (path: string) => Loaded {
  const known = new Map<string, Loaded>();
  const load = (path: string): Loaded => {
    const before = known.get(path);
    if (before) return before;
    const loaded: Loaded = { exports: {}, done: Promise.resolve() };
    known.set(path, loaded);
    if (path.endsWith(".json")) {
      loaded.exports = { default: JSON.parse(readFileSync(path, "utf8")), __esModule: true };
      return loaded;
    }
    const code = translated.get(path) ?? translate(path);
    translated.set(path, code);
    // Only the entry may use top-level await; imports are synchronous.
    const parameters = "exports, require, module, jitiImport, __filename, __dirname, setScope";
    // Without a parameter of its own, the function hides no name of the file.
    const scope = "setScope(function () { return eval(arguments[0]); });";
    const start = `(${path === entry ? "async " : ""}function (${parameters}) { "use strict"; ${scope}`;
    const made = new Script(`${start}${code}\n})`, { filename: path }).runInThisContext();
    const module = { exports: loaded.exports };
    const importFile = (specifier: string) => importFrom(specifier, path);
    const setScope = (scope: Scope) => Object.assign(loaded, { scope });
    const importLater = async (specifier: string) => importFile(specifier);
    loaded.done = made(module.exports, importFile, module, importLater, path, dirname(path), setScope);
    loaded.exports = module.exports;
    return loaded;
  };

  /** The exports of a module: stubs, or its own, for which it is loaded on first use. */
  const importFrom = (specifier: string, from: string): unknown => {
    const builtIn = specifier.replace(/^node:/, "");
    if (allowedModules.has(builtIn)) {
      const module = nodeRequire(`node:${builtIn}`);
      return { ...module, default: module };
    }
    const target = specifier.startsWith("file:") ? fileURLToPath(specifier) : files.locate(specifier, from);
    const own = () => (target === undefined ? undefined : load(target).exports);
    return new Proxy(Object.create(null), {
      get: (_, key) => {
        if (typeof key === "symbol" || key === "then") return undefined;
        if (key === "__esModule") return true;
        if (isRecorded(key) || state.request.stubs?.includes(key)) return createStub(key, [key]);
        const exported = own();
        return exported ? exported[key] : createStub(`${key} of ${specifier}`, [key]);
      },
      ownKeys: () => Reflect.ownKeys(own() ?? {}).filter((key) => key !== "__esModule"),
      getOwnPropertyDescriptor: (_, key) => ({ enumerable: true, configurable: true, value: own()?.[String(key)] }),
    });
  };
  return load;
}

function translate(path: string): string {
  const source = readFileSync(path, "utf8");
  return jiti.transform({ source, filename: path, ts: true, jsx: path.endsWith("x"), retainLines: true });
}

const isRecorded = (name: string) => state.request.functions.includes(name.replace(/\/callback$/, ""));

/** Creates a stub. Calls of wanted functions are recorded; callbacks that may contain such calls are called once. */
function createStub(label: string, path: readonly string[], args?: readonly unknown[]): unknown {
  const call = (given: readonly unknown[]) => {
    const [name = ""] = path;
    const { file, line } = findLocation();
    const isWanted = path.length === 1 && isRecorded(name);
    // Calls in imported files belong to those files.
    if (isWanted && file === state.entry) state.calls.push({ name, args: given, line });
    const isCalled = isWanted ? !name.endsWith("/callback") : !state.request.stubs?.includes(name) && !bodies.has(name);
    const parameter = isWanted ? createStub(name, [`${name}/callback`]) : createStub(`a parameter of ${label}`, [""]);
    for (const callback of isCalled ? given.filter(isCallback) : []) {
      const result = callback(parameter);
      if (result instanceof Promise) result.catch(() => {});
    }
    return createStub(`${label}(...)`, path, given);
  };
  const stub: object = new Proxy(class {}, {
    get: (_, key) => {
      if (key === Symbol.toPrimitive) return () => fail(label);
      // A list of unknown length is one unknown item.
      if (key === Symbol.iterator) return () => [createStub(label, path, args)].values();
      if (typeof key === "symbol" || key === "then") return undefined;
      if (key === "toString" || key === "toJSON" || key === "valueOf") return () => fail(label);
      return createStub(`${label}.${key}`, args ? [label, key] : [...path, key]);
    },
    apply: (_, __, given) => call(given),
    construct: (_, given) => call(given) as object,
  });
  origins.set(stub, { path, ...(args && { args }) });
  return stub;
}

type Callback = (...args: unknown[]) => unknown;

const isCallback = (value: unknown): value is Callback => typeof value === "function" && !origins.has(value);

function fail(label: string): never {
  throw new Error(`${label} is not known: its module is not run`);
}

/** The current place in the sources: the first stack frame outside of this program and Node. */
function findLocation(): { file: string; line: number } {
  const own = dirname(fileURLToPath(import.meta.url));
  for (const frame of (new Error().stack ?? "").split("\n").slice(1)) {
    const [, file = "", line] = /(?:\(|at )([^()]+):(\d+):\d+\)?$/.exec(frame) ?? [];
    const isFile = file.startsWith("/") || /^[A-Za-z]:\\/.test(file);
    if (isFile && !file.startsWith(own)) return { file, line: Number(line) };
  }
  return { file: "", line: 1 };
}

/** Converts a value to JSON. Functions without parameters are called, because they often return data. */
async function toValue(value: unknown, outer: readonly object[]): Promise<Value> {
  const unknown = (reason: string) => ({ kind: "unknown", reason }) as const;
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : unknown(`the number ${value}`);
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "symbol") return unknown("a symbol");
  if (outer.includes(value)) return unknown("a value that contains itself");
  if (outer.length > 60) return unknown("a value that is nested too deeply");
  const convert = (one: unknown) => toValue(one, [...outer, value]);
  const origin = origins.get(value);
  if (origin) {
    const args = origin.args && (await Promise.all(origin.args.map(convert)));
    return { kind: "stub", name: origin.path.join("."), ...(args && { args }) };
  }
  try {
    if (typeof value === "function") {
      const source = String(value);
      const expressions = await readExpressions(source);
      if (value.length > 0 || /^class\b/.test(source)) return { kind: "function", source, expressions };
      const onError = (error: unknown) => unknown(`it threw: ${messageOf(error)}`);
      const returned = await Promise.resolve(value()).then(convert, onError);
      return { kind: "function", source, expressions, returned };
    }
    if (value instanceof Promise) return await convert(await value);
    if (value instanceof RegExp) return unknown(`the regular expression ${value}`);
    if (value instanceof Date) return value.toJSON();
    if (Array.isArray(value)) return await Promise.all(value.map(convert));
    const members = Object.entries(value).map(async ([name, one]) => [name, await convert(one)] as const);
    return { kind: "object", members: Object.fromEntries(await Promise.all(members)) };
  } catch (error) {
    return unknown(`a value that threw: ${messageOf(error)}`);
  }
}

/** The values of the expressions that the format asks for in the text of a function, in the scope of the entry. */
async function readExpressions(source: string): Promise<Record<string, Value[]>> {
  const found = Object.entries(state.request.expressions ?? {}).map(async ([name, pattern]) => {
    const matches = [...source.matchAll(new RegExp(pattern, "g"))];
    const values = matches.map(async ([, expression = ""]): Promise<Value> => {
      try {
        return await toValue(state.scope?.(`(${expression})`), []);
      } catch {
        return { kind: "unknown", reason: `${expression} is not known outside of its function` };
      }
    });
    return [name, await Promise.all(values)] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Finds the files that import specifiers refer to. Nothing outside of the repository is found. */
class RepositoryFiles {
  #packages: Map<string, string> | undefined;

  constructor(readonly root: string) {}

  locate(specifier: string, from: string): string | undefined {
    const base = specifier.startsWith(".") ? resolve(dirname(from), specifier) : this.#findPackage(specifier);
    if (base === undefined || relative(this.root, base).startsWith("..")) return undefined;
    return listCandidates(base).find((one) => existsSync(one) && statSync(one).isFile());
  }

  /** The path that a specifier refers to in a package of the same repository. */
  #findPackage(specifier: string): string | undefined {
    this.#packages ??= listPackages(this.root);
    const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
    const folder = this.#packages.get(name);
    if (folder === undefined) return undefined;
    const rest = specifier.slice(name.length + 1);
    if (rest === "") return join(folder, "src", "index.ts");
    const inside = join(folder, rest);
    return listCandidates(inside).some(existsSync) ? inside : join(folder, "src", rest);
  }
}

function listCandidates(base: string): string[] {
  const bare = base.replace(/\.(?:[cm]?[jt]s|[jt]sx)$/, "");
  const sources = [".ts", ".tsx", ".mts", ".js", ".mjs"].map((ending) => `${bare}${ending}`);
  return [base, ...sources, join(base, "index.ts"), `${base}.json`];
}

/** The folders of packages in the usual places of a monorepo, by package name. */
function listPackages(root: string): Map<string, string> {
  const folders = ["packages", "apps", "libs", "services"].flatMap((location) => {
    const folder = join(root, location);
    return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  });
  return new Map(
    folders.flatMap((folder) => {
      try {
        const { name } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name?: unknown };
        return [[String(name), folder] as const];
      } catch {
        return [];
      }
    }),
  );
}

await main();
