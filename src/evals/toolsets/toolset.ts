import { createHash } from "node:crypto";
import { usageError } from "../errors.ts";
import { canonicalJson, jsonSchema } from "../types/json.ts";
import { type SkillPackage, skillEntryName } from "../types/skill.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";

/**
 * The list of tools with its hash, which does not depend on the order of the list.
 * Throws EvalsError when two tools have the same name.
 */
export function createToolset(tools: readonly OfferedTool[]): Toolset {
  const byName = new Map<string, OfferedTool>();
  for (const tool of tools) {
    const other = byName.get(tool.name);
    if (other) {
      throw usageError(
        `Two tools are named "${tool.name}": one of ${describeOrigin(other)} and one of ${describeOrigin(tool)}.`,
        "Rename one, or remove that distractor: an expectation cannot distinguish them.",
      );
    }
    byName.set(tool.name, tool);
  }
  const sorted = [...byName.keys()].sort().map((name) => byName.get(name));
  const text = canonicalJson(jsonSchema.parse(sorted));
  return { hash: createHash("sha256").update(text).digest("hex"), tools: [...tools] };
}

/** Where a tool comes from, in a message: `server "files"`, `the distractor "github"`. */
export function describeOrigin({ server, origin }: OfferedTool): string {
  return origin === "server" ? `server "${server}"` : `the ${origin === "static" ? "list" : "distractor"} "${server}"`;
}

/** A skill as an entry of a tool list, so that its description is part of the hash. */
export function createSkillEntry({ name, description }: Pick<SkillPackage, "name" | "description">): OfferedTool {
  return {
    name: skillEntryName(name),
    description,
    inputSchema: { type: "object" },
    server: "skills",
    origin: "skill",
  };
}
