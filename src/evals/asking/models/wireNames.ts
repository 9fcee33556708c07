import { hash } from "node:crypto";
import { once } from "../../base/collections.ts";
import type { ModelRequest } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";

/** Converts shown tool names to names that a provider accepts, and back. */
export type WireNames = {
  toWire(shown: string): string;
  /** Returns an unknown name unchanged, as the model wrote it. */
  toShown(wire: string): string;
};

/**
 * Maps tool names to names that model APIs accept: letters, digits, `_` and `-`, at most `max` characters. An accepted
 * name stays. In any other, each other character becomes `_`; if the result is too long or taken, it is cut and gets
 * eight hexadecimal digits of the name's SHA-256. The result does not depend on the order of names.
 */
export function mapToWireNames(names: readonly string[], max: number): WireNames {
  const acceptable = new RegExp(`^[a-zA-Z0-9_-]{1,${max}}$`);
  const wireByShown = new Map(names.filter((name) => acceptable.test(name)).map((name) => [name, name]));
  const shownByWire = new Map(wireByShown);
  for (const name of [...new Set(names)].sort()) {
    if (wireByShown.has(name)) continue;
    const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_");
    const hashed = `${plain.slice(0, max - 9)}_${hash("sha256", name).slice(0, 8)}`;
    const wire = acceptable.test(plain) && !shownByWire.has(plain) ? plain : hashed;
    wireByShown.set(name, wire);
    shownByWire.set(wire, name);
  }
  return {
    toWire: (shown) => wireByShown.get(shown) ?? shown,
    // A made-up name can be of any length, and is compared with all listed ones.
    toShown: (wire) => shownByWire.get(wire) ?? wire.slice(0, 200),
  };
}

/**
 * A cache of values that are derived from toolsets, by the hash of the toolset. `make` runs once per key, and beyond
 * `max` values the oldest is dropped. Most runs have few toolsets, but a suite whose cases have their own lists has
 * thousands.
 */
export function cacheByToolset<V>(max: number): (key: string, make: () => V) => V {
  const kept = new Map<string, V>();
  return (key, make) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (kept.size >= max) for (const oldest of kept.keys()) if (kept.delete(oldest)) break;
    kept.set(key, made);
    return made;
  };
}

/**
 * Creates a function that returns the tools of a request in the form of a service by their shown names, made once for
 * each toolset.
 * @param maxName the maximum length of a name
 */
export function createToolCache<Param>(maxName: number, write: (tool: OfferedTool, wireName: string) => Param) {
  const prepare = cacheByToolset<{ names: WireNames; params: ReadonlyMap<string, Param> }>(256);
  return ({ toolset, tools }: Pick<ModelRequest, "toolset" | "tools">) =>
    prepare(toolset, () => {
      const shown = tools.map(({ name }) => name);
      const names = mapToWireNames(shown, maxName);
      return { names, params: new Map(tools.map((tool) => [tool.name, write(tool, names.toWire(tool.name))])) };
    });
}

const stringifyTool = once((tool: object) => JSON.stringify(tool));

/**
 * The request of a JSON body for the SDKs. The tools of a cache above, which are most of a request, are written as JSON
 * once for all requests that show them, in any order.
 */
export function jsonRequest({ tools, ...rest }: { tools?: readonly object[] }, signal: AbortSignal) {
  const json = JSON.stringify(rest);
  const body = tools ? `${json.slice(0, -1)},"tools":[${tools.map(stringifyTool).join(",")}]}` : json;
  return { body, headers: { "content-type": "application/json" }, signal };
}
