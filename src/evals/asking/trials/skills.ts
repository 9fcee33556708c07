import { posix } from "node:path";
import { type ListingHost, listSkills } from "../../base/search/skillListing.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import type { ModelRequest } from "../../base/types/model.ts";
import { type EvalFile, type SkillForm, type SkillPackage, whyNoFile } from "../../base/types/skill.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Call, Execution } from "../../base/types/trial.ts";
import { normalizeSkillName, projectFolder, readWrite, skillTools, toWorkspacePath } from "../scoring/activity.ts";
import { createTextResult } from "./execution.ts";

/** Virtual paths under which a model finds the files of skills and of the case. */
const shelf = { skills: "/skills", project: projectFolder } as const;

/** What is added to the prompt and the tools of a trial to offer skills and files to the model. */
export type CatalogOffer = { prompt: string; tools: readonly OfferedTool[]; catalog?: ModelRequest["catalog"] };

type OfferOptions = {
  files: readonly string[];
  readable: boolean;
  writable?: boolean;
  listing?: ListingHost | undefined;
};

/** Maximum length of a written file, in characters. */
const maxWritten = 1024 * 1024;

const skillName = (entry: OfferedTool) => entry.name.slice("skill:".length);

/**
 * Offers skills (entries of origin `skill`, in the order to show) in one of the two forms that hosts use, and the files
 * of a case. With `readable` the other files of a skill can be read as well, for trials that continue after a skill is
 * loaded. `listing`: the host whose rules shorten the list.
 */
export function offerSkills(
  entries: readonly OfferedTool[],
  form: SkillForm,
  { files, readable, writable = false, listing }: OfferOptions,
): CatalogOffer {
  const given = entries.map((entry) => ({ name: skillName(entry), description: entry.description ?? "" }));
  const skills = shortenList(given, listing);
  const reads = files.length > 0 || writable || (skills.length > 0 && (readable || form === "available-skills"));
  const list = files.map((file) => `- ${shelf.project}/${file}`).join("\n");
  const prompts = [
    skills.length > 0 && renderCatalog(skills, form),
    files.length > 0 && `The user's files, to be read with ${skillTools.read}:\n${list}`,
    writable && `Files that you make for the user are written with ${skillTools.write}, under ${shelf.project}.`,
  ];
  const loads = skills.length > 0 && form === "skill-tool";
  return {
    prompt: prompts.filter(Boolean).join("\n\n"),
    tools: [...(loads ? [loadTool] : []), ...(reads ? [readTool] : []), ...(writable ? [writeTool] : [])],
    ...(skills.length > 0 && { catalog: skills.map((skill) => ({ ...skill, load: describeLoad(skill.name, form) })) }),
  };
}

type ListedSkill = { name: string; description: string };

/** The skills in the same order, with their descriptions shortened as the host does. */
function shortenList(skills: readonly ListedSkill[], listing: ListingHost | undefined): readonly ListedSkill[] {
  if (!listing) return skills;
  const listed = new Map(listSkills(skills, listing).map(({ name, description }) => [name, description]));
  return skills.map(({ name }) => ({ name, description: listed.get(name) ?? "" }));
}

function describeLoad(skill: string, form: SkillForm): { tool: string; arguments: JsonObject } {
  if (form === "skill-tool") return { tool: skillTools.load, arguments: { skill } };
  return { tool: skillTools.read, arguments: { file_path: `${shelf.skills}/${skill}/SKILL.md` } };
}

/** The two forms as hosts write them: a plain list for a `Skill` tool, and the tags of the Agent Skills guide. */
function renderCatalog(skills: readonly { name: string; description: string }[], form: SkillForm): string {
  if (form === "skill-tool") {
    const list = skills.map(({ name, description }) => `- ${name}${description && `: ${description}`}`);
    return `These skills can be loaded with the ${skillTools.load} tool:\n\n${list.join("\n")}`;
  }
  const list = skills.flatMap(({ name, description }) => [
    "  <skill>",
    `    <name>${escapeTags(name)}</name>`,
    `    <description>${escapeTags(description)}</description>`,
    `    <location>${shelf.skills}/${escapeTags(name)}/SKILL.md</location>`,
    "  </skill>",
  ]);
  const how = `A skill is a folder of instructions for one kind of task. When a task fits a skill's description, read its SKILL.md with ${skillTools.read} before anything else, and follow it.`;
  return ["<available_skills>", ...list, "</available_skills>", "", how].join("\n");
}

