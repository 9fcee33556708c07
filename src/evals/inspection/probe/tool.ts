import type { ExecutionPolicy } from "../../base/types/execution.ts";
import { canonicalJson } from "../../base/types/json.ts";
import { isSuppressing, type Level, readLevel, type Settings } from "../../base/types/lint.ts";
import { callFlag } from "../shell.ts";
import {
  isSameProbe,
  type Probe,
  type ProbeAnswer,
  type ProbedTool,
  type ProbeObservation,
  type ProbeRule,
} from "./plan/probe.ts";
import { getResult, isFailure } from "./plan/results.ts";
import { checkRules, toolRules } from "./plan/rules.ts";
import { shorten, shrink, simplifyObject } from "./plan/shrink.ts";
import { formatCalls, type ProbeCall, type ProbeFinding, type ToolReport } from "./report.ts";
import { makeProbe, type ProbeSession } from "./session.ts";

/**
 * The name of the server, the execution policy, the words that name the server on a command line that repeats calls, and the
 * settings of rules.
 */
export type ProbeTarget = { name: string; execute: ExecutionPolicy; flags: string; settings: readonly Settings[] };

/** The severity of a rule under the settings of a target, and why its findings on a tool are suppressed. */
export function judgeRule(rule: ProbeRule, tool: string, { settings }: ProbeTarget): { level: Level; reason?: string } {
  const ignored = settings.flatMap(({ ignore = [] }) => ignore.filter((one) => one.rule === rule.id));
  const suppression = ignored.find((one) => isSuppressing(one, tool));
  return { level: readLevel(rule, settings), ...(suppression && { reason: suppression.reason }) };
}

/** What probing a tool needs besides the tool. `maxCalls` limits the calls to shrink one finding. */
export type Probing = { session: ProbeSession; target: ProbeTarget; maxCalls: number; signal: AbortSignal };

/** The results of one tool so far; findings by the id of their rule. */
export type ProbeTally = { ok: Set<string>; findings: Map<string, ProbeFinding>; notes: string[]; succeeded: boolean };

export const newTally = (): ProbeTally => ({ ok: new Set(), findings: new Map(), notes: [], succeeded: false });

/** A tool is given up after this many broken calls: each may cost a whole timeout and a restart of the server. */
const maxBroken = 3;
/** While a finding is shrunk, a call that times out counts as this many calls. */
const timeoutCost = 10;

/** Makes the probes of one tool one after the other, and adds the results to the tally. Stops when the signal aborts. */
export async function probeTool(
  tool: ProbedTool,
  probes: readonly Probe[],
  tally: ProbeTally,
  probing: Probing,
): Promise<void> {
  let broken = 0;
  for (const [at, probe] of probes.entries()) {
    if (broken >= maxBroken) {
      tally.notes.push(`stopped after ${maxBroken} broken calls; ${probes.length - at} probes were not made`);
      return;
    }
    const seen = await makeProbe(probing.session, probe, tool);
    if (probing.signal.aborted) return;
    if (seen.answers.at(-1)?.outcome.kind === "broken") broken += 1;
    await addObservation(seen, tally, probing);
    if (probing.signal.aborted) return;
  }
  if (!tally.succeeded && probes[0]?.kind !== "unknown tool")
    tally.notes.push("no call with valid input succeeded, so no success was checked");
}

/** The report on a tool: each of the rules that apply to it in one of three lists. */
export function reportTool(
  tool: string,
  calls: number,
  tally: ProbeTally,
  target: ProbeTarget,
  rules: readonly ProbeRule[] = toolRules,
): ToolReport {
  const ids = rules.filter((rule) => judgeRule(rule, tool, target).level !== "off").map(({ id }) => id);
  const found = ids.filter((id) => tally.findings.has(id));
  const ok = ids.filter((id) => tally.ok.has(id) && !tally.findings.has(id));
  const notProbed = ids.filter((id) => !found.includes(id) && !ok.includes(id));
  return { tool, calls, ok, found, notProbed, notes: tally.notes };
}

async function addObservation(seen: ProbeObservation, tally: ProbeTally, probing: Probing): Promise<void> {
  const { ok, findings } = tally;
  const results = seen.answers.flatMap((answer) => getResult(answer) ?? []);
  tally.succeeded ||= results.some((result) => !isFailure(result));
  // Earlier calls may be the cause.
  const before = probing.session.history.slice(0, -seen.answers.length);
  for (const { rule, result } of checkRules(seen)) {
    if (result === "ok") ok.add(rule.id);
    if (typeof result === "string") continue;
    const { level, reason } = judgeRule(rule, seen.tool.name, probing.target);
    if (level === "off") continue;
    const known = findings.get(rule.id);
    if (known) {
      known.times += 1;
      known.parameters = [...new Set([...known.parameters, ...listParameters(seen.probe)])];
      continue;
    }
    // Recorded before it is shrunk, because the server may not start again.
    const first = makeFinding(rule, result.wrong, seen, { target: probing.target, reproduced: "not tried" });
    findings.set(rule.id, first);
    if (reason === undefined) findings.set(rule.id, await shrinkFinding(rule, result.wrong, seen, before, probing));
  }
}

