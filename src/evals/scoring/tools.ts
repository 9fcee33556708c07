import { compileSchema, type Validate } from "../jsonSchema/validate.ts";
import { once } from "../types/once.ts";
import type { ExecutionPolicy } from "../types/suite.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";

/**
 * A listed tool. `validate` checks arguments against its inputSchema, and is undefined when that schema cannot be
 * compiled: then `problem` is the reason, and its arguments are not checked against it (preflight warns of that).
 */
export type ListedTool = { tool: OfferedTool; validate: Validate | undefined; problem: string | undefined };

/** Finds a listed tool by the name that was called. */
export type FindTool = (name: string) => ListedTool | undefined;

/** A toolset ready for look-ups: `find` by listed name, `findDotless` by a name whose dots may be underscores. */
export type ToolLookup = { names: readonly string[]; find: FindTool; findDotless: FindTool };

/** The look-up of a toolset, made once per toolset object. A schema is compiled when its tool is first looked up. */
export const getLookup = once(({ tools: listed }: Toolset): ToolLookup => {
  // Instructions are text that is shown, never a pick.
  const pickable = listed.filter(({ origin }) => origin !== "instructions");
  const tools = new Map(pickable.map((tool) => [tool.name, tool]));
  const dotless = new Map(pickable.map(({ name }) => [withoutDots(name), name]));
  const found = new Map<string, ListedTool>();
  const find: FindTool = (name) => {
    const known = found.get(name);
    const tool = tools.get(name);
    if (known || !tool) return known;
    const compiled = compileSchema(tool.inputSchema);
    const made =
      typeof compiled === "string"
        ? { tool, validate: undefined, problem: compiled }
        : { tool, validate: compiled, problem: undefined };
    found.set(name, made);
    return made;
  };
  return {
    names: [...tools.keys()],
    find,
    findDotless: (name) => find(tools.has(name) ? name : (dotless.get(withoutDots(name)) ?? name)),
  };
});

/** A name as shown by APIs that allow no dots. */
function withoutDots(name: string): string {
  return name.replaceAll(".", "_");
}

export type Executable = { yes: true } | { yes: false; reason: string };

/**
 * Whether a call of this tool is executed. Only tools of the suite's own server are; with `safe`, only those annotated as
 * read-only or not destructive. Without annotations the protocol's default is destructive, so the call is skipped.
 */
export function executable(tool: OfferedTool, policy: ExecutionPolicy): Executable {
  if (tool.origin === "distractor") return { yes: false, reason: `${tool.name} is a distractor` };
  if (tool.origin === "static") return { yes: false, reason: `${tool.name} comes from a static list, not a server` };
  if (tool.origin === "instructions") return { yes: false, reason: `there is no tool ${tool.name}` };
  if (tool.origin === "skill") return { yes: false, reason: `${tool.name} is a skill, not a tool` };
  if (policy === "never") return { yes: false, reason: "no call is executed (execute: never)" };
  if (policy === "always" || tool.annotations?.readOnlyHint === true || tool.annotations?.destructiveHint === false) {
    return { yes: true };
  }
  return { yes: false, reason: `${tool.name} is not annotated read-only or non-destructive (execute: safe)` };
}
