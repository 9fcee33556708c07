import { compileSchema } from "../../base/jsonSchema/validate.ts";
import { cut } from "../../base/text/text.ts";
import { isSuppressing, type Level, readLevel, type Settings } from "../../base/types/finding.ts";
import { type JsonObject, writeExactJson } from "../../base/types/json.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import type { Source } from "../../servers/source.ts";
import { callFlag } from "../shell.ts";
import {
  isSameProbe,
  type Probe,
  type ProbeAnswer,
  type ProbedTool,
  type ProbeObservation,
  type ProbeRule,
} from "./plan/probe.ts";
import { checkRules, getResult, isFailure, toolRules, unknownToolRules } from "./plan/rules.ts";
import { formatCall, type ProbeFinding, type ServerReport, unknownToolRow } from "./report.ts";

/** Calls a server, one call at a time, and restarts it when it has ended. Closing the source closes it too. */
export class ProbeSession {
  calls = 0;
  starts = 1;

  constructor(
    private readonly source: Source,
    private server: ToolServer,
    private readonly signal: AbortSignal,
  ) {}

  /** Throws EvalsError when the server has ended and cannot be restarted. */
  async call(tool: string, args: JsonObject): Promise<ProbeAnswer> {
    if (!this.server.alive()) {
      this.server = await this.source.reopen(this.signal);
      this.starts += 1;
      // The list distinguishes an unknown tool from a failing one.
      await this.server.list(this.signal);
    }
    this.calls += 1;
    const outcome = await this.server.call(tool, args, this.signal);
    const alive = this.server.alive();
    // After a timeout the server may still be busy, which would slow down the next call.
    if (outcome.kind === "broken" && outcome.stage === "timeout") await this.stop();
    return { outcome, alive };
  }

  /** Ends the server, so that the next call starts it again. */
  async stop(): Promise<void> {
    await this.server.close();
  }
}

/** Makes the call of a probe. */
export async function makeProbe(session: ProbeSession, probe: Probe, tool: ProbedTool): Promise<ProbeObservation> {
  const args = probe.args(probe.base);
  return { tool, probe, args, answer: await session.call(tool.name, args) };
}

/** Compiles the schemas of a listed tool. Returns the reason if its inputSchema cannot be compiled. */
export function compileTool({ name, inputSchema, outputSchema }: Tool): ProbedTool | string {
  const input = compileSchema(inputSchema);
  if (typeof input === "string") return `its inputSchema cannot be compiled: ${input}`;
  const output = outputSchema && compileSchema(outputSchema);
  return {
    name,
    inputSchema,
    allows: (args) => input(args, "arguments").kind === "valid",
    ...(typeof output === "function" && {
      outputFault(structured) {
        const validity = output(structured, "structuredContent");
        return validity.kind === "invalid" ? validity.why : undefined;
      },
    }),
  };
}

/** A tool that the server does not list, as one without parameters. */
export function makeUnknownTool(name: string): ProbedTool {
  return { name, inputSchema: {}, allows: () => true };
}

/** The name of the server, the words that name it on a command line that repeats calls, and the settings of rules. */
export type ProbeTarget = { name: string; flags: string; settings: readonly Settings[] };

/** The severity of a rule under the settings of a target, and why its findings on a tool are suppressed. */
export function judgeRule(rule: ProbeRule, tool: string, { settings }: ProbeTarget): { level: Level; reason?: string } {
  const ignored = settings.flatMap(({ ignore = [] }) => ignore.filter((one) => one.rule === rule.id));
  const suppression = ignored.find((one) => isSuppressing(one, tool));
  return { level: readLevel(rule, settings), ...(suppression && { reason: suppression.reason }) };
}

export type Probing = { session: ProbeSession; target: ProbeTarget; signal: AbortSignal };

/** A tool with its probes: one row of the report. */
export type PlannedTool = { row: string; tool: ProbedTool; probes: readonly Probe[] };

/** A tool is given up after this many broken calls: each may cost a whole timeout and a restart of the server. */
const maxBroken = 3;

/** Makes the probes of one tool, and adds what the rules say to the report, also if the server cannot be restarted. */
export async function probeTool(planned: PlannedTool, report: ServerReport, probing: Probing): Promise<void> {
  const { row, tool, probes } = planned;
  const { session, target, signal } = probing;
  const callsBefore = session.calls;
  const passed = new Set<string>();
  const findings = new Map<string, ProbeFinding>();
  const notes: string[] = [];
  let broken = 0;
  let hasSucceeded = false;
  try {
    for (const [at, probe] of probes.entries()) {
      if (broken >= maxBroken) {
        notes.push(`stopped after ${maxBroken} broken calls; ${probes.length - at} probes were not made`);
        return;
      }
      const seen = await makeProbe(session, probe, tool);
      if (signal.aborted) return;
      if (seen.answer.outcome.kind === "broken") broken += 1;
      const answered = getResult(seen.answer);
      hasSucceeded ||= answered !== undefined && !isFailure(answered);
      for (const { rule, result } of checkRules(seen)) {
        if (result === "ok") passed.add(rule.id);
        if (typeof result !== "string") await addFinding(findings, rule, result.violation, seen, probing);
        if (signal.aborted) return;
      }
    }
    if (!hasSucceeded && row !== unknownToolRow)
      notes.push("no call with valid input succeeded, so no success was checked");
  } finally {
    const rules = row === unknownToolRow ? unknownToolRules : toolRules;
    const ids = rules.filter((rule) => judgeRule(rule, row, target).level !== "off").map(({ id }) => id);
    const found = ids.filter((id) => findings.has(id));
    const ok = ids.filter((id) => passed.has(id) && !findings.has(id));
    const notProbed = ids.filter((id) => !found.includes(id) && !ok.includes(id));
    report.tools.push({ tool: row, calls: session.calls - callsBefore, ok, found, notProbed, notes });
    report.findings.push(...findings.values());
  }
}

