import { compileSchema, type Validate } from "../jsonSchema/validate.ts";
import { once } from "../types/once.ts";
import type { ExecutionPolicy } from "../types/suite.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";

/**
 * A listed tool. Its inputSchema is compiled when it is first needed: some rules check arguments without it, and
 * compiling takes longer than all else that is done with a tool.
 */
export class ListedTool {
  #compiled: Validate | string | undefined;

  constructor(readonly tool: OfferedTool) {}

  /** Checks arguments against the inputSchema; undefined when that cannot be compiled (preflight warns of that). */
  get validate(): Validate | undefined {
    const compiled = this.#compile();
    return typeof compiled === "string" ? undefined : compiled;
  }

  /** Why the inputSchema cannot be compiled. */
  get problem(): string | undefined {
    const compiled = this.#compile();
    return typeof compiled === "string" ? compiled : undefined;
  }

  #compile(): Validate | string {
    this.#compiled ??= compileSchema(this.tool.inputSchema);
    return this.#compiled;
  }
}

/** Finds a listed tool by the name that was called. */
export type FindTool = (name: string) => ListedTool | undefined;

/** A toolset ready for look-ups: `find` by listed name, `findDotless` by a name whose dots may be underscores. */
export type ToolLookup = { names: readonly string[]; find: FindTool; findDotless: FindTool };

/** The look-up of a toolset, made once per toolset object. */
export const getLookup = once(({ tools: listed }: Toolset): ToolLookup => {
  // Instructions are text that is shown, never a pick.
  const pickable = listed.filter(({ origin }) => origin !== "instructions");
  const tools = new Map(pickable.map((tool) => [tool.name, new ListedTool(tool)]));
  const dotless = new Map(pickable.map(({ name }) => [withoutDots(name), name]));
  const find: FindTool = (name) => tools.get(name);
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
