import { createHash } from "node:crypto";
import { hostProfiles } from "./hostProfiles.ts";

// The names under which hosts show the tools of MCP servers to their models. The forms are fitted to captured requests by
// scripts/hostProfiles.mjs; test/e2e/hosts compares them with the pinned versions.

/** How one part of a name is written: `kept` are the characters beside letters and digits, `other` replaces the rest. */
type PartForm = "unchanged" | { kept: string; other: string; dropped?: string; lowerCase?: boolean };

/**
 * The form of the names of a host: `<prefix><server><separator><tool>`. A name of more than `limit` characters loses its
 * `end`, its `middle`, or an end that a `hash` replaces, or its tool is `omitted`; without a limit, names are shown whole.
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
export function getCodexIdentity(server: string, tool: string): string {
  return [server, server, "", tool, tool].join("\0");
}

type NameTool = (server: string, tool: string) => string;

/** The name of a tool of a server, as each host shows it. */
export const hostNames = Object.fromEntries(
  Object.entries(hostProfiles).map(([host, { names }]): [string, NameTool] => [
    host,
    (server, tool) => nameTool(names, server, tool),
  ]),
) as Record<keyof typeof hostProfiles, NameTool>;

/** The hosts that have a tool of their own with this name, apart from case and separators: they may call theirs instead. */
export function listHostsWithTool(name: string): string[] {
  return Object.values(hostProfiles).flatMap(({ title, builtIns }) =>
    builtIns.split(" ").map(simplifyName).includes(simplifyName(name)) ? [title] : [],
  );
}

const simplifyName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
