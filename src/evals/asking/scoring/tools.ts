import { once } from "../../base/collections.ts";
import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Model } from "../../base/types/model.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import type { Call } from "../../base/types/trial.ts";

/** A listed tool. Its inputSchema is compiled when first needed, because that takes longer than everything else. */
class ListedTool {
  #compiled: Validate | string | undefined;

  constructor(readonly tool: OfferedTool) {}

  /** Checks arguments against the inputSchema; undefined if that cannot be compiled, about which preflight warns. */
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

type FoundTool = Pick<ListedTool, "tool" | "validate" | "problem">;

/** Finds a tool by the called name. `inner`: the call inside, if it was called through a dispatcher. */
export type FindTool = (name: string, inner?: Call["inner"]) => FoundTool | undefined;

/**
 * A toolset ready for look-ups: `find` by listed name, `findAny` also behind dispatchers, as an expectation may name it.
 * With `unjudged`, arguments and results of calls are not judged, for this reason: the tool alone decides.
 */
export type ToolLookup = {
  names: readonly string[];
  find: FindTool;
  findAny: FindTool;
  unjudged?: string;
};

/** The lookup of a toolset, created once per toolset object. */
export const getLookup = once(({ tools: listed }: Toolset): ToolLookup => {
  // Instructions are shown text and cannot be picked.
  const index = (isWanted: (tool: OfferedTool) => boolean) =>
    new Map(listed.filter(isWanted).map((tool) => [tool.name, new ListedTool(tool)]));
  const tools = index(({ origin }) => origin !== "instructions" && origin !== "dispatched");
  const dispatched = index(({ origin }) => origin === "dispatched");
  const findInner = (name: string) => dispatched.get(name) ?? tools.get(name) ?? describeUnknown(name);
  const find: FindTool = (name, inner) => (inner ? (inner.unlisted ? undefined : findInner(name)) : tools.get(name));
  return {
    names: [...tools.keys(), ...dispatched.keys()],
    find,
    findAny: (name) => tools.get(name) ?? dispatched.get(name),
  };
});

/** A tool behind a dispatcher without a known catalog: any name and arguments are accepted. */
function describeUnknown(name: string): FoundTool {
  const tool = { name, inputSchema: {}, server: "", origin: "dispatched" } as const;
  return { tool, validate: undefined, problem: undefined };
}

export type Executable = { yes: true } | { yes: false; reason: string };

/**
 * Whether a call of this tool is executed. Only tools of the suite's own server are, and only those that the policy permits.
 * A tool without annotations counts as destructive, as the protocol defines. What a model calls that makes up arguments is
 * never executed. Every execution of a call is decided here.
 */
export function executable(
  tool: OfferedTool,
  policy: ExecutionPolicy,
  { makesUpArguments }: Pick<Model, "makesUpArguments"> = {},
): Executable {
  if (tool.origin === "distractor") return { yes: false, reason: `${tool.name} is a distractor` };
  if (tool.origin === "static") return { yes: false, reason: `${tool.name} comes from a static list, not a server` };
  if (tool.origin === "instructions") return { yes: false, reason: `there is no tool ${tool.name}` };
  if (tool.origin === "dispatched")
    return { yes: false, reason: `${tool.name} can only be called through a dispatcher` };
  if (tool.origin === "skill") return { yes: false, reason: `${tool.name} is a skill, not a tool` };
  if (makesUpArguments) return { yes: false, reason: "a keyword search makes the arguments up" };
  if (policy === "never") return { yes: false, reason: "no call is executed (execute: never)" };
  if (Array.isArray(policy))
    return policy.includes(tool.name)
      ? { yes: true }
      : { yes: false, reason: `${tool.name} is not among those of \`execute\`` };
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  const isAdditive = policy === "additive" && destructiveHint === false;
  if (policy === "all" || readOnlyHint === true || isAdditive) return { yes: true };
  const wanted = policy === "additive" ? "read-only or non-destructive" : "read-only";
  return { yes: false, reason: `${tool.name} is not annotated ${wanted} (execute: ${policy})` };
}
