import { createHash } from "node:crypto";
import { usageError } from "../errors.ts";
import { canonicalJson, jsonSchema } from "../types/json.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";

/**
 * The list of tools with the hash that names it, the same for every order of the list.
 * Throws EvalsError when two tools have one name.
 */
export function freeze(tools: readonly OfferedTool[]): Toolset {
  const byName = new Map<string, OfferedTool>();
  for (const tool of tools) {
    const other = byName.get(tool.name);
    if (other) {
      throw usageError(
        `two tools are named "${tool.name}": one of ${ownerOf(other)} and one of ${ownerOf(tool)}`,
        "An expectation could not tell them apart. Rename one, or leave that distractor out.",
      );
    }
    byName.set(tool.name, tool);
  }
  const sorted = [...byName.keys()].sort().map((name) => byName.get(name));
  const text = canonicalJson(jsonSchema.parse(sorted));
  return { hash: createHash("sha256").update(text).digest("hex"), tools: [...tools] };
}

/** Where a tool comes from, for a message: `server "files"`, `the distractor "github"`. */
export function ownerOf({ server, origin }: OfferedTool): string {
  return origin === "server" ? `server "${server}"` : `the ${origin === "static" ? "list" : "distractor"} "${server}"`;
}
