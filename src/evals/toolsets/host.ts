import { createHash } from "node:crypto";
import { usageError } from "../types/errors.ts";
import type { SkillForm } from "../types/skill.ts";
import { isCallable, type OfferedTool } from "../types/tool.ts";
import { describeOrigin } from "./toolList.ts";

/** How a host shows skills and MCP tools to its model: the name of each tool, and the order if the host sets one. */
type Host = {
  skills: SkillForm;
  getName(tool: OfferedTool): string;
  compare?(a: OfferedTool, b: OfferedTool): number;
};

const geminiLimit = 63;
const codexLimit = 64;
const codexHashLength = 12;

/** The hosts whose naming is known, from the source of the host or from its requests. */
export const hosts = {
  plain: { skills: "skill-tool", getName: ({ name }) => name },
  // agentskills.io, "Integrate skills into your agent", for agents that read files.
  "agent-skills": { skills: "available-skills", getName: ({ name }) => name },
  "claude-code": {
    skills: "skill-tool",
    getName: ({ server, name }) => `mcp__${toDashedName(server)}__${toDashedName(name)}`,
  },
  // packages/core/src/tools/mcp-tool.ts: the middle of a long name is cut.
  "gemini-cli": {
    skills: "available-skills",
    getName: ({ server, name }) => {
      const whole = `mcp_${server}_${name}`.replace(/[^a-zA-Z0-9_\-.:]/g, "_");
      return whole.length <= geminiLimit ? whole : `${whole.slice(0, 30)}...${whole.slice(-30)}`;
    },
  },
  // codex-rs/codex-mcp/src/tools.rs: sorted by raw identity; a long name ends with a hash of it.
  codex: {
    skills: "available-skills",
    getName: getCodexName,
    compare: (a, b) => (getCodexIdentity(a) < getCodexIdentity(b) ? -1 : 1),
  },
} satisfies Record<string, Host>;

export type HostName = keyof typeof hosts;

/** A tool list as a host shows it. */
export type PresentedTools = {
  tools: readonly OfferedTool[];
  /** The tool with this shown name, as its server lists it; undefined when there is none. */
  findListed(shownName: string): OfferedTool | undefined;
};

/** How a host shows skills. */
export function getSkillForm(hostName: HostName): SkillForm {
  return hosts[hostName].skills;
}

/** Names and orders tools as a host does, without the entries of skills and instructions. Throws EvalsError when two names are equal. */
export function presentTools(tools: readonly OfferedTool[], hostName: HostName): PresentedTools {
  const host: Host = hosts[hostName];
  const listable = tools.filter(isCallable);
  const ordered = host.compare ? listable.sort(host.compare) : listable;
  const listed = new Map<string, OfferedTool>();
  for (const tool of ordered) {
    const name = host.getName(tool);
    const other = listed.get(name);
    if (other) {
      throw usageError(
        `"${other.name}" of ${describeOrigin(other)} and "${tool.name}" of ${describeOrigin(tool)} would both be shown as "${name}".`,
        hostName === "plain" ? "Rename one, or choose a host that also shows the name of the server." : "Rename one.",
      );
    }
    listed.set(name, tool);
  }
  return {
    tools: [...listed].map(([name, tool]) => ({ ...tool, name })),
    findListed: (name) => listed.get(name),
  };
}

function toDashedName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_");
}

function getCodexName(tool: OfferedTool): string {
  const plain = (name: string) => name.replace(/[^a-zA-Z0-9_]/g, "_");
  const prefix = `mcp__${plain(tool.server)}__`;
  const name = plain(tool.name);
  if (prefix.length + name.length <= codexLimit) return prefix + name;
  const suffix = `_${createHash("sha1").update(getCodexIdentity(tool)).digest("hex").slice(0, codexHashLength)}`;
  const room = codexLimit - suffix.length;
  const kept = prefix.length <= room ? (prefix + name).slice(0, room) : `${prefix.slice(0, room - 2)}__`;
  return kept + suffix;
}

/** Server, namespace, connector (none here), name and name, joined as the host does for its hash and sort order. */
function getCodexIdentity({ server, name }: OfferedTool): string {
  return [server, server, "", name, name].join("\0");
}