const escapeTags = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Creates a tool of the harness itself, which every host shows unchanged. `parameters`: descriptions by name. */
function createOwnTool(name: string, description: string, parameters: Readonly<Record<string, string>>): OfferedTool {
  const typed = Object.entries(parameters).map(([key, description]) => [key, { type: "string", description }]);
  const properties = Object.fromEntries(typed);
  const inputSchema = { type: "object", properties, required: Object.keys(parameters), additionalProperties: false };
  const annotations = { readOnlyHint: name !== skillTools.write };
  return { name, description, inputSchema, server: "skills", origin: "static", annotations };
}

const loadTool = createOwnTool(
  skillTools.load,
  "Loads a skill: instructions for one kind of task. When a listed skill fits what the user asks for, load it before anything else, and follow it.",
  { skill: "The name of a listed skill" },
);

const readTool = createOwnTool(skillTools.read, "Reads one file of a skill or of the user. Nothing is changed.", {
  file_path: `The whole path, for example ${shelf.skills}/<skill>/SKILL.md`,
});

const writeTool = createOwnTool(skillTools.write, "Writes one file of the user. A file that exists is replaced.", {
  file_path: `The whole path, for example ${shelf.project}/notes.md`,
  content: "The whole text of the file",
});

/** The skills of a suite, the form in which they are shown, and the reader of their files. */
export type SkillShelf = {
  form: SkillForm;
  /** The host whose budget shortens the list. */
  listing?: ListingHost | undefined;
  packages: ReadonlyMap<string, SkillPackage>;
  /** Reads a file by its path inside the package. `problem`: a sentence that says why there is no such file. */
  read(skill: SkillPackage, path: string): Promise<{ text: string } | { problem: string }>;
};

/** Executes the harness's own tools in one trial; undefined when the call is not one of them. */
export type Library = { execute(call: Call): Promise<Execution | undefined> };

/**
 * Executes the tools `Skill`, `Read` and `Write` of one trial. `offered`: names of the skills that the trial offers.
 * Files are written to an in-memory workspace, which `scoring/activity.ts` rebuilds from the turns. Without
 * `readable`, loading a skill returns no instructions: only loading is measured, and instructions would change what the
 * model does next.
 */
export function createLibrary(
  { packages, read }: Pick<SkillShelf, "packages" | "read">,
  offered: ReadonlySet<string>,
  files: readonly EvalFile[],
  { readable, writable = false }: { readable: boolean; writable?: boolean },
): Library {
  const workspace = new Map(files.map(({ path, content }) => [path, content]));
  const refuse = (text: string) => createTextResult(text, true);
  const load = (name: string): Execution => {
    if (!offered.has(name)) return refuse(`Unknown skill: ${name}`);
    const skill = packages.get(name);
    if (!readable || !skill) return createTextResult(`Launching skill: ${name}`);
    const where = `Base folder of this skill: ${shelf.skills}/${name}`;
    return createTextResult(`Launching skill: ${name}\n\n${where}\n\n${skill.document.body}`);
  };
  const readFile = async (written: string): Promise<Execution> => {
    const path = posix.normalize(written);
    const inProject = toWorkspacePath(path);
    const text = inProject === undefined ? undefined : workspace.get(inProject);
    if (text !== undefined) return createTextResult(text);
    const [, name = "", inside = ""] = /^\/skills\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const skill = packages.get(name);
    if (offered.has(name) && /^SKILL\.md$/i.test(inside)) return load(name);
    // Only SKILL.md counts as loading a skill, so no other file may look like it.
    if (!offered.has(name) || !readable || !skill) return refuse(`There is no file ${path}`);
    const found = await read(skill, inside);
    return "text" in found ? createTextResult(found.text) : refuse(found.problem);
  };
  const writeFile = (call: Call): Execution => {
    const file = readWrite(call);
    if (!file) return refuse("Give file_path, the whole path of a file, and content, its text.");
    const path = toWorkspacePath(file.path);
    if (path === undefined) return refuse(`Only files under ${shelf.project} can be written: ${file.path} is not.`);
    const why = whyNoFile(path, workspace.keys());
    if (why !== undefined) return refuse(`"${file.path}" ${why}.`);
    if (file.content.length > maxWritten) return refuse(`The file is longer than ${maxWritten} characters.`);
    workspace.set(path, file.content);
    return createTextResult(`Wrote ${shelf.project}/${path}`);
  };
  return {
    async execute(call) {
      const { tool, arguments: args } = call;
      const given = (name: string) => (isJsonObject(args) && typeof args[name] === "string" ? args[name] : undefined);
      if (tool === skillTools.load)
        return offered.size === 0 ? undefined : load(normalizeSkillName(given("skill") ?? ""));
      if (tool === skillTools.write && writable) return writeFile(call);
      if (tool !== skillTools.read) return undefined;
      const path = given("file_path");
      return path === undefined ? refuse("Give file_path, the whole path of a file.") : await readFile(path);
    },
  };
}
