import { createHash } from "node:crypto";
import { usageError } from "../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/types/json.ts";
import type { SkillForm } from "../base/types/skill.ts";
import { isCallable, type OfferedTool, readOwnName } from "../base/types/tool.ts";
import { hostProfiles } from "./hostProfiles.ts";
import { describeOrigin } from "./toolList.ts";

/** The hosts whose naming is known, and how each shows skills. */
export const hosts = {
  plain: "skill-tool",
  // agentskills.io, "Integrate skills into your agent", for agents that read files.
  "agent-skills": "available-skills",
  "claude-code": "skill-tool",
  copilot: "skill-tool",
  goose: "skill-tool",
  "gemini-cli": "available-skills",
  codex: "available-skills",
} as const satisfies Record<string, SkillForm>;

export type HostName = keyof typeof hosts;

/** A tool list as a host shows it. */
export type PresentedTools = {
  tools: readonly OfferedTool[];
  /** The tool with this shown name, as its server lists it; undefined if there is none. */
  findListed(shownName: string): OfferedTool | undefined;
  /** The listed name of the tool with this shown name. Another name stays, and is never a listed one. */
  listedName(shownName: string): string;
};

/**
 * Names and orders tools as a host does, without the entries of skills and instructions. Throws EvalsError when two
 * names are equal.
 */
export function presentTools(tools: readonly OfferedTool[], hostName: HostName): PresentedTools {
  const shown = tools.filter(isCallable).map((listed) => ({ listed, tool: showTool(listed) }));
  const identify = ({ tool }: (typeof shown)[number]) => getCodexIdentity(tool.server, readOwnName(tool));
  const ordered = hostName === "codex" ? shown.sort((a, b) => (identify(a) < identify(b) ? -1 : 1)) : shown;
  const byName = new Map<string, (typeof shown)[number]>();
  for (const one of ordered) {
    const { tool } = one;
    const isPlain = hostName === "plain" || hostName === "agent-skills";
    const name = isPlain ? tool.name : hostNames[hostName](tool.server, readOwnName(tool));
    const other = byName.get(name)?.tool;
    if (other) {
      const both = `"${other.name}" of ${describeOrigin(other)} and "${tool.name}" of ${describeOrigin(tool)}`;
      const more = hostName === "plain" ? ", or choose a host that also shows the name of the server" : "";
      throw usageError(`${both} would both be shown as "${name}".`, `Rename one${more}.`);
    }
    byName.set(name, one);
  }
  const hidden = new Set(ordered.flatMap(({ listed, tool }) => (listed === tool ? [] : [listed.name])));
  return {
    tools: [...byName].map(([name, { tool }]) => ({ ...tool, name })),
    findListed: (name) => byName.get(name)?.listed,
    listedName: (name) => byName.get(name)?.listed.name ?? (hidden.has(name) ? markHidden(name) : name),
  };
}

// The names under which hosts show the tools of MCP servers to their models. The forms are fitted to captured requests
// by scripts/hostProfiles.mjs; test/e2e/hosts compares them with the pinned versions.

/** How a part of a name is written: `kept` are the characters beside letters and digits, `other` replaces the rest. */
type PartForm = "unchanged" | { kept: string; other: string; dropped?: string; lowerCase?: boolean };

/**
 * The form of the names of a host: `<prefix><server><separator><tool>`. A name of more than `limit` characters loses
 * its `end`, its `middle`, or an end that a `hash` replaces, or its tool is `omitted`; without a limit, names are shown
 * whole.
 */
type NameForm = {
  prefix: string;
  separator: string;
  server: PartForm;
  tool: PartForm;
  limit?: number;
  cut?: "end" | "middle" | "hash" | "omitted";
};

const hashLength = 12;
const ellipsis = "...";

/** The name of a tool of a server in this form; of an omitted tool, the whole name. */
export function nameTool(form: NameForm, server: string, tool: string): string {
  const head = `${form.prefix}${writePart(form.server, server)}${form.separator}`;
  const name = head + writePart(form.tool, tool);
  const { limit = Number.POSITIVE_INFINITY, cut } = form;
  if (name.length <= limit || cut === "omitted") return name;
  if (cut === "middle") {
    const half = Math.floor((limit - ellipsis.length) / 2);
    return name.slice(0, half) + ellipsis + name.slice(-half);
  }
  if (cut !== "hash") return name.slice(0, limit);
  // codex-rs/codex-mcp/src/tools.rs: the hash of its identity, after an end of the server's part.
  const suffix = `_${createHash("sha1").update(getCodexIdentity(server, tool)).digest("hex").slice(0, hashLength)}`;
  const room = limit - suffix.length;
  const kept = head.length <= room ? name.slice(0, room) : head.slice(0, room - 2) + form.separator;
  return kept + suffix;
}

