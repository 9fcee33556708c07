import { usageError } from "../base/types/errors.ts";
import { getCodexIdentity, hostNames } from "../base/types/hostNames.ts";
import type { SkillForm } from "../base/types/skill.ts";
import { isCallable, type OfferedTool, readOwnName } from "../base/types/tool.ts";
import { describeOrigin } from "./toolList.ts";

/** How a host shows skills and MCP tools to its model: the name of each tool, and the order if the host sorts them. */
type Host = {
  skills: SkillForm;
  getName(tool: OfferedTool): string;
  compare?(a: OfferedTool, b: OfferedTool): number;
};

/** The hosts whose naming is known. */
export const hosts = {
  plain: { skills: "skill-tool", getName: ({ name }) => name },
  // agentskills.io, "Integrate skills into your agent", for agents that read files.
  "agent-skills": { skills: "available-skills", getName: ({ name }) => name },
  "claude-code": { skills: "skill-tool", getName: (tool) => hostNames["claude-code"](tool.server, readOwnName(tool)) },
  copilot: { skills: "skill-tool", getName: (tool) => hostNames.copilot(tool.server, readOwnName(tool)) },
  goose: { skills: "skill-tool", getName: (tool) => hostNames.goose(tool.server, readOwnName(tool)) },
  "gemini-cli": {
    skills: "available-skills",
    getName: (tool) => hostNames["gemini-cli"](tool.server, readOwnName(tool)),
  },
  codex: {
    skills: "available-skills",
    getName: (tool) => hostNames.codex(tool.server, readOwnName(tool)),
    compare: (a, b) =>
      getCodexIdentity(a.server, readOwnName(a)) < getCodexIdentity(b.server, readOwnName(b)) ? -1 : 1,
  },
} satisfies Record<string, Host>;

export type HostName = keyof typeof hosts;

/** A tool list as a host shows it. */
export type PresentedTools = {
  tools: readonly OfferedTool[];
  /** The tool with this shown name, as its server lists it; undefined if there is none. */
  findListed(shownName: string): OfferedTool | undefined;
};

/** How a host shows skills. */
export function getSkillForm(hostName: HostName): SkillForm {
  return hosts[hostName].skills;
}

/**
 * Names and orders tools as a host does, without the entries of skills and instructions. Throws EvalsError when two
 * names are equal.
 */
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
