import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { squeeze } from "../../base/text/text.ts";
import { isJsonObject, parseJsonText } from "../../base/types/json.ts";
import type { SkillPackage, SkillRoot } from "../../base/types/skill.ts";
import { findGitRoot, readConfined } from "../parsing/folders.ts";
import { readText } from "../parsing/read.ts";
import { parseYaml } from "../parsing/yaml.ts";
import type { Reader } from "./package.ts";

const settingsSchema = z.looseObject({
  /** By `<plugin>@<marketplace>`. */
  enabledPlugins: z.record(z.string(), z.unknown()).optional(),
  skillOverrides: z.record(z.string(), z.enum(["on", "name-only", "user-invocable-only", "off"])).optional(),
});

const installed = z.looseObject({ installPath: z.string(), projectPath: z.string().optional() });
const installedSchema = z.looseObject({ plugins: z.record(z.string(), z.array(installed)) });

const known = z.looseObject({ source: z.looseObject({ source: z.string() }), installLocation: z.string() });
const marketplacesSchema = z.record(z.string(), known);

const marketplaceSchema = z.looseObject({ plugins: z.array(z.looseObject({ name: z.string(), source: z.unknown() })) });

const pluginSchema = z.looseObject({ skills: z.union([z.string(), z.array(z.string())]).optional() });

/** What Claude Code's settings say about skills. As in Claude Code, a malformed file has no effect. */
type ClaudeSettings = {
  /** The skill folders of each plugin that is installed and enabled. */
  plugins: readonly { name: string; dir: string }[];
  /** How single skills are shown, by folder name. */
  overrides: Readonly<Record<string, "on" | "name-only" | "user-invocable-only" | "off">>;
};

/**
 * Reads the settings of the user and of the project in `cwd`. The project's settings override the user's, and the
 * user's local settings for the project override both. Without `home`, only the settings that the project commits
 * count.
 */
function readClaudeSettings(home: string | undefined, cwd: string): ClaudeSettings {
  const project = join(cwd, ".claude/settings.json");
  const local = join(cwd, ".claude/settings.local.json");
  const files = home === undefined ? [project] : [join(home, ".claude/settings.json"), project, local];
  const all = files.map((file) => readJson(file, settingsSchema));
  const enabled: Record<string, unknown> = Object.assign({}, ...all.map((one) => one?.enabledPlugins));
  const on = Object.keys(enabled).filter((id) => enabled[id] !== false);
  const plugins = home === undefined ? [] : on.flatMap((id) => listPluginFolders(join(home, ".claude/plugins"), id));
  return { plugins, overrides: Object.assign({}, ...all.map((one) => one?.skillOverrides)) };
}

/** The skill folders of an installed plugin whose marketplace lists it. One on this machine is used in place. */
function listPluginFolders(plugins: string, id: string): ClaudeSettings["plugins"] {
  const [name = "", marketplace = ""] = id.split("@");
  const installed = readJson(join(plugins, "installed_plugins.json"), installedSchema)?.plugins[id]?.[0];
  const market = readJson(join(plugins, "known_marketplaces.json"), marketplacesSchema)?.[marketplace];
  if (installed === undefined || market === undefined) return [];
  const { installLocation } = market;
  const listed = readJson(join(installLocation, ".claude-plugin/marketplace.json"), marketplaceSchema)?.plugins;
  const plugin = listed?.find((one) => one.name === name);
  if (plugin === undefined) return [];
  const isLocal = market.source.source === "directory" && typeof plugin.source === "string";
  const dir = isLocal ? resolve(installLocation, String(plugin.source)) : installed.installPath;
  const named = readJson(join(dir, ".claude-plugin/plugin.json"), pluginSchema)?.skills ?? [];
  const own = join(dir, "skills");
  // Without this folder, the plugin itself can be a package.
  const folders = [existsSync(own) ? own : dir, ...[named].flat().map((path) => resolve(dir, path))];
  return folders.map((folder) => ({ name, dir: folder }));
}

function readJson<T>(file: string, schema: z.ZodType<T>): T | undefined {
  const read = readText(file, 1024 * 1024);
  return "text" in read ? schema.safeParse(parseJsonText(read.text)).data : undefined;
}

