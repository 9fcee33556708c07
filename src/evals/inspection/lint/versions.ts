import { relative, resolve } from "node:path";
import { toolsOfBaseline } from "../../changes/changes.ts";
import { listEffects } from "../../changes/tools.ts";
import { type Place, usageError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import { jsonPath } from "../../jsonSchema/paths.ts";
import type { Target, TargetOf } from "../../lint/rule.ts";
import { readParsed } from "../../parsing/read.ts";
import { readBaseline } from "../../runs/baseline.ts";
import { isJsonObject, type JsonObject } from "../../types/json.ts";
import type { LintReport } from "../../types/lint.ts";

/** A list as it was, and where something of a tool stands in its file. */
type Older = { tools: readonly JsonObject[]; place(tool: Path[number], inside: Path): Place };

/**
 * The list that is linted beside an older one, and every change between the two. Throws EvalsError unless just one list is
 * linted, or when the file holds neither a baseline nor a list.
 */
export async function versionTarget(
  file: string,
  lists: readonly TargetOf<"toolsets">[],
  io: Io,
): Promise<{ target: Target; changes: NonNullable<LintReport["changes"]> }> {
  const [list, ...more] = lists;
  if (!list || more.length > 0)
    throw usageError(
      `--against compares one list of tools; ${lists.length} are linted`,
      "Name one server or list with --server, --url or --tools, or one suite.",
    );
  const older = await readOlder(file, io);
  const { server, tools } = list.subject;
  const target: Target = {
    kind: "versions",
    subject: { before: older.tools, after: tools },
    names: [...new Set([...tools, ...older.tools].map(nameOf))],
    settings: list.settings,
    where: ([tool = "", ...inside]) => {
      const now = tools.findIndex((one) => one.name === tool);
      if (now !== -1) return list.where([now, ...inside]);
      return { server, tool: String(tool), path: jsonPath(inside), ...older.place(tool, inside) };
    },
  };
  const changes = listEffects(older.tools, tools).map((effect) => ({ ...effect, path: [...effect.path] }));
  return { target, changes };
}

const nameOf = ({ name }: JsonObject) => String(name);

async function readOlder(file: string, io: Io): Promise<Older> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readParsed(path, relative(io.cwd, path) || ".", { lenient: true });
  if (isJsonObject(value) && "toolsets" in value) {
    const baseline = await readBaseline(path);
    if (baseline) return { tools: toolsOfBaseline(baseline), place: () => place(["toolsets"]) };
  }
  const root = Array.isArray(value) ? [] : ["tools"];
  const items: unknown = isJsonObject(value) ? value.tools : value;
  if (!Array.isArray(items))
    throw usageError(
      "this is neither a baseline nor a list of tools",
      "Give a file of evals/baselines, an array of tools, or { tools: [...] }.",
      place([]),
    );
  const tools = items.filter(isJsonObject);
  const at = (name: Path[number]) => items.findIndex((item) => isJsonObject(item) && item.name === name);
  return { tools, place: (tool, inside) => place([...root, at(tool), ...inside]) };
}