/** Adds a violation to the findings: a new one, which is reproduced, or one more occurrence of a known one. */
async function addFinding(
  findings: Map<string, ProbeFinding>,
  rule: ProbeRule,
  message: string,
  seen: ProbeObservation,
  probing: Probing,
): Promise<void> {
  const { level, reason } = judgeRule(rule, seen.tool.name, probing.target);
  if (level === "off") return;
  const known = findings.get(rule.id);
  if (known) {
    known.times += 1;
    known.parameters = [...new Set([...known.parameters, ...listParameters(seen.probe)])];
    return;
  }
  // Recorded before it is reproduced, because the server may not start again.
  findings.set(rule.id, makeFinding(rule, message, seen, probing.target, "not tried"));
  if (reason === undefined) findings.set(rule.id, await reproduce(rule, message, seen, probing));
}

/** The maximum number of calls to reproduce one finding; a call that times out counts as ten. */
export const maxRepeats = 20;

/** Repeats a probe on a restarted server, then with fewer arguments, to find the smallest call. */
async function reproduce(rule: ProbeRule, message: string, seen: ProbeObservation, probing: Probing) {
  const { session, target, signal } = probing;
  const { tool, probe } = seen;
  let smallest = { message, seen };
  let left = maxRepeats;
  const isRepeated = async (candidate: Probe): Promise<boolean> => {
    if (left <= 0 || signal.aborted) return false;
    const repeated = await makeProbe(session, candidate, tool);
    const { outcome } = repeated.answer;
    left -= outcome.kind === "broken" && outcome.stage === "timeout" ? 10 : 1;
    const result = rule.check(repeated);
    if (signal.aborted || typeof result === "string") return false;
    smallest = { message: result.violation, seen: repeated };
    return true;
  };
  await session.stop();
  if (!(await isRepeated(probe))) return makeFinding(rule, message, seen, target, signal.aborted ? "not tried" : "no");
  const tested = probe.kind === "boundary" ? undefined : probe.parameter;
  for (const name of Object.keys(probe.base)) {
    const { base, ...same } = smallest.seen.probe;
    const { [name]: _, ...simpler } = base;
    if (name !== tested && isSameProbe(tool, { base, ...same }, simpler)) await isRepeated({ ...same, base: simpler });
  }
  return makeFinding(rule, smallest.message, smallest.seen, target, "yes");
}

/** The parameter with invalid input. In other probes, the finding is not about the parameter. */
function listParameters({ kind, parameter }: Probe): string[] {
  return parameter !== undefined && (kind === "missing" || kind === "wrong type") ? [parameter] : [];
}

/** The finding of a rule in an observation. */
export function makeFinding(
  rule: ProbeRule,
  message: string,
  { tool, probe, args, answer }: ProbeObservation,
  target: ProbeTarget,
  reproduced: ProbeFinding["reproduced"],
): ProbeFinding {
  const { level, reason } = judgeRule(rule, tool.name, target);
  const call = { tool: tool.name, arguments: args };
  return {
    rule: rule.id,
    severity: level === "off" ? rule.severity : level,
    message,
    fix: rule.fix,
    location: { server: target.name, tool: tool.name },
    ...(reason !== undefined && { suppressed: reason }),
    evidence: [`Call: ${shortenText(formatCall(call))}`, `Result: ${describeAnswer(answer)}`],
    parameters: listParameters(probe),
    call,
    times: 1,
    reproduced,
    command: `evals probe ${target.flags} ${callFlag(call.tool, call.arguments)}`,
  };
}

const maxAnswer = 500;

/** The outcome of a call on one line, shortened. */
export function describeAnswer(answer: ProbeAnswer): string {
  const { outcome } = answer;
  const result = getResult(answer);
  if (!result) return shortenText(outcome.kind === "result" ? "" : outcome.message);
  const items = result.content.map(({ type, text }) => (type === "text" ? JSON.stringify(text ?? "") : `[${type}]`));
  const structured = result.structuredContent && `structured ${writeExactJson(result.structuredContent)}`;
  const parts = [...(items.length > 0 ? items : ["no content items"]), ...(structured ? [structured] : [])];
  return shortenText(`${result.isError ? "error: " : ""}${parts.join(", ")}`);
}

const shortenText = (text: string) => cut(text.replace(/\s+/g, " "), maxAnswer);
