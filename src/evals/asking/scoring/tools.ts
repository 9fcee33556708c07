import { once } from "../../base/collections.ts";
import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Model } from "../../base/types/model.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import type { Call } from "../../base/types/trial.ts";

/**
 * A tool and its inputSchema, which `compile` compiles when first needed, because that takes longer than everything
 * else: to a check of arguments, or to why there is none, about which preflight warns.
 */
export type FoundTool = { tool: OfferedTool; compile(): Validate | string | undefined };

const compileOnce = once(({ inputSchema }: OfferedTool) => compileSchema(inputSchema));

/** Finds a tool by the called name. `inner`: the call inside, if it was called through a dispatcher. */
export type FindTool = (name: string, inner?: Call["inner"]) => FoundTool | undefined;

/**
 * A toolset ready for look-ups: `find` by listed name, `findAny` also behind dispatchers, as an expectation may name
 * it. With `unjudged`, arguments and results of calls are not judged, for this reason: the tool alone decides.
 */
export type ToolLookup = { names: readonly string[]; find: FindTool; findAny: FindTool; unjudged?: string };

/** The lookup of a toolset, created once per toolset object. */
export const getLookup = once(({ tools: listed }: Toolset): ToolLookup => {
  // Instructions are shown text and cannot be picked.
  const index = (isWanted: (tool: OfferedTool) => boolean) =>
    new Map(listed.filter(isWanted).map((tool) => [tool.name, { tool, compile: () => compileOnce(tool) }]));
  const tools = index(({ origin }) => origin !== "instructions" && origin !== "dispatched");
  const dispatched = index(({ origin }) => origin === "dispatched");
  const findInner = (name: string) => dispatched.get(name) ?? tools.get(name) ?? describeUnknown(name);
  const find: FindTool = (name, inner) => (inner ? (inner.unlisted ? undefined : findInner(name)) : tools.get(name));
  const names = [...tools.keys(), ...dispatched.keys()];
  return { names, find, findAny: (name) => tools.get(name) ?? dispatched.get(name) };
});

/** A tool behind a dispatcher without a known catalog: any name and arguments are accepted. */
function describeUnknown(name: string): FoundTool {
  return { tool: { name, inputSchema: {}, server: "", origin: "dispatched" }, compile: () => undefined };
}

export type Executable = { yes: true } | { yes: false; reason: string };

/**
 * Whether a call of this tool is executed. Only tools of the suite's own server are, and only those that the policy
 * permits. A tool without annotations counts as destructive, as the protocol defines. What a model calls that makes up
 * arguments is never executed. Every execution of a call is decided here.
 */
export function executable(
  tool: OfferedTool,
  policy: ExecutionPolicy,
  { makesUpArguments }: Pick<Model, "makesUpArguments"> = {},
): Executable {
  const reason = explainUnexecuted(tool, policy, makesUpArguments === true);
  return reason === undefined ? { yes: true } : { yes: false, reason };
}

function explainUnexecuted(tool: OfferedTool, policy: ExecutionPolicy, isMadeUp: boolean): string | undefined {
  const { name, origin } = tool;
  if (origin === "distractor") return `${name} is a distractor`;
  if (origin === "static") return `${name} comes from a static list, not a server`;
  if (origin === "instructions") return `there is no tool ${name}`;
  if (origin === "dispatched") return `${name} can only be called through a dispatcher`;
  if (origin === "skill") return `${name} is a skill, not a tool`;
  if (isMadeUp) return "a keyword search makes the arguments up";
  if (policy === "never") return "no call is executed (execute: never)";
  if (Array.isArray(policy)) return policy.includes(name) ? undefined : `${name} is not among those of \`execute\``;
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  const isAdditive = policy === "additive" && destructiveHint === false;
  if (policy === "all" || readOnlyHint === true || isAdditive) return undefined;
  const wanted = policy === "additive" ? "read-only or non-destructive" : "read-only";
  return `${name} is not annotated ${wanted} (execute: ${policy})`;
}
