import { posix } from "node:path";
import { normalizeSkillName, skillTools } from "../scoring/activity.ts";
import { isJsonObject } from "../types/json.ts";
import type { EvalFile, SkillForm, SkillPackage } from "../types/skill.ts";
import type { Call, Execution } from "../types/trial.ts";
import { shelf } from "./catalogue.ts";

/** The skills of a suite, how they are shown, and the reader of their files, which keeps inside of each package. */
export type SkillShelf = {
  form: SkillForm;
  packages: ReadonlyMap<string, SkillPackage>;
  /** The text of a file by its path inside of the package, or in a sentence why there is none. */
  read(skill: SkillPackage, path: string): Promise<{ text: string } | { problem: string }>;
};

/** Executes the harness's own tools in one trial; undefined: the call is not one of them. */
export type Library = { execute(call: Call): Promise<Execution | undefined> };

/**
 * The library of one trial: what `Skill` and `Read` give. `offered` are the names of the skills that the trial offers.
 * Without `readable` a skill says only that it is loaded: what is measured then is whether it is, and its instructions
 * must not lead the model on.
 */
export function libraryOf(
  { packages, read }: Pick<SkillShelf, "packages" | "read">,
  offered: ReadonlySet<string>,
  files: readonly EvalFile[],
  readable: boolean,
): Library {
  const load = (name: string): Execution => {
    if (!offered.has(name)) return result(`Unknown skill: ${name}`, true);
    const skill = packages.get(name);
    const body =
      readable && skill ? `\n\nBase folder of this skill: ${shelf.skills}/${name}\n\n${skill.document.body}` : "";
    return result(`Launching skill: ${name}${body}`);
  };
  const readFile = async (written: string): Promise<Execution> => {
    const path = posix.normalize(written);
    const file = files.find((one) => path === one.path || path === `${shelf.project}/${one.path}`);
    if (file) return result(file.content);
    const [, name = "", inside = ""] = /^\/skills\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const skill = packages.get(name);
    if (offered.has(name) && /^SKILL\.md$/i.test(inside)) return load(name);
    // Nothing but its SKILL.md counts as loading a skill, so nothing else may seem to.
    if (!offered.has(name) || !readable || !skill) return result(`There is no file ${path}`, true);
    const found = await read(skill, inside);
    return "text" in found ? result(found.text) : result(found.problem, true);
  };
  return {
    async execute({ tool, arguments: args }) {
      const given = (name: string) => (isJsonObject(args) && typeof args[name] === "string" ? args[name] : undefined);
      if (tool === skillTools.load)
        return offered.size === 0 ? undefined : load(normalizeSkillName(given("skill") ?? ""));
      if (tool !== skillTools.read) return undefined;
      const path = given("file_path");
      return path === undefined ? result("Give file_path, the whole path of a file.", true) : await readFile(path);
    },
  };
}

function result(text: string, isError = false): Execution {
  return { status: "executed", result: { isError, content: [{ type: "text", text }] }, ms: 0 };
}
