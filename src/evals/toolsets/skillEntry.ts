import { type SkillPackage, skillEntryName } from "../types/skill.ts";
import type { OfferedTool } from "../types/tool.ts";

/** A skill as an entry of a list: what a host's catalogue says of it, under the hash of the list. */
export function skillEntry({ name, description }: Pick<SkillPackage, "name" | "description">): OfferedTool {
  return {
    name: skillEntryName(name),
    description,
    inputSchema: { type: "object" },
    server: "skills",
    origin: "skill",
  };
}
