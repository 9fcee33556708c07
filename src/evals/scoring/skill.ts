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
const looks: ReadonlySet<string> = new Set([skillTools.read, "Glob", "Grep"]);

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
  if (tool === skillTools.load && typeof args.skill === "string") return [args.skill];
  return textsIn(args).flatMap(skillsReadIn);
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The folder names before `/SKILL.md` in a path or a command line. */
function skillsReadIn(text: string): readonly string[] {
  const parts = text.split(/[/\\]/);
  return parts.flatMap((part, index) => {
    const folder = parts[index - 1]?.split(/[\s"'=]/).at(-1);
    return folder && /^SKILL\.md(?![\w.-])/.test(part) ? [folder] : [];
  });
}
