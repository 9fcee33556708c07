import { createHash } from "node:crypto";
import { usageError } from "../errors.ts";
import type { SkillForm } from "../types/skill.ts";
import type { OfferedTool } from "../types/tool.ts";
import { ownerOf } from "./toolset.ts";

/** How one host shows MCP tools to its model, the name of each and the order if the host sets one, and how skills. */
type Host = {
  skills: SkillForm;
  nameOf(tool: OfferedTool): string;
  compare?(a: OfferedTool, b: OfferedTool): number;
};

const geminiLimit = 63;
const codexLimit = 64;
const codexHashLength = 12;

/** The hosts whose naming is known. Each was read from the host's own source or seen on its wire. */
export const hosts = {
  plain: { skills: "skill-tool", nameOf: ({ name }) => name },
  // agentskills.io, "Integrate skills into your agent": the form for agents that read files.
  "agent-skills": { skills: "available-skills", nameOf: ({ name }) => name },
  "claude-code": {
    skills: "skill-tool",
    nameOf: ({ server, name }) => `mcp__${dashed(server)}__${dashed(name)}`,
  },
  // packages/core/src/tools/mcp-tool.ts: what is too long loses its middle.
  "gemini-cli": {
    skills: "available-skills",
    nameOf: ({ server, name }) => {
      const whole = `mcp_${server}_${name}`.replace(/[^a-zA-Z0-9_\-.:]/g, "_");
      return whole.length <= geminiLimit ? whole : `${whole.slice(0, 30)}...${whole.slice(-30)}`;
    },
  },
  // codex-rs/codex-mcp/src/tools.rs: sorted by raw identity; what is too long ends with a hash of it.
  codex: {
    skills: "available-skills",
    nameOf: codexName,
    compare: (a, b) => (codexIdentity(a) < codexIdentity(b) ? -1 : 1),
  },
} satisfies Record<string, Host>;

export type HostName = keyof typeof hosts;

/** A list as a host shows it, and the way back. */
export type Shown = {
  tools: readonly OfferedTool[];
  /** The tool that is shown under this name, as its server lists it; undefined when none is. */
  listed(shownName: string): OfferedTool | undefined;
};

/** How a host shows skills. */
export function skillFormOf(hostName: HostName): SkillForm {
  return hosts[hostName].skills;
}

/** Shows tools as a host does; entries of skills are not tools, and left out. Throws EvalsError when two of them would be shown under one name. */
export function show(tools: readonly OfferedTool[], hostName: HostName): Shown {
  const host: Host = hosts[hostName];
  const listable = tools.filter(({ origin }) => origin !== "skill");
  const ordered = host.compare ? listable.sort(host.compare) : listable;
  const listed = new Map<string, OfferedTool>();
  for (const tool of ordered) {
    const name = host.nameOf(tool);
    const other = listed.get(name);
    if (other) {
      throw usageError(
        `"${other.name}" of ${ownerOf(other)} and "${tool.name}" of ${ownerOf(tool)} would both be shown as "${name}"`,
        hostName === "plain" ? "Rename one, or choose a host that shows the server's name too." : "Rename one.",
      );
    }
    listed.set(name, tool);
  }
  return {
    tools: [...listed].map(([name, tool]) => ({ ...tool, name })),
    listed: (name) => listed.get(name),
  };
}

function dashed(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_");
}

function codexName(tool: OfferedTool): string {
  const plain = (name: string) => name.replace(/[^a-zA-Z0-9_]/g, "_");
  const prefix = `mcp__${plain(tool.server)}__`;
  const name = plain(tool.name);
  if (prefix.length + name.length <= codexLimit) return prefix + name;
  const suffix = `_${createHash("sha1").update(codexIdentity(tool)).digest("hex").slice(0, codexHashLength)}`;
  const room = codexLimit - suffix.length;
  const kept = prefix.length <= room ? (prefix + name).slice(0, room) : `${prefix.slice(0, room - 2)}__`;
  return kept + suffix;
}

/** server, namespace, connector (none here), name, name: joined as the host joins what it hashes and sorts by. */
function codexIdentity({ server, name }: OfferedTool): string {
  return [server, server, "", name, name].join("\0");
}
