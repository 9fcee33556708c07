import { basename, extname, relative, resolve } from "node:path";
import { type Place, type Problem, usageError } from "../../../errors.ts";
import type { Path } from "../../../lint/rule.ts";
import type { Settings } from "../../../lint/target.ts";
import { openSource } from "../../../toolsets/source.ts";
import { isJsonObject, type JsonObject } from "../../../types/json.ts";
import type { ServerSpec } from "../../../types/suite.ts";
import type { Io } from "../../io.ts";
import { type Gathered, nothing } from "./gathered.ts";
import { readPlaced } from "./placed.ts";
import { type RawList, toolTargets } from "./toolTargets.ts";

/** What is known of a list: what it was read as, and the names in it. */
export type Listed = { gathered: Gathered; names: readonly string[] };

/** Lists a live server and closes it again. Throws EvalsError when it cannot be listed. */
export async function liveTools(
  server: ServerSpec,
  { dir, via, settings, io }: { dir: string; via?: Place; settings: readonly Settings[]; io: Io },
): Promise<Listed> {
  const source = await openSource({ server, distractors: [], dir }, io.env, io.signal);
  await source.close();
  const tools = source.tools.map(
    ({ server: _, origin: __, ...tool }) => JSON.parse(JSON.stringify(tool)) as JsonObject,
  );
  const name = source.tools[0]?.server ?? ("name" in server ? server.name : "server");
  const list = { server: name, tools, ...(via && { via }) };
  return listed(list, settings, source.warnings, []);
}

/**
 * Reads a list from a file, `file` relative to `cwd`: an array of tools or `{ tools: [...] }`, whatever its entries hold.
 * Throws EvalsError when there is no list in it.
 */
export async function fileTools(file: string, settings: readonly Settings[], io: Io): Promise<Listed> {
  const path = resolve(io.cwd, file);
  const located = await readPlaced(path, relative(io.cwd, path));
  const root = Array.isArray(located.value) ? [] : ["tools"];
  const items: unknown = isJsonObject(located.value) ? located.value.tools : located.value;
  if (!Array.isArray(items))
    throw usageError("this is no list of tools", "Write an array of tools, or { tools: [...] }.", located.place(root));
  const place = (at: Path) => located.place([...root, ...at]);
  const problems = items.flatMap((item: unknown, index): Problem[] =>
    isJsonObject(item)
      ? []
      : [
          {
            severity: "error",
            message: `entry ${index + 1} of the list is no tool`,
            hint: "A tool is an object with a name, a description and an inputSchema.",
            place: place([index]),
          },
        ],
  );
  const indices = items.flatMap((item: unknown, index) => (isJsonObject(item) ? [index] : []));
  const tools = items.filter(isJsonObject);
  const shifted = ([index, ...inside]: Path) =>
    place(index === undefined ? [] : [indices[Number(index)] ?? index, ...inside]);
  return listed({ server: basename(file, extname(file)), tools, place: shifted }, settings, [], problems);
}

function listed(
  list: RawList,
  settings: readonly Settings[],
  warnings: readonly Problem[],
  problems: readonly Problem[],
): Listed {
  const names = list.tools.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  const empty: Problem = {
    severity: "error",
    message: `"${list.server}" lists no tools, so there is nothing to lint`,
    hint: "Check that it is the right server or file.",
    ...(list.via && { place: list.via }),
  };
  if (list.tools.length === 0 && problems.length === 0)
    return { names, gathered: { ...nothing, warnings, problems: [empty] } };
  return { names, gathered: { targets: toolTargets(list, settings), warnings, problems } };
}