/** How a host finds, names and shows the packages in its folders. */
export type HostRules = {
  reader: Reader;
  /** The level whose skill is loaded if two skills have the same name. */
  precedence: "project" | "user";
  /** What names a skill: the name in its front matter, or its folder. */
  namedBy: "name" | "folder";
  /** Whether skills with the same name are offered side by side. Otherwise only the first is loaded. */
  keepsEqualNames: boolean;
  /** The maximum depth of a package below a root, in folders. */
  depth: number;
  isSearched(folder: string): boolean;
  /** The description of a loaded skill that the model is shown, or why it is not shown. */
  show(skill: SkillPackage): { description: string } | Hidden;
};

/** Why a skill is not shown to models. `key`: the key of its front matter that says so. */
export type Hidden = { hidden: string; key?: string };

/** The front matter key that hides a skill from models, so that only users can start it. */
const hidingKey = "disable-model-invocation";

/** The rules of the Agent Skills format, for hosts that were not measured. */
export const formatRules: HostRules = {
  reader: "format",
  precedence: "project",
  namedBy: "name",
  keepsEqualNames: false,
  depth: 1,
  isSearched: (folder) => !folder.startsWith(".") && folder !== "node_modules",
  show: ({ description, document: { frontMatter } }) => {
    if (frontMatter[hidingKey] !== true) return { description };
    return { hidden: `\`${hidingKey}\` is true`, key: hidingKey };
  },
};

/** Where a host is started: absolute paths and environment variables. */
export type HostPlace = {
  home: string | undefined;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Whether to include the skills, plugins and settings of the user, in addition to those of the project. */
  withUser: boolean;
};

/** Where a host looks for skills, and the rules that it applies. */
export type HostSkills = { roots: SkillRoot[]; rules: HostRules };

/** The folders that contain `skills/`. `includesParents`: also in parent folders up to the repository root. */
type Layout = { project: readonly string[]; user: readonly string[]; includesParents?: boolean; rules: HostRules };

const showToModels = ({ description }: SkillPackage) => ({ description: squeeze(description) });

/** Hosts that differ from the format in folders and single rules. */
const layouts: Readonly<Record<string, Layout>> = {
  copilot: {
    project: [".github", ".agents", ".claude"],
    user: [".copilot", ".agents"],
    includesParents: true,
    rules: {
      ...formatRules,
      depth: Number.POSITIVE_INFINITY,
      isSearched: (folder) => !folder.startsWith("."),
      show: (skill) => {
        const isShown = (skill.document.frontMatter[hidingKey] ?? false) === false;
        return isShown ? showToModels(skill) : { hidden: `\`${hidingKey}\` is set`, key: hidingKey };
      },
    },
  },
  codex: {
    project: [".codex", ".agents"],
    user: [".codex", ".agents"],
    includesParents: true,
    rules: {
      ...formatRules,
      reader: "codex",
      keepsEqualNames: true,
      depth: 6,
      isSearched: (folder) => !folder.startsWith("."),
      show: (skill) =>
        isHiddenFromCodex(skill)
          ? { hidden: "agents/openai.yaml has `allow_implicit_invocation: false`" }
          : showToModels(skill),
    },
  },
  goose: {
    project: [".agents", ".goose", ".claude"],
    user: [".agents", ".config/goose", ".claude", ".config/agents"],
    rules: { ...formatRules, depth: Number.POSITIVE_INFINITY, isSearched: () => true, show: showToModels },
  },
  "gemini-cli": {
    project: [".agents", ".gemini"],
    user: [".agents", ".gemini"],
    rules: { ...formatRules, show: showToModels },
  },
};
const formatDirs = [".claude", ".agents"];

/**
 * Where a host looks for skills, and the rules that it applies, so that the result is what its pinned version shows to
 * the model, except for commands and bundled skills. For other hosts: `.claude` and `.agents`, by the rules of the
 * format. With `hostDirs`: these folders, by the rules of the format.
 */
