import { usageError } from "../../errors.ts";
import { judge } from "../../probes/checks/index.ts";
import { defaultsOf, omittingDefaults, repeating, unknownToolProbe } from "../../probes/plan.ts";
import type { Probe, ProbedTool } from "../../probes/probe.ts";
import { waysOf } from "../../probes/schema.ts";
import type { ProbeCall, ProbedServer } from "../../reports/probe.ts";
import { executable } from "../../scoring/policy.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../types/json.ts";
import type { OfferedTool } from "../../types/tool.ts";
import { probedTool, unknownTool } from "./probedTool.ts";
import { observe } from "./session.ts";
import { findingOf, said } from "./tally.ts";
import type { Probing } from "./tool.ts";

/**
 * Makes calls that were asked for by hand, in order, and judges what came back. Calls that together make one probe (the
 * same twice, defaults given and left out) are judged as that.
 */
export async function makeCalls(
  texts: readonly string[],
  tools: readonly OfferedTool[],
  server: ProbedServer,
  { session, target, signal }: Probing,
): Promise<void> {
  const calls = texts.map(readCall);
  const found = new Set<string>();
  while (calls.length > 0 && !signal.aborted) {
    const [first] = calls;
    if (!first) return;
    const called = calledTool(first.tool, tools, target.execute);
    const { tool } = called;
    const probe = probeOf(called, calls);
    calls.splice(0, probe.calls(probe.base).length);
    const seen = await observe(session, probe, tool);
    if (signal.aborted) return;
    for (const [at, answer] of seen.answers.entries())
      server.answers.push({ tool: tool.name, arguments: seen.calls[at] ?? {}, got: said(answer) });
    for (const { check, verdict } of judge(seen)) {
      const key = JSON.stringify([check.id, tool.name]);
      if (typeof verdict === "string" || found.has(key)) continue;
      found.add(key);
      server.findings.push(findingOf(check, verdict.wrong, seen, { target, again: "not tried" }));
    }
  }
}

function readCall(text: string): ProbeCall {
  const wrong = usageError(`--call ${text}: this is no call`, 'Write --call \'{"tool": "echo", "arguments": {}}\'.');
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) throw wrong;
    const { tool, arguments: args = {} } = value;
    if (typeof tool !== "string" || !isJsonObject(args)) throw wrong;
    return { tool, arguments: args };
  } catch {
    throw wrong;
  }
}

/** The tool that a call means; one that is not listed is called all the same, to see what the server says. */
function calledTool(name: string, tools: readonly OfferedTool[], execute: Probing["target"]["execute"]) {
  const listed = tools.find((one) => one.name === name);
  if (!listed) return { tool: unknownTool(name), listed: false };
  const permitted = executable(listed, execute);
  if (!permitted.yes)
    throw usageError(`this call is not made: ${permitted.reason}`, "Add --execute always to make it.");
  const probed = probedTool(listed);
  // Without a schema to go by, nothing is known of what is valid.
  return { tool: typeof probed === "string" ? unknownTool(name) : probed, listed: true };
}

/** The probe that the first of these calls begin. */
function probeOf({ tool, listed }: ReturnType<typeof calledTool>, calls: readonly ProbeCall[]): Probe {
  const other = calls.findIndex((call) => call.tool !== tool.name);
  const given = calls.slice(0, other === -1 ? calls.length : other).map((call) => call.arguments);
  const [args = {}] = given;
  if (!listed) return { ...unknownToolProbe(), base: args };
  const begin = ({ calls: wanted }: Probe) => {
    const made = wanted(args);
    return made.length > 1 && canonicalJson([...made]) === canonicalJson(given.slice(0, made.length));
  };
  const several = [repeating(args), omittingDefaults(tool, defaultsOf(tool.inputSchema), args)].find(begin);
  return several ?? { ...kindOf(tool, args), base: args, calls: (base) => [base] };
}

function kindOf({ allows, inputSchema }: ProbedTool, args: JsonObject): Pick<Probe, "kind" | "parameter"> {
  if (allows(args)) return { kind: "valid" };
  const required = waysOf(inputSchema, inputSchema)[0]?.required;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(args, String(name))) : undefined;
  return missing === undefined ? { kind: "wrong type" } : { kind: "missing", parameter: String(missing) };
}
