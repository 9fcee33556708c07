import { basename, extname, relative, resolve } from "node:path";
import { type Place, type Problem, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import type { Settings } from "../../lint/rule.ts";
import { readParsed } from "../../parsing/read.ts";
import { isJsonObject } from "../../types/json.ts";
import { type Gathered, nothing } from "./gathered.ts";
import { toolTargets } from "./toolTargets.ts";

/** What is known of a list: what it was read as, and the names in it. */
export type Listed = { gathered: Gathered; names: readonly string[] };

/**
 * Reads a list from a file, `file` relative to `cwd`: an array of tools or `{ tools: [...] }`, whatever its entries hold.
 * Throws EvalsError when there is no list in it.
 */
export async function fileTools(file: string, settings: readonly Settings[], io: Io): Promise<Listed> {
  const path = resolve(io.cwd, file);
  const located = await readParsed(path, relative(io.cwd, path) || ".", { lenient: true });
  const root = Array.isArray(located.value) ? [] : ["tools"];
  const items: unknown = isJsonObject(located.value) ? located.value.tools : located.value;
  if (!Array.isArray(items))
    throw usageError("this is no list of tools", "Write an array of tools, or { tools: [...] }.", located.place(root));
  const place = (at: Path) => located.place([...root, ...at]);
  return listed({ server: basename(file, extname(file)), items, settings, warnings: [], place });
}

type Read = {
  server: string;
  items: readonly unknown[];
  settings: readonly Settings[];
  warnings: readonly Problem[];
  /** The suite or the host's file that names the server. */
  via?: Place;
  /** Where something stands, for a list in a file. Paths start with the index of an entry. */
  place?(path: Path): Place;
};

/** What there is to lint in a list, whatever its entries are. */
export function listed({ server, items, settings, warnings, via, place }: Read): Listed {
  const placeOf = (at: Path) => place?.(at) ?? via;
  const problem = (message: string, hint: string, at?: Place): Problem => {
    return { severity: "error", message, hint, ...(at && { place: at }) };
  };
  if (items.length === 0) {
    const message = `"${server}" lists no tools, so there is nothing to lint`;
    const problems = [problem(message, "Check that it is the right server or file.", via)];
    return { names: [], gathered: { ...nothing, warnings, problems } };
  }
  const entries = items.map((item, index) => ({ item, index }));
  const found = entries.flatMap(({ item, index }) => (isJsonObject(item) ? [{ tool: item, index }] : []));
  const problems = entries
    .filter(({ item }) => !isJsonObject(item))
    .map(({ index }) => {
      const message = `entry ${index + 1} of the list${place ? "" : ` of "${server}"`} is no tool`;
      const hint = "A tool is an object with a name, a description and an inputSchema.";
      return problem(message, hint, placeOf([index]));
    });
  const tools = found.map(({ tool }) => tool);
  const shifted =
    place && (([at, ...inside]: Path) => place(at === undefined ? [] : [found[Number(at)]?.index ?? at, ...inside]));
  const list = { server, tools, ...(via && { via }), ...(shifted && { place: shifted }) };
  const names = tools.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  return { names, gathered: { targets: toolTargets(list, settings), warnings, problems } };
}
