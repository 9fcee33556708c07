import type { Place } from "../../errors.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import { jsonPath } from "../../jsonSchema/paths.ts";
import type { Settings, Target } from "../../lint/rule.ts";
import { type HostName, hosts } from "../../toolsets/host.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Where } from "../../types/lint.ts";

/** A list of tools as it was read, unchecked. */
type RawList = {
  server: string;
  tools: readonly JsonObject[];
  /** The suite or the host's file that names the server. */
  via?: Place;
  /** Where something stands, for a list in a file. Paths start with the index of a tool. */
  place?(path: Path): Place;
};

/** One target for each tool of a list, and one for the list. */
export function toolTargets(list: RawList, settings: readonly Settings[]): Target[] {
  const { server, tools } = list;
  const names = tools.map(({ name }) => (typeof name === "string" ? name : undefined));
  const known = names.flatMap((name) => name ?? []);
  const counts = new Map<string, number>();
  for (const name of known) counts.set(name, (counts.get(name) ?? 0) + 1);
  const all = new Set(known);
  const whereOf = whereIn(list, names);
  return [
    ...tools.map((tool, index): Target => {
      const name = names[index];
      // A twin of the same name is another tool of the list.
      const siblings = name !== undefined && counts.get(name) === 1 ? new Others(all, name) : all;
      return {
        kind: "tools",
        subject: { server, tool, siblings, shownName: longestName(server, name ?? "") },
        names: name === undefined ? [] : [name],
        settings,
        where: (at) => whereOf([index, ...at]),
      };
    }),
    { kind: "toolsets", subject: { server, tools }, names: known, settings, where: whereOf },
  ];
}

function whereIn({ server, via, place }: RawList, names: readonly (string | undefined)[]) {
  return (at: Path): Where => {
    const [index, ...inside] = at;
    const tool = typeof index === "number" ? names[index] : undefined;
    const path = jsonPath(tool === undefined ? at : inside);
    return { server, ...(tool !== undefined && { tool }), path, ...place?.(at), ...(via && { via }) };
  };
}

/** The longest name that a known host shows a tool under. */
function longestName(server: string, name: string): string {
  const tool = { server, name, inputSchema: {}, origin: "server" as const };
  const shown = (Object.keys(hosts) as HostName[]).map((host) => hosts[host].getName(tool));
  return shown.reduce((longest, one) => (one.length > longest.length ? one : longest), name);
}

/** All names but one, without a copy: a copy for each tool of a long list would be quadratic. */
class Others implements ReadonlySet<string> {
  readonly #all: ReadonlySet<string>;
  readonly #own: string;

  constructor(all: ReadonlySet<string>, own: string) {
    this.#all = all;
    this.#own = own;
  }

  get size(): number {
    return this.#all.size - 1;
  }

  has(name: string): boolean {
    return name !== this.#own && this.#all.has(name);
  }

  forEach(callback: (value: string, key: string, set: ReadonlySet<string>) => void): void {
    for (const name of this) callback(name, name, this);
  }

  *values(): SetIterator<string> {
    for (const name of this.#all) if (name !== this.#own) yield name;
    return undefined;
  }

  *entries(): SetIterator<[string, string]> {
    for (const name of this) yield [name, name];
    return undefined;
  }

  keys(): SetIterator<string> {
    return this.values();
  }

  [Symbol.iterator](): SetIterator<string> {
    return this.values();
  }
}
