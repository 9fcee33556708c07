import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { messageOf } from "../../../base/types/errors.ts";
import type { Json } from "../../../base/types/json.ts";
import { maxBytes, readText } from "../../parsing/read.ts";
import { type Node, parseSource } from "./syntax.ts";

/** A file of the repository: a parsed module, or the data of a JSON file. `file` is how messages name it. */
export type Module = { path: string; file: string } & ({ kind: "module"; tree: Node } | { kind: "json"; data: Json });

/** Reads modules of a repository, each once. Nothing outside of its root is read. */
export class Modules {
  readonly root: string;
  readonly #cwd: string;
  readonly #known = new Map<string, Module | string>();
  #packages: Map<string, string> | undefined;

  /** @param start a file or folder of the repository; its root is the nearest folder above with `.git` or workspaces */
  constructor(start: string, cwd: string) {
    this.root = findRoot(start);
    this.#cwd = cwd;
  }

  /** Loads a module, or says why it cannot be read. Throws EvalsError for a source that cannot be parsed. */
  #load(path: string): Module | string {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const found = this.#read(path);
    this.#known.set(path, found);
    return found;
  }

  /** The path of the file that an import specifier in a file refers to, or why there is none. */
  locate(specifier: string, from: string): { path: string } | { reason: string } {
    const base = specifier.startsWith(".") ? resolve(dirname(from), specifier) : this.#findPackage(specifier);
    if (base === undefined) return { reason: `${specifier} is not a file of the repository` };
    if (relative(this.root, base).startsWith("..")) return { reason: `${specifier} is outside of the repository` };
    const path = candidates(base).find((one) => existsSync(one) && statSync(one).isFile());
    return path === undefined ? { reason: `${specifier} cannot be found` } : { path };
  }

  /** Loads the module that an import specifier in a file refers to, or says why it cannot be read. */
  resolve(specifier: string, from: string): Module | string {
    const located = this.locate(specifier, from);
    if ("reason" in located) return located.reason;
    try {
      return this.#load(located.path);
    } catch (error) {
      return `${specifier} cannot be read: ${messageOf(error)}`;
    }
  }

  #read(path: string): Module | string {
    const file = relative(this.#cwd, path) || path;
    const read = readText(path, maxBytes);
    if ("kind" in read) return `${file} cannot be read: ${read.reason}`;
    if (path.endsWith(".json")) return { path, file, kind: "json", data: JSON.parse(read.text) as Json };
    return { path, file, kind: "module", tree: parseSource(read.text, file) };
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
    return candidates(inside).some(existsSync) ? inside : join(folder, "src", rest);
  }
}

const mostLevels = 12;

function findRoot(start: string): string {
  const first = existsSync(start) && statSync(start).isDirectory() ? start : dirname(start);
  let found = first;
  for (let [folder, level] = [first, 0]; level < mostLevels; [folder, level] = [dirname(folder), level + 1]) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (existsSync(join(folder, "package.json"))) found = folder;
    if (dirname(folder) === folder) break;
  }
  return found;
}

/** The folders of packages in the usual places of a monorepo, by package name. */
function listPackages(root: string): Map<string, string> {
  const folders = ["packages", "apps", "libs", "services"].flatMap((place) => {
    const folder = join(root, place);
    return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  });
  return new Map(
    folders.flatMap((folder) => {
      const read = readText(join(folder, "package.json"), maxBytes);
      if ("kind" in read) return [];
      try {
        return [[String((JSON.parse(read.text) as { name?: unknown }).name), folder] as const];
      } catch {
        return [];
      }
    }),
  );
}

function candidates(base: string): string[] {
  const bare = base.replace(/\.(?:[cm]?[jt]s|[jt]sx)$/, "");
  const sources = [".ts", ".tsx", ".mts", ".js", ".mjs"].map((ending) => `${bare}${ending}`);
  return [base, ...sources, join(base, "index.ts"), `${base}.json`];
}
