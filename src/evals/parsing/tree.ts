import { type Alias, isAlias, isMap, isNode, isPair, isScalar, isSeq, type Node, type Pair, visit } from "yaml";
import type { Json, JsonObject } from "../types/json.ts";
import { SyntaxFault } from "./json.ts";

/** The way to a value from the root: keys and indices. */
export type Path = readonly (string | number)[];

/** So many values, aliases expanded, are more than a file of 10 MiB needs; an "alias bomb" goes far beyond. */
const maxValues = 1_000_000;

/** The node tree of a file as JSON data, with the place of every value. Aliases are followed. */
export class Tree {
  readonly data: Json;
  readonly faults: SyntaxFault[] = [];
  /** False when `data` lacks something, so that checking it would mislead. */
  readable = true;
  readonly #root: Node;
  readonly #maxDepth: number;
  #targets: ReadonlyMap<Alias, Node> | undefined;
  #values = 0;

  constructor(root: Node, maxDepth: number) {
    this.#root = root;
    this.#maxDepth = maxDepth;
    this.data = this.#read(root, 0);
  }

  /** The offset in the text of the value (or its key) at `path`, else of the nearest value around it. */
  offset(path: Path, part: "key" | "value"): number {
    let node: unknown = this.#root;
    let offset = start(node) ?? 0;
    for (const [i, step] of path.entries()) {
      const found = childAt(this.#follow(node), step);
      if (!found) return offset;
      const wantsKey = part === "key" && i === path.length - 1;
      offset = (wantsKey ? undefined : start(found.value)) ?? start(found.key) ?? offset;
      node = found.value;
    }
    return offset;
  }

  #follow(node: unknown): unknown {
    return isAlias(node) ? this.#targetOf(node) : node;
  }

  /** Looked for when the first alias is met: JSON has none. */
  #targetOf(alias: Alias): Node | undefined {
    this.#targets ??= aliasTargets(this.#root);
    return this.#targets.get(alias);
  }

  #read(node: unknown, depth: number): Json {
    if (!this.readable) return null;
    if (++this.#values > maxValues)
      return this.#unreadable(node, "the file holds more than 1,000,000 values (aliases expanded)");
    if (depth > this.#maxDepth) {
      return this.#unreadable(
        node,
        `nested more than ${this.#maxDepth} levels deep, or an alias inside its own anchor`,
      );
    }
    if (node === null) return null;
    if (isAlias(node)) {
      const target = this.#targetOf(node);
      return target
        ? this.#read(target, depth + 1)
        : this.#unreadable(node, `no anchor &${node.source} before this alias`);
    }
    if (isSeq(node)) return node.items.map((item) => this.#read(item, depth + 1));
    if (isMap(node)) return this.#readMap(node.items, depth);
    return isScalar(node) ? this.#readScalar(node, node.value) : this.#unreadable(node, "not a JSON value");
  }

  #readScalar(node: Node, value: unknown): Json {
    if (value === null || typeof value === "boolean" || typeof value === "string") return value;
    if (typeof value !== "number") return this.#unreadable(node, "not a JSON value");
    return Number.isFinite(value) ? value : this.#unreadable(node, "not a finite number");
  }

  #readMap(pairs: readonly Pair[], depth: number): JsonObject {
    const seen = new Set<string>();
    const members = pairs.map(({ key, value }): [string, Json] => {
      const name = keyText(this.#follow(key));
      if (name === undefined) this.#unreadable(key, "a key must be text");
      else if (name === "__proto__") this.#unreadable(key, "`__proto__` cannot be a key");
      else if (seen.has(name)) {
        this.faults.push(
          new SyntaxFault(start(key) ?? 0, `\`${name}\` appears twice in this object`, "remove one of them"),
        );
      } else seen.add(name);
      return [name ?? "", this.#read(value, depth + 1)];
    });
    return Object.fromEntries(members);
  }

  #unreadable(node: unknown, message: string): null {
    this.readable = false;
    this.faults.push(new SyntaxFault(start(node) ?? 0, message));
    return null;
  }
}

function aliasTargets(root: Node): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(root, {
    Node(_, node) {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (isAlias(node) && target) targets.set(node, target);
      else if ("anchor" in node && node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

function childAt(node: unknown, step: string | number): { key?: unknown; value: unknown } | undefined {
  if (isSeq(node) && typeof step === "number")
    return step < node.items.length ? { value: node.items[step] } : undefined;
  if (!isMap(node)) return undefined;
  return node.items.find((pair) => isPair(pair) && keyText(pair.key) === String(step));
}

/** Keys are text in JSON: any scalar stands for what is written. */
function keyText(key: unknown): string | undefined {
  if (key === null) return "";
  if (!isScalar(key)) return undefined;
  return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
}

/** Where a node begins; undefined for nothing at all (`key:` without a value), which has no place of its own. */
function start(node: unknown): number | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range && range[0] < range[1] ? range[0] : undefined;
}
