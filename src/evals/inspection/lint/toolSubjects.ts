import { basename, extname, relative, resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import type { Place, Problem } from "../../base/types/errors.ts";
import type { Location } from "../../base/types/finding.ts";
import type { Io } from "../../base/types/io.ts";
import type { Path } from "../../base/types/json.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import type { Settings } from "../../base/types/lint.ts";
import { type HostName, hosts } from "../../servers/host.ts";
import { readListFile } from "../../servers/toolList.ts";
import type { LintSubject, ToolSubject, ToolsetSubject } from "./rule.ts";

/** The subjects of a tool list, its tools and their names, and the problems of the list as a whole. */
export type ToolList = {
  subjects: LintSubject[];
  problems: Problem[];
  names: readonly string[];
  tools: readonly JsonObject[];
};

type RawList = {
  server: string;
  /** As listed, unchecked. */
  items: readonly unknown[];
  instructions?: string | undefined;
  settings: readonly Settings[];
  hasSuites?: boolean;
  /** The suite or host configuration that names the server. */
  via?: Place;
  /** The place of a value, for a list in a file. Paths start with the index of an item. */
  place?(path: Path): Place;
};

/**
 * The subjects of the tool list in a file, which is relative to the working directory. Throws EvalsError when the file has
 * no list.
 */
export async function readToolList(
  file: string,
  options: Pick<RawList, "settings" | "hasSuites">,
  io: Io,
): Promise<ToolList> {
  const path = resolve(io.cwd, file);
  const list = await readListFile(path, relative(io.cwd, path) || ".");
  return describeToolList({ server: basename(file, extname(file)), ...list, ...options });
}

/** The subjects of a list: each tool, and the list as a whole. Items that are not objects are problems. */
export function describeToolList({ server, items, instructions, settings, hasSuites, via, place }: RawList): ToolList {
  const makeProblem = (message: string, hint: string, at?: Place): Problem => {
    return { severity: "error", message, hint, ...(at && { place: at }) };
  };
  if (items.length === 0) {
    const problem = makeProblem(`"${server}" lists no tools.`, "Check that it is the right server or file.", via);
    return { subjects: [], problems: [problem], names: [], tools: [] };
  }
  const entries = [...items.entries()];
  const found = entries.flatMap(([index, item]) => (isJsonObject(item) ? [{ tool: item, index }] : []));
  const problems = entries
    .filter(([, item]) => !isJsonObject(item))
    .map(([index]) => {
      const message = `Item ${index + 1} of the list${place ? "" : ` of "${server}"`} is not a tool.`;
      const hint = "A tool is an object with a name, a description and an inputSchema.";
      return makeProblem(message, hint, place?.([index]) ?? via);
    });
  const tools = found.map(({ tool }) => tool);
  const toolNames = tools.map(({ name }) => (typeof name === "string" ? name : undefined));
  const where = (at: Path): Location => {
    const [index, ...inside] = at;
    const tool = typeof index === "number" ? toolNames[index] : undefined;
    const path = formatJsonPath(tool === undefined ? at : inside);
    const item = typeof index === "number" ? (found[index]?.index ?? index) : undefined;
    const inFile = place?.(item === undefined ? [] : [item, ...inside]);
    return { server, ...(tool !== undefined && { tool }), path, ...inFile, ...(via && { via }) };
  };
  const names = toolNames.flatMap((name) => name ?? []);
  const list = { server, tools, ...(hasSuites && { hasSuites }), ...(instructions !== undefined && { instructions }) };
  return { subjects: makeSubjects(list, names, settings, where), problems, names, tools };
}

function makeSubjects(
  list: ToolsetSubject,
  names: readonly string[],
  settings: readonly Settings[],
  where: (path: Path) => Location,
): LintSubject[] {
  const { server, tools } = list;
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const all = new Set(names);
  return [
    ...tools.map((tool, index): LintSubject => {
      const name = typeof tool.name === "string" ? tool.name : undefined;
      // Another tool with the same name is a sibling too.
      const siblings = name !== undefined && counts.get(name) === 1 ? omitName(all, name) : all;
      return {
        kind: "tools",
        subject: { server, tool, siblings, shownName: findLongestName(server, name ?? "") },
        names: name === undefined ? [] : [name],
        settings,
        where: (at) => where([index, ...at]),
      };
    }),
    { kind: "toolsets", subject: list, names, settings, where },
  ];
}

/** All names except one. It copies nothing, because a copy per tool would take quadratic time for a long list. */
function omitName(all: ReadonlySet<string>, omitted: string): ToolSubject["siblings"] {
  return {
    size: all.size - 1,
    has: (name) => name !== omitted && all.has(name),
    *[Symbol.iterator]() {
      for (const name of all) if (name !== omitted) yield name;
    },
  };
}

/** The longest name under which a known host shows a tool. */
function findLongestName(server: string, name: string): string {
  const tool = { server, name, inputSchema: {}, origin: "server" as const };
  const shown = (Object.keys(hosts) as HostName[]).map((host) => hosts[host].getName(tool));
  return shown.reduce((longest, one) => (one.length > longest.length ? one : longest), name);
}
