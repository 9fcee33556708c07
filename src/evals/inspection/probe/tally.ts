import { toolChecks, unknownToolChecks } from "../../probes/checks/index.ts";
import { resultOf } from "../../probes/outcome.ts";
import type { Answer, Check, Observation, Probe } from "../../probes/probe.ts";
import type { ProbeCall, ProbedServer, ProbedTool, ProbeFinding } from "../../reports/probe.ts";
import { callFlag } from "../shell.ts";
import type { Target } from "./targets.ts";

/** What is known of one tool so far. */
export type Tally = {
  readonly ok: Set<string>;
  readonly findings: Map<string, ProbeFinding>;
  readonly notes: string[];
  succeeded: boolean;
};

export const newTally = (): Tally => ({ ok: new Set(), findings: new Map(), notes: [], succeeded: false });

/** The row of a tool: each check that is asked of it in one of three lists. */
export function rowOf(tool: string, calls: number, tally: Tally, checks: readonly Check[] = toolChecks): ProbedTool {
  const ids = checks.map(({ id }) => id);
  const found = ids.filter((id) => tally.findings.has(id));
  const ok = ids.filter((id) => tally.ok.has(id) && !tally.findings.has(id));
  const notProbed = ids.filter((id) => !found.includes(id) && !ok.includes(id));
  return { tool, calls, ok, found, notProbed, notes: tally.notes };
}

/** Adds a tool's row and findings to its server's. */
export function addTool(server: ProbedServer, row: ProbedTool, { findings }: Tally): void {
  server.tools.push(row);
  server.findings.push(...findings.values());
}

/** The parameter that invalid input is wrong at: of other probes, it says nothing about what is found. */
export function parameterAt({ kind, parameter }: Probe): string[] {
  return parameter !== undefined && (kind === "missing" || kind === "wrong type") ? [parameter] : [];
}

/** What a check found, by the smallest observation of it, and the calls that have to be made `before` it. */
export function findingOf(
  { id, severity, why, fix, docs }: Check,
  message: string,
  { tool, probe, calls, answers }: Observation,
  { target, again, before = [] }: { target: Target; again: ProbeFinding["again"]; before?: readonly ProbeCall[] },
): ProbeFinding {
  const own = calls.slice(0, answers.length).map((args) => ({ tool: tool.name, arguments: args }));
  const made: ProbeCall[] = [...before, ...own];
  return {
    check: id,
    severity,
    tool: tool.name,
    parameters: parameterAt(probe),
    message,
    calls: made,
    got: answers.map(said).join(", then "),
    times: 1,
    again,
    why,
    fix,
    docs,
    command: commandFor(target, made),
  };
}

/** Everything that reports may name a check by. */
export const catalogue = [...new Set([...toolChecks, ...unknownToolChecks])].map(
  ({ id, severity, why, docs, needs }) => ({ id, severity, why, docs, needs }),
);

const mostSaid = 500;

/** What a call came to, for a reader. */
export function said(answer: Answer): string {
  const { outcome } = answer;
  const result = resultOf(answer);
  if (!result) return shortened(outcome.kind === "result" ? "" : outcome.message);
  const items = result.content.map(({ type, text }) => (type === "text" ? JSON.stringify(text ?? "") : `[${type}]`));
  const structured = result.structuredContent && `structured ${JSON.stringify(result.structuredContent)}`;
  const parts = [...(items.length > 0 ? items : ["no content item"]), ...(structured ? [structured] : [])];
  return shortened(`${result.isError ? "error: " : ""}${parts.join(", ")}`);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > mostSaid ? `${line.slice(0, mostSaid)}…` : line;
}

function commandFor({ flags }: Target, calls: readonly ProbeCall[]): string {
  return ["evals probe", flags, ...calls.map((call) => callFlag(call.tool, call.arguments))].join(" ");
}
