import { usageError } from "../../base/types/errors.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../base/types/json.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { listAlternatives, listDefaults } from "../parameters.ts";
import { omitDefaults, probeUnknownTool, repeatCall } from "./plan/plan.ts";
import type { Probe, ProbedTool } from "./plan/probe.ts";
import { checkRules } from "./plan/rules.ts";
import type { ProbeCall, ServerReport } from "./report.ts";
import { compileTool, makeProbe, makeUnknownTool } from "./session.ts";
import { describeAnswer, judgeRule, makeFinding, type Probing } from "./tool.ts";

/**
 * Makes the calls of `--call` in order, and adds answers and findings to the report. Calls that form one probe (the same
 * call twice, defaults given and omitted) are checked as such. Whoever writes a call permits it. Throws EvalsError for one
 * that is malformed.
 */
export async function makeCalls(
  texts: readonly string[],
  tools: readonly OfferedTool[],
  report: ServerReport,
  { session, target, signal }: Probing,
): Promise<void> {
  const found = new Set<string>();
  const calls = texts.map(parseCall);
  for (let [first] = calls; first; [first] = calls) {
    const { tool, probe } = planCalls(first, calls, tools);
    calls.splice(0, probe.calls(probe.base).length);
    const seen = await makeProbe(session, probe, tool);
    if (signal.aborted) return;
    for (const [at, answer] of seen.answers.entries())
      report.answers.push({ tool: tool.name, arguments: seen.calls[at] ?? {}, result: describeAnswer(answer) });
    for (const { rule, result } of checkRules(seen)) {
      const key = JSON.stringify([rule.id, tool.name]);
      const isOff = judgeRule(rule, tool.name, target).level === "off";
      if (typeof result === "string" || isOff || found.has(key)) continue;
      found.add(key);
      report.findings.push(makeFinding(rule, result.wrong, seen, target, "not tried"));
    }
  }
}

function parseCall(text: string): ProbeCall {
  const malformed = usageError(
    `--call ${text} is not a call.`,
    'Write it as --call \'{"tool": "echo", "arguments": {}}\'.',
  );
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) throw malformed;
    const { tool, arguments: args = {} } = value;
    if (typeof tool !== "string" || !isJsonObject(args)) throw malformed;
    return { tool, arguments: args };
  } catch {
    throw malformed;
  }
}

/** The probe that the first calls form. An unlisted tool is called too, to check how the server refuses it. */
function planCalls(
  { tool: name, arguments: base }: ProbeCall,
  calls: readonly ProbeCall[],
  tools: readonly OfferedTool[],
) {
  const listed = tools.find((one) => one.name === name);
  if (!listed) return { tool: makeUnknownTool(name), probe: { ...probeUnknownTool(), base } };
  const compiled = compileTool(listed);
  // Without a schema that compiles, all arguments count as valid.
  const tool = typeof compiled === "string" ? makeUnknownTool(name) : compiled;
  const single: Probe = { ...classifyArguments(tool, base), base, calls: (now) => [now] };
  const several = [repeatCall(base), omitDefaults(tool, listDefaults(tool.inputSchema), base)].find((probe) => {
    const wanted = probe.calls(base).map((args) => ({ tool: name, arguments: args }));
    return wanted.length > 1 && canonicalJson(wanted) === canonicalJson(calls.slice(0, wanted.length));
  });
  return { tool, probe: several ?? single };
}

function classifyArguments({ allows, inputSchema }: ProbedTool, args: JsonObject): Pick<Probe, "kind" | "parameter"> {
  if (allows(args)) return { kind: "valid" };
  const required = listAlternatives(inputSchema, inputSchema)[0]?.required;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(args, String(name))) : undefined;
  return missing === undefined ? { kind: "wrong type" } : { kind: "missing", parameter: String(missing) };
}