function writePart(form: PartForm, part: string): string {
  if (form === "unchanged") return part;
  const { kept, other, dropped = "", lowerCase = false } = form;
  const characters = [...part].flatMap((one) => {
    if (/[a-zA-Z0-9]/.test(one) || kept.includes(one)) return [one];
    return dropped.includes(one) ? [] : [other];
  });
  return lowerCase ? characters.join("").toLowerCase() : characters.join("");
}

/** Server, namespace, connector (none here), name and name, joined as Codex does for its hash and sort order. */
const getCodexIdentity = (server: string, tool: string) => [server, server, "", tool, tool].join("\0");

type NameTool = (server: string, tool: string) => string;

/** The name of a tool of a server, as each host shows it. */
export const hostNames = Object.fromEntries(
  Object.entries(hostProfiles).map(([host, { names }]) => [host, nameTool.bind(undefined, names)]),
) as Record<keyof typeof hostProfiles, NameTool>;

/** Own tools that Claude Code 2.1.330 lists by name until they are searched for: no request defines them. */
const deferredTools =
  "CronCreate CronDelete CronList EnterWorktree ExitWorktree Monitor NotebookEdit SendMessage TaskStop WebFetch WebSearch";

/** The hosts with a tool of their own of this name, apart from case and separators: they may call theirs instead. */
export function listHostsWithTool(name: string): string[] {
  return Object.entries(hostProfiles).flatMap(([host, { title, builtIns }]) => {
    const own = `${builtIns} ${host === "claude-code" ? deferredTools : ""}`.split(" ").map(simplifyName);
    return own.includes(simplifyName(name)) ? [title] : [];
  });
}

const simplifyName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

// A variant may give a tool and its parameters other names (`shownAs`). The tool keeps its own names everywhere but in
// what a model sees: the list of a request, and the calls of its reply. So expectations, results and the server need no
// change.

/** The tool as models see it: under the names that a variant gives it and its parameters. */
export function showTool(tool: OfferedTool): OfferedTool {
  if (!tool.shownAs) return tool;
  const { shownAs, ...rest } = tool;
  const { name: shown = readOwnName(tool), parameters = {} } = shownAs;
  const prefix = tool.name.slice(0, tool.name.length - readOwnName(tool).length);
  const inputSchema = renameProperties(tool.inputSchema, new Map(Object.entries(parameters)));
  return { ...rest, name: prefix + shown, ...(tool.ownName !== undefined && { ownName: shown }), inputSchema };
}

/** Keywords whose schemas are about the same object as the schema around them. */
const sameObject = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

function renameProperties(schema: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  if (names.size === 0) return schema;
  const rename = (name: string) => names.get(name) ?? name;
  const renameKeys = (value: JsonObject) =>
    Object.fromEntries(Object.entries(value).map(([key, one]) => [rename(key), one]));
  const renameAll = (value: Json) =>
    Array.isArray(value) ? value.map((one) => (typeof one === "string" ? rename(one) : one)) : value;
  const renameInside = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(renameInside);
    return isJsonObject(value) ? renameProperties(value, names) : value;
  };
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, Json] => {
      if (key === "required") return [key, renameAll(value)];
      if (sameObject.includes(key)) return [key, renameInside(value)];
      if (!isJsonObject(value)) return [key, value];
      if (key === "properties" || key === "dependentSchemas") return [key, renameKeys(value)];
      if (key !== "dependentRequired") return [key, value];
      const members = Object.entries(renameKeys(value)).map(([name, needed]) => [name, renameAll(needed)]);
      return [key, Object.fromEntries(members)];
    }),
  );
}

/** A called name that a variant hides, which no tool has: the model cannot know it from the list that it was shown. */
export const markHidden = (name: string) => `${name} (renamed)`;

/**
 * The arguments of a call under the tool's own names. A name that the variant hides is exchanged for the shown one, so
 * that it is as unknown to the server's schema as it was to the model.
 */
export function restoreArguments<A>({ shownAs }: Pick<OfferedTool, "shownAs">, args: A): A | JsonObject {
  const names = Object.entries(shownAs?.parameters ?? {});
  if (names.length === 0 || !isJsonObject(args)) return args;
  const exchanged = new Map([...names, ...names.map(([own, shown]): [string, string] => [shown, own])]);
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [exchanged.get(name) ?? name, value]));
}
