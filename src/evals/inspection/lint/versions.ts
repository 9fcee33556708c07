import { relative, resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import { type Place, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Path } from "../../base/types/json.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import type { LintReport } from "../../base/types/lint.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { readBaseline } from "../../records/baseline.ts";
import { listBaselineTools } from "../../servers/changes/changes.ts";
import { listEffects } from "../../servers/changes/tools.ts";
import type { LintSubject, LintSubjectOf } from "./rule.ts";

/** The earlier list, and the place of a value of a tool in its file. */
type Older = { tools: readonly JsonObject[]; place(tool: Path[number], inside: Path): Place };

/**
 * Compares the linted list with an earlier one: a subject for the versioning rules, and every change. Throws EvalsError
 * unless exactly one list is linted, and when the file has neither a baseline nor a list.
 */
export async function compareVersions(
  file: string,
  lists: readonly LintSubjectOf<"toolsets">[],
  io: Io,
): Promise<{ subject: LintSubject; changes: NonNullable<LintReport["changes"]> }> {
  const [list, ...more] = lists;
  if (!list || more.length > 0)
    throw usageError(
      `--against needs exactly one tool list, but ${lists.length} are linted.`,
      "Name one server or list with --server, --url or --tools, or one suite.",
    );
  const older = await readOlder(file, io);
  const { server, tools } = list.subject;
  const compared: LintSubject = {
    kind: "versions",
    subject: { before: older.tools, after: tools },
    names: [...new Set([...tools, ...older.tools].map(getName))],
    settings: list.settings,
    where: ([tool = "", ...inside]) => {
      const now = tools.findIndex((one) => one.name === tool);
      if (now !== -1) return list.where([now, ...inside]);
      return { server, tool: String(tool), path: formatJsonPath(inside), ...older.place(tool, inside) };
    },
  };
  const changes = listEffects(older.tools, tools).map((effect) => ({ ...effect, path: [...effect.path] }));
  return { subject: compared, changes };
}

const getName = ({ name }: JsonObject) => String(name);

async function readOlder(file: string, io: Io): Promise<Older> {
  const path = resolve(io.cwd, file);
  const { value, place } = await readParsed(path, relative(io.cwd, path) || ".", { lenient: true });
  if (isJsonObject(value) && "toolsets" in value) {
    const baseline = await readBaseline(path);
    if (baseline) return { tools: listBaselineTools(baseline), place: () => place(["toolsets"]) };
  }
  const root = Array.isArray(value) ? [] : ["tools"];
  const items: unknown = isJsonObject(value) ? value.tools : value;
  if (!Array.isArray(items))
    throw usageError(
      "This is neither a baseline nor a tool list.",
      "Use a file of evals/baselines, an array of tools, or { tools: [...] }.",
      place([]),
    );
  const tools = items.filter(isJsonObject);
  const at = (name: Path[number]) => items.findIndex((item) => isJsonObject(item) && item.name === name);
  return { tools, place: (tool, inside) => place([...root, at(tool), ...inside]) };
}
