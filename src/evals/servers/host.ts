import { usageError } from "../base/types/errors.ts";
import { getCodexIdentity, hostNames } from "../base/types/hostNames.ts";
import type { SkillForm } from "../base/types/skill.ts";
import { isCallable, type OfferedTool, readOwnName } from "../base/types/tool.ts";
import { markHidden, showTool } from "./renaming.ts";
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
  /** The listed name of the tool with this shown name; a name that no tool is shown under stays, and never is a listed one. */
  listedName(shownName: string): string;
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
  const shown = tools.filter(isCallable).map((listed) => ({ listed, tool: showTool(listed) }));
  const { compare } = host;
  const ordered = compare ? shown.sort((a, b) => compare(a.tool, b.tool)) : shown;
  const byName = new Map<string, (typeof shown)[number]>();
  for (const one of ordered) {
    const { tool } = one;
    const name = host.getName(tool);
    const other = byName.get(name)?.tool;
    if (other) {
      throw usageError(
        `"${other.name}" of ${describeOrigin(other)} and "${tool.name}" of ${describeOrigin(tool)} would both be shown as "${name}".`,
        hostName === "plain" ? "Rename one, or choose a host that also shows the name of the server." : "Rename one.",
      );
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
