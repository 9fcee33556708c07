import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { parseJsonText } from "../../base/types/json.ts";
import { readText } from "../parsing/read.ts";

const settingsSchema = z.looseObject({
  /** By `<plugin>@<marketplace>`. */
  enabledPlugins: z.record(z.string(), z.unknown()).optional(),
  skillOverrides: z.record(z.string(), z.enum(["on", "name-only", "user-invocable-only", "off"])).optional(),
});

const installedSchema = z.looseObject({
  plugins: z.record(
    z.string(),
    z.array(z.looseObject({ installPath: z.string(), projectPath: z.string().optional() })),
  ),
});

const marketplacesSchema = z.record(
  z.string(),
  z.looseObject({ source: z.looseObject({ source: z.string() }), installLocation: z.string() }),
);

const marketplaceSchema = z.looseObject({
  plugins: z.array(z.looseObject({ name: z.string(), source: z.unknown() })),
});

const pluginSchema = z.looseObject({ skills: z.union([z.string(), z.array(z.string())]).optional() });

/** What Claude Code's settings say about skills. As in Claude Code, a malformed file has no effect. */
export type ClaudeSettings = {
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
export function readClaudeSettings(home: string | undefined, cwd: string): ClaudeSettings {
  const project = join(cwd, ".claude/settings.json");
  const local = join(cwd, ".claude/settings.local.json");
  const files = home === undefined ? [project] : [join(home, ".claude/settings.json"), project, local];
  const all = files.map((file) => readJson(file, settingsSchema));
  const enabled: Record<string, unknown> = Object.assign({}, ...all.map((one) => one?.enabledPlugins));
  const on = Object.keys(enabled).filter((id) => enabled[id] !== false);
  return {
    plugins: home === undefined ? [] : on.flatMap((id) => listPluginFolders(join(home, ".claude/plugins"), id)),
    overrides: Object.assign({}, ...all.map((one) => one?.skillOverrides)),
  };
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
