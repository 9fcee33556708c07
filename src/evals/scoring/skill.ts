import { isJsonObject, type Json } from "../types/json.ts";
import { skillEntryName } from "../types/skill.ts";
import type { Call } from "../types/trial.ts";
import type { Finding, Made } from "./finding.ts";
import { none } from "./labels.ts";

/**
 * Whether a skill was loaded in any turn (`none`: whether no skill was), whatever else was called. Others loaded beside
 * the expected one do no harm, and show in the picked label. Without any skill loaded the words are as for tools.
 */
export function judgeSkill(skill: string, { loaded }: Made): Finding {
  const picked = loaded.map(skillEntryName).join(" + ") || none;
  const met = skill === "none" ? loaded.length === 0 : loaded.includes(skill);
  const wanted = skill === "none" ? "no skill to be loaded" : `skill ${skill} to be loaded`;
  const check = met
    ? ({ what: "skill", met: "yes" } as const)
    : ({ what: "skill", met: "no", why: `expected ${wanted}, got ${picked}` } as const);
  if (skill === "none") return { selection: met ? "abstained" : "over-triggered", picked, checks: [check] };
  const missed = loaded.length === 0 ? "no-call" : "wrong-tool";
  return { selection: met ? "right-tool" : missed, picked, checks: [check] };
}

/** The skills that calls load, each once, in the order they were loaded. */
export function skillsLoaded(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.flatMap(skillsLoadedBy))];
}

/** The tools that the harness itself offers beside skills, named as a host names its own. */
export const skillTools = { load: "Skill", read: "Read" } as const;

/** Tools of a host for looking at files: a look is no pick. */
export const looks: ReadonlySet<string> = new Set([skillTools.read, "Glob", "Grep"]);

/** The names that mean a tool of the harness or of a host, where skills are offered. */
export const ownTools: ReadonlySet<string> = new Set([skillTools.load, ...looks]);

/** A skill's name as a model wrote it to the `Skill` tool: Claude Code takes `/name`, as users write it, for `name`. */
export function askedSkill(written: string): string {
  return written.trim().replace(/^\//, "");
}

/**
 * What a call picks where skills are offered: the entries of the skills that it loads, nothing when it only looks at
 * files, else the tool that it calls.
 */
export function asPicks(call: Call): readonly Call[] {
  const loaded = skillsLoadedBy(call);
  if (loaded.length > 0) return loaded.map((skill) => ({ ...call, tool: skillEntryName(skill) }));
  return looks.has(call.tool) ? [] : [call];
}

/** The skills that a call loads: by a host's `Skill` tool, or by naming `<skill>/SKILL.md` in any string argument. */
function skillsLoadedBy({ tool, arguments: args }: Call): readonly string[] {
  if (!isJsonObject(args)) return [];
  if (tool === skillTools.load && typeof args.skill === "string") return [askedSkill(args.skill)];
  return textsIn(args).flatMap(skillsReadIn);
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The folder names before `/SKILL.md` in a path or a command line; a pattern such as `*` names no folder. */
function skillsReadIn(text: string): readonly string[] {
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