/**
 * Repeats a probe on a newly started server, first alone and, if that does not reproduce the finding, after the calls that
 * preceded it. Then shrinks the calls as long as they reproduce it.
 */
async function shrinkFinding(
  rule: ProbeRule,
  message: string,
  seen: ProbeObservation,
  preceding: readonly ProbeCall[],
  { session, target, maxCalls, signal }: Probing,
): Promise<ProbeFinding> {
  const { tool, probe } = seen;
  let smallest = { message, seen, before: [] as readonly ProbeCall[] };
  let left = maxCalls;
  const fails = async (candidate: Probe, before: readonly ProbeCall[]): Promise<boolean | "stop"> => {
    if (left <= 0 || signal.aborted) return "stop";
    if (before.length > 0) await session.stop();
    left -= before.length;
    for (const call of before)
      if ((await session.call(call.tool, call.arguments)).outcome.kind === "broken") return false;
    const repeated = await makeProbe(session, candidate, tool);
    if (signal.aborted) return "stop";
    left -= repeated.answers.reduce((sum, answer) => sum + (isTimeout(answer) ? timeoutCost : 1), 0);
    const result = rule.check(repeated);
    if (typeof result === "string") return false;
    smallest = { message: result.wrong, seen: repeated, before };
    return true;
  };
  // The printed command starts a new server, so the call has to fail on a new one too.
  if (left > 0) await session.stop();
  let isRepeated = await fails(probe, []);
  let needed: readonly ProbeCall[] = [];
  const before = preceding.slice(-Math.ceil(maxCalls / 2));
  if (isRepeated === false && before.length > 0 && (await fails(probe, before)) === true) {
    isRepeated = true;
    needed = await shrink(
      before,
      shorten,
      (calls) => canonicalJson([...calls]),
      (calls) => fails(probe, calls),
    );
  }
  if (isRepeated === true)
    await shrink(
      probe,
      (from) => simplifyProbe(tool, from),
      ({ base, calls }) => canonicalJson([...calls(base)]),
      (candidate) => fails(candidate, needed),
    );
  const reproduced = isRepeated === "stop" ? "not tried" : isRepeated ? "yes" : "no";
  return makeFinding(rule, smallest.message, smallest.seen, { target, reproduced, before: smallest.before });
}

/** One of several calls alone, then the same probe with a simpler base. */
function* simplifyProbe(tool: ProbedTool, probe: Probe): Generator<Probe> {
  const calls = probe.calls(probe.base);
  if (calls.length > 1) for (const base of calls) yield { kind: "valid", base, calls: (now) => [now] };
  const held = probe.kind === "boundary" ? undefined : probe.parameter;
  for (const base of simplifyObject(probe.base, held)) if (isSameProbe(tool, probe, base)) yield { ...probe, base };
}

function isTimeout({ outcome }: ProbeAnswer): boolean {
  return outcome.kind === "broken" && outcome.stage === "timeout";
}

/** The parameter with invalid input. In other probes, the finding is not about the parameter. */
function listParameters({ kind, parameter }: Probe): string[] {
  return parameter !== undefined && (kind === "missing" || kind === "wrong type") ? [parameter] : [];
}

/** The finding of a rule in an observation. `before`: the calls that have to be made first to reproduce it. */
export function makeFinding(
  rule: ProbeRule,
  message: string,
  { tool, probe, calls, answers }: ProbeObservation,
  {
    target,
    reproduced,
    before = [],
  }: { target: ProbeTarget; reproduced: ProbeFinding["reproduced"]; before?: readonly ProbeCall[] },
): ProbeFinding {
  const { level, reason } = judgeRule(rule, tool.name, target);
  const own = calls.slice(0, answers.length).map((args) => ({ tool: tool.name, arguments: args }));
  const made: ProbeCall[] = [...before, ...own];
  return {
    rule: rule.id,
    severity: level === "off" ? rule.severity : level,
    message,
    fix: rule.fix,
    location: { server: target.name, tool: tool.name },
    ...(reason !== undefined && { suppressed: reason }),
    evidence: [`Call: ${shortenText(formatCalls(made))}`, `Result: ${answers.map(describeAnswer).join(", then ")}`],
    parameters: listParameters(probe),
    calls: made,
    times: 1,
    reproduced,
    command: ["evals probe", target.flags, ...made.map((call) => callFlag(call.tool, call.arguments))].join(" "),
  };
}

const maxAnswer = 500;

/** The outcome of a call on one line, shortened. */
export function describeAnswer(answer: ProbeAnswer): string {
  const { outcome } = answer;
  const result = getResult(answer);
  if (!result) return shortenText(outcome.kind === "result" ? "" : outcome.message);
  const items = result.content.map(({ type, text }) => (type === "text" ? JSON.stringify(text ?? "") : `[${type}]`));
  const structured = result.structuredContent && `structured ${JSON.stringify(result.structuredContent)}`;
  const parts = [...(items.length > 0 ? items : ["no content items"]), ...(structured ? [structured] : [])];
  return shortenText(`${result.isError ? "error: " : ""}${parts.join(", ")}`);
}

function shortenText(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > maxAnswer ? `${line.slice(0, maxAnswer)}…` : line;
}
