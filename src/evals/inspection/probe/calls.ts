import { executable } from "../../asking/scoring/tools.ts";
import { usageError } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/execution.ts";
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
 * call twice, defaults given and omitted) are checked as such. Throws EvalsError for a call that is malformed or not
 * permitted.
 */
export async function makeCalls(
  texts: readonly string[],
  tools: readonly OfferedTool[],
  report: ServerReport,
  { session, target, signal }: Probing,
): Promise<void> {
  const calls = texts.map(parseCall);
  const found = new Set<string>();
  while (calls.length > 0 && !signal.aborted) {
    const [first] = calls;
    if (!first) return;
    const called = findTool(first.tool, tools, target.execute);
    const { tool } = called;
    const probe = recognizeProbe(called, calls);
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
      report.findings.push(makeFinding(rule, result.wrong, seen, { target, reproduced: "not tried" }));
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

type CalledTool = { tool: ProbedTool; isListed: boolean };

/** The tool to call. An unlisted tool is called too, to check how the server refuses it. */
function findTool(name: string, tools: readonly OfferedTool[], execute: ExecutionPolicy): CalledTool {
  const listed = tools.find((one) => one.name === name);
  if (!listed) return { tool: makeUnknownTool(name), isListed: false };
  const permitted = executable(listed, execute);
  if (!permitted.yes)
    throw usageError(`The call is not permitted: ${permitted.reason}.`, `Add --execute ${listed.name} to permit it.`);
  const compiled = compileTool(listed);
  // Without a schema that compiles, all arguments count as valid.
  return { tool: typeof compiled === "string" ? makeUnknownTool(name) : compiled, isListed: true };
}

/** The probe that the first calls of the list form. */
function recognizeProbe({ tool, isListed }: CalledTool, calls: readonly ProbeCall[]): Probe {
  const other = calls.findIndex((call) => call.tool !== tool.name);
  const given = calls.slice(0, other === -1 ? calls.length : other).map((call) => call.arguments);
  const [args = {}] = given;
  if (!isListed) return { ...probeUnknownTool(), base: args };
  const isBegun = ({ calls: list }: Probe) => {
    const wanted = list(args);
    return wanted.length > 1 && canonicalJson([...wanted]) === canonicalJson(given.slice(0, wanted.length));
  };
  const several = [repeatCall(args), omitDefaults(tool, listDefaults(tool.inputSchema), args)].find(isBegun);
  return several ?? { ...classifyArguments(tool, args), base: args, calls: (base) => [base] };
}

function classifyArguments({ allows, inputSchema }: ProbedTool, args: JsonObject): Pick<Probe, "kind" | "parameter"> {
  if (allows(args)) return { kind: "valid" };
  const required = listAlternatives(inputSchema, inputSchema)[0]?.required;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(args, String(name))) : undefined;
  return missing === undefined ? { kind: "wrong type" } : { kind: "missing", parameter: String(missing) };
}