export function findHostSkills(host: string, location: HostPlace, hostDirs?: readonly string[]): HostSkills {
  if (hostDirs === undefined && host === "claude-code") return describeClaudeCode(location);
  const dirs = hostDirs ?? formatDirs;
  const rules: HostRules = { ...formatRules, precedence: host === "claude-code" ? "user" : "project" };
  const layout = (hostDirs === undefined && layouts[host]) || { project: dirs, user: dirs, rules };
  const { home, cwd, env, withUser } = location;
  const under = (base: string, level: SkillRoot["level"], names: readonly string[]) =>
    names.map((name) => ({ dir: join(base, name, "skills"), level }));
  const bases = layout.includesParents ? listRepositoryFolders(cwd) : [cwd];
  const codexHome = layout === layouts.codex ? env.CODEX_HOME : undefined;
  const userDirs = layout.user.filter((name) => !codexHome || name !== ".codex");
  return {
    roots: [
      ...(codexHome && withUser ? under(codexHome, "user", [""]) : []),
      ...(home !== undefined && withUser ? under(home, "user", userDirs) : []),
      ...bases.flatMap((base) => under(base, "project", layout.project)),
    ],
    rules: layout.rules,
  };
}

function describeClaudeCode({ home, cwd, withUser }: HostPlace): HostSkills {
  const settings = readClaudeSettings(withUser ? home : undefined, cwd);
  const skills = (base: string, level: SkillRoot["level"]) => ({ dir: join(base, ".claude/skills"), level });
  return {
    roots: [
      ...(home !== undefined && withUser ? [skills(home, "user")] : []),
      ...listFoldersAbove(cwd, home).map((folder) => skills(folder, "project")),
      ...settings.plugins.map(({ name, dir }) => ({ dir, level: "plugin" as const, plugin: name })),
    ],
    rules: {
      ...formatRules,
      reader: "claude-code",
      precedence: "user",
      namedBy: "folder",
      isSearched: () => true,
      show: (skill) => showInClaudeCode(skill, settings),
    },
  };
}

function showInClaudeCode(skill: SkillPackage, { overrides }: ClaudeSettings): ReturnType<HostRules["show"]> {
  const { name, level, description } = skill;
  const values = skill.document.frontMatter;
  const hiding = values[hidingKey];
  if (!Array.isArray(hiding) && /^(?:true|yes|on|1)$/i.test(String(hiding)))
    return { hidden: `\`${hidingKey}\` is set`, key: hidingKey };
  const override = level === "plugin" ? undefined : overrides[name];
  if (override === "off" || override === "user-invocable-only")
    return { hidden: `the setting \`skillOverrides\` has "${override}" for it` };
  const paths = typeof values.paths === "string" ? [values.paths].filter(Boolean) : values.paths;
  if (Array.isArray(paths) && paths.some((one) => one !== "**"))
    return { hidden: "it is shown only once the model works on files that `paths` names", key: "paths" };
  const situation = typeof values.when_to_use === "string" ? values.when_to_use : "";
  if (level === "plugin" && !values.description && !situation)
    return { hidden: "a skill of a plugin is shown only with a `description` or `when_to_use`" };
  if (override === "name-only") return { description: "" };
  return { description: squeeze(situation === "" ? description : `${description} - ${situation}`) };
}

function isHiddenFromCodex({ dir }: SkillPackage): boolean {
  const read = readConfined(join(dir, "agents/openai.yaml"), dir, 64 * 1024);
  if (!("text" in read)) return false;
  const { value, problems } = parseYaml(read.text, "");
  const policy = problems.length === 0 && isJsonObject(value) ? value.policy : undefined;
  return isJsonObject(policy) && policy.allow_implicit_invocation === false;
}

/** A folder and its parents in its repository, nearest first; only the folder if it is in no repository. */
export function listRepositoryFolders(cwd: string): string[] {
  return findGitRoot(cwd) === undefined ? [cwd] : listFoldersAbove(cwd);
}

/** A folder and its parents, nearest first: up to the root of its repository, or else up to `home`, exclusive. */
function listFoldersAbove(cwd: string, home?: string): string[] {
  const last = findGitRoot(cwd);
  const folders: string[] = [];
  for (let folder = cwd; folder !== home; folder = dirname(folder)) {
    folders.push(folder);
    if (folder === last || folder === dirname(folder)) break;
  }
  return folders;
}
