import type { ExecutionPolicy } from "../types/suite.ts";
import type { OfferedTool } from "../types/tool.ts";

export type Executable = { yes: true } | { yes: false; reason: string };

/**
 * Whether a call of this tool is executed. Only tools of the suite's own server are; with `safe`, only those annotated as
 * read-only or not destructive. Without annotations the protocol's default is destructive, so the call is skipped.
 */
export function executable(tool: OfferedTool, policy: ExecutionPolicy): Executable {
  if (tool.origin === "distractor") return { yes: false, reason: `${tool.name} is a distractor` };
  if (tool.origin === "static") return { yes: false, reason: `${tool.name} comes from a static list, not a server` };
  if (tool.origin === "skill") return { yes: false, reason: `${tool.name} is a skill, not a tool` };
  if (policy === "never") return { yes: false, reason: "no call is executed (execute: never)" };
  if (policy === "always" || tool.annotations?.readOnlyHint === true || tool.annotations?.destructiveHint === false) {
    return { yes: true };
  }
  return { yes: false, reason: `${tool.name} is not annotated read-only or non-destructive (execute: safe)` };
}
