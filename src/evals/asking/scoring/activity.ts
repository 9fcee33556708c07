import { isJsonObject, type Json } from "../../base/types/json.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import type { Call, ToolSearch, Turn } from "../../base/types/trial.ts";

/**
 * What a model did in a trial: the calls of its first turn with calls, all calls in order, the skills that they loaded,
 * and whether it refused or its last reply was cut off. Where skills are offered, a call that loads one counts as a
 * call of the skill's entry, and a call through a dispatcher as the one that it makes. Searches for tools and calls of
 * a host's own tools are listed separately, because they are not picks.
 */
export type Activity = {
  first: readonly Call[];
  all: readonly Call[];
  loaded: readonly string[];
  searches: readonly ToolSearch[];
  builtIns: readonly Call[];
  refused: boolean;
  cut: boolean;
};

/** Reads the activity from the turns of a trial. Using one of `own`, the file tools of the harness, is not a pick. */
export function readActivity(turns: readonly Turn[], own: ReadonlySet<string> | undefined): Activity {
  const raw = turns.map(({ calls }) => calls.filter(({ role }) => role === undefined).map(unwrap));
  const picks = own ? raw.map((calls) => calls.flatMap((call) => toPicks(call, own))) : raw;
  return {
    first: picks.find((calls) => calls.length > 0) ?? [],
    all: picks.flat(),
    loaded: listLoadedSkills(turns.flatMap(({ calls }) => calls)),
    searches: turns.flatMap(({ searches = [] }) => searches),
    builtIns: turns.flatMap(({ calls }) => calls.filter(({ role }) => role === "built-in")),
    refused: turns.some(({ stop }) => stop === "refused"),
    cut: turns.at(-1)?.stop === "cut",
  };
}

/** A call through a dispatcher as the call that it makes. */
function unwrap(call: Call): Call {
  const { inner, argumentsText: _, arguments: __, ...rest } = call;
  if (!inner) return call;
  return { ...rest, inner, tool: inner.tool, ...(inner.arguments !== undefined && { arguments: inner.arguments }) };
}

/** The tools that tool-evals itself offers with skills and files, named as hosts name theirs. */
export const skillTools = { load: "Skill", read: "Read", write: "Write" } as const;

/** A host's tools for reading files: using one is not a pick. */
export const readingTools: ReadonlySet<string> = new Set([skillTools.read, "Glob", "Grep"]);

/** The reading tools, and the tool for writing files. */
export const fileTools: ReadonlySet<string> = new Set([...readingTools, skillTools.write]);

/** Normalizes a skill's name in a call of the `Skill` tool: Claude Code accepts `/name`, as users type it, for `name`. */
export function normalizeSkillName(written: string): string {
  return written.trim().replace(/^\//, "");
}

/** The skills that calls load, each once, in the order they were loaded. */
export function listLoadedSkills(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.flatMap(readLoadedSkills))];
}

/** What a call picks beside skills or files: the skills that it loads, else its tool if that is not a file tool. */
function toPicks(call: Call, own: ReadonlySet<string>): readonly Call[] {
  const loaded = readLoadedSkills(call);
  if (loaded.length > 0) return loaded.map((skill) => ({ ...call, tool: skillEntryName(skill) }));
  return own.has(call.tool) ? [] : [call];
}

/** The skills that a call loads: with a host's `Skill` tool, or by naming `<skill>/SKILL.md` in any string argument. */
function readLoadedSkills({ tool, arguments: args }: Call): readonly string[] {
  if (!isJsonObject(args) || tool === skillTools.write) return [];
  if (tool === skillTools.load && typeof args.skill === "string") return [normalizeSkillName(args.skill)];
  return listStrings(args).flatMap(findSkillFolders);
}

function listStrings(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listStrings) : [];
}

/** The folder names before `/SKILL.md` in a path or a command line; a pattern such as `*` is not a folder name. */
function findSkillFolders(text: string): readonly string[] {
  const folders: string[] = [];
  return text.split(/[/\\]/).flatMap((part) => {
    if (part === "" || part === ".") return [];
    if (part === "..") folders.pop();
    else folders.push(part);
    const folder = folders
      .at(-2)
      ?.split(/[\s"'=]/)
      .at(-1);
    return folder && /^SKILL\.md(?![\w.-])/i.test(part) && !/[*?[\]{}]/.test(folder) ? [folder] : [];
  });
}
