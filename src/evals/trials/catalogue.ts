import { skillTools } from "../scoring/activity.ts";
import type { JsonObject } from "../types/json.ts";
import type { ModelRequest } from "../types/model.ts";
import type { SkillForm } from "../types/skill.ts";
import type { OfferedTool } from "../types/tool.ts";

/** Where a model finds the files of skills and of the case; there are no such folders on any disk. */
export const shelf = { skills: "/skills", project: "/project" } as const;

/** What a trial's prompt and tool list get so that the model knows its skills and files. */
export type CatalogueOffer = { prompt: string; tools: readonly OfferedTool[]; catalogue?: ModelRequest["catalogue"] };

const nameOf = (entry: OfferedTool) => entry.name.slice("skill:".length);

/**
 * Shows skills (entries of origin `skill`, in the order to be shown) in one of the two forms that hosts use, and the
 * files of a case. With `readable` the files beside SKILL.md can be read as well: that is for trials that go on after a
 * skill is loaded.
 */
export function offerSkills(
  entries: readonly OfferedTool[],
  form: SkillForm,
  { files, readable }: { files: readonly string[]; readable: boolean },
): CatalogueOffer {
  const skills = entries.map((entry) => ({ name: nameOf(entry), description: entry.description ?? "" }));
  const reads = files.length > 0 || (skills.length > 0 && (readable || form === "available-skills"));
  const prompts = [
    ...(skills.length > 0 ? [promptOf(skills, form)] : []),
    ...(files.length > 0
      ? [
          `The user's files, to be read with ${skillTools.read}:\n${files.map((file) => `- ${shelf.project}/${file}`).join("\n")}`,
        ]
      : []),
  ];
  const loads = skills.length > 0 && form === "skill-tool";
  return {
    prompt: prompts.join("\n\n"),
    tools: [...(loads ? [loadTool] : []), ...(reads ? [readTool] : [])],
    ...(skills.length > 0 && { catalogue: skills.map((skill) => ({ ...skill, load: loadOf(skill.name, form) })) }),
  };
}

function loadOf(skill: string, form: SkillForm): { tool: string; arguments: JsonObject } {
  return form === "skill-tool"
    ? { tool: skillTools.load, arguments: { skill } }
    : { tool: skillTools.read, arguments: { file_path: `${shelf.skills}/${skill}/SKILL.md` } };
}

/** The two forms as hosts write them: a plain list for a `Skill` tool, and the tags of the Agent Skills guide. */
function promptOf(skills: readonly { name: string; description: string }[], form: SkillForm): string {
  if (form === "skill-tool") {
    const list = skills.map(({ name, description }) => `- ${name}: ${description}`);
    return `These skills can be loaded with the ${skillTools.load} tool:\n\n${list.join("\n")}`;
  }
  const list = skills.flatMap(({ name, description }) => [
    "  <skill>",
    `    <name>${escaped(name)}</name>`,
    `    <description>${escaped(description)}</description>`,
    `    <location>${shelf.skills}/${escaped(name)}/SKILL.md</location>`,
    "  </skill>",
  ]);
  const how = `A skill is a folder of instructions for one kind of task. When a task fits a skill's description, read its SKILL.md with ${skillTools.read} before anything else, and follow it.`;
  return ["<available_skills>", ...list, "</available_skills>", "", how].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A tool of the harness itself, shown as it stands by every host. */
function own(name: string, description: string, parameter: string, meaning: string): OfferedTool {
  const properties = { [parameter]: { type: "string", description: meaning } };
  const inputSchema = { type: "object", properties, required: [parameter], additionalProperties: false };
  return { name, description, inputSchema, server: "skills", origin: "static", annotations: { readOnlyHint: true } };
}

const loadTool = own(
  skillTools.load,
  "Loads a skill: instructions for one kind of task. When a listed skill fits what the user asks for, load it before anything else, and follow it.",
  "skill",
  "The name of a listed skill",
);

const readTool = own(
  skillTools.read,
  "Reads one file of a skill or of the user. Nothing is changed.",
  "file_path",
  `The whole path, for example ${shelf.skills}/<skill>/SKILL.md`,
);
