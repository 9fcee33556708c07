import * as z from "zod";
import { groupBy } from "../../base/collections.ts";
import { findingSchema, problemSchema, severitySchema } from "../../base/types/finding.ts";
import { jsonObjectSchema } from "../../base/types/json.ts";
import { type Block, heading, list, makeColumns, table, text, unlimited } from "../../reports/document.ts";
import { findingItem, subjectText, worstFirst } from "../../reports/findings.ts";
import { count, integer, some, withoutOutput } from "../../reports/format.ts";

const number = z.number().int().min(0);
const texts = z.array(z.string());

const probeCallSchema = z.object({ tool: z.string(), arguments: jsonObjectSchema });
export type ProbeCall = z.infer<typeof probeCallSchema>;

/** A violation of a rule. Its evidence are the smallest call that reproduces it and its result. */
const probeFindingSchema = findingSchema.extend({
  parameters: texts.describe("the parameters concerned, for invalid input"),
  call: probeCallSchema.describe("the smallest one that shows it"),
  times: number.describe("the number of probes that found it"),
  reproduced: z.enum(["yes", "no", "not tried"]).describe("whether the same call had the same result when made again"),
  command: z.string().describe("makes this call again"),
});
export type ProbeFinding = z.infer<typeof probeFindingSchema>;

/** The results of one tool: each rule is in one of three lists. */
const toolReportSchema = z.object({
  tool: z.string(),
  calls: number,
  ok: texts,
  found: texts,
  notProbed: texts,
  notes: texts.describe("what could not be done"),
});
type ToolReport = z.infer<typeof toolReportSchema>;

const serverReportSchema = z.object({
  server: z.string(),
  calls: number,
  starts: number,
  tools: z.array(toolReportSchema),
  skipped: z
    .array(z.object({ tool: z.string(), reason: z.string() }))
    .describe("tools that were not called, with the reason"),
  findings: z.array(probeFindingSchema),
  answers: z.array(probeCallSchema.extend({ result: z.string() })).describe("to the calls of --call"),
});
export type ServerReport = z.infer<typeof serverReportSchema>;

/** The output of `evals probe --json`, from which the printed report is made too. */
export const probeReportSchema = z.object({
  seed: z.number(),
  servers: z.array(serverReportSchema),
  problems: z
    .array(problemSchema.extend({ severity: z.enum(["error", "warning"]), excerpt: z.string().exactOptional() }))
    .describe("what could not be probed, or not completely"),
  counts: z.record(severitySchema, number),
  rules: z.array(z.object({ id: z.string(), severity: severitySchema, why: z.string(), docs: z.string() })),
  failOn: severitySchema,
  stopped: z.boolean(),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type ProbeReport = z.infer<typeof probeReportSchema>;

/** The `tool` of the row for a call of a tool that the server does not list. */
export const unknownToolRow = "(unknown tool)";

const maxLength = 300;

/** The report of `evals probe`: the counts, then the tools of each server and its findings. */
export function probeDocument(report: ProbeReport): Block[] {
  const { counts, ok, exitCode, stopped, problems, seed, servers } = report;
  const word = stopped ? "STOPPED" : ok ? "PASSED" : exitCode === 1 ? "FAILED" : "INCOMPLETE";
  const suppressed = servers.flatMap(({ findings }) => findings.filter((one) => one.suppressed !== undefined)).length;
  const parts = [
    `${word} ${count(counts.error, "error")}, ${count(counts.warning, "warning")}, ${count(counts.info, "info", "info")}`,
    ...(problems.length > 0 ? [count(problems.length, "problem")] : []),
    ...(suppressed > 0 ? [`${suppressed} suppressed`] : []),
    `${count(servers.length, "server")} probed`,
    `seed ${seed}`,
  ];
  return [
    heading(1, parts.join(" · "), ok ? "good" : "bad"),
    text(describeNext(report)),
    ...servers.flatMap(serverBlocks),
  ];
}

function describeNext({ counts, stopped, problems, seed }: ProbeReport): string {
  const [first] = problems;
  if (first) return `Next: fix what could not be probed: ${withoutOutput(first.message)}`;
  if (stopped) return `Next: run it again with \`--seed ${seed}\` for the same inputs.`;
  return counts.error + counts.warning + counts.info > 0
    ? "Next: repeat a finding with its `--call` below, and fix the tool."
    : "Next: probe more inputs with `--runs`.";
}

function serverBlocks(one: ServerReport): Block[] {
  const { tools, skipped, findings, answers } = one;
  const calls = answers.map(({ result, ...call }) => {
    return { text: { code: formatCall(call), max: maxLength }, items: [`-> ${result}`] };
  });
  return [
    heading(3, headline(one)),
    toolTable(tools),
    text(...tools.flatMap(({ tool, notes }) => notes.map((note) => `${tool}: ${note}`)), ...skippedLines(skipped)),
    list("call", calls, unlimited),
    list("finding (--json has them all)", worstFirst(findings).map(showFinding), 200),
  ];
}

function skippedLines(skipped: ServerReport["skipped"]): string[] {
  const groups = groupBy(skipped, ({ tool, reason }) => reason.replace(`${tool} is `, ""));
  return [...groups].map(([reason, own]) => {
    const names = own.map(({ tool }) => tool);
    return `${count(own.length, "tool")} not probed, ${reason}: ${some(names, 20)}`;
  });
}

function headline({ server, tools, skipped, calls, starts }: ServerReport): string {
  const called = tools.filter(({ tool }) => tool !== unknownToolRow).length;
  return [
    server,
    ...(called + skipped.length > 0 ? [`${count(called, "tool")} called`] : []),
    ...(skipped.length > 0 ? [`${integer(skipped.length)} not`] : []),
    count(calls, "call"),
    ...(starts > 1 ? [`started ${starts} times`] : []),
  ].join(" · ");
}

function toolTable(tools: readonly ToolReport[]): Block {
  const rows = tools.map(({ tool, calls, ok, found, notProbed }) => [
    tool,
    ...[calls, ok.length, notProbed.length].map(String),
    found.length > 0 ? { lines: found } : "·",
  ]);
  const columns = makeColumns(["name", "tool"], ["figure", "calls", "checks ok", "not probed"], ["text", "findings"]);
  return table("tool", columns, rows, { max: unlimited });
}

function showFinding(finding: ProbeFinding) {
  const { rule, location, parameters, times, reproduced } = finding;
  const subject = `${subjectText(location)}${parameters.length > 0 ? `: ${parameters.join(", ")}` : ""}`;
  const often = [
    ...(times > 1 ? [`Found by ${count(times, "probe")}.`] : []),
    ...(reproduced === "no" ? ["Not reproduced after a restart."] : []),
  ];
  const message = [finding.message, ...often].join(" ");
  return findingItem({ ...finding, message }, { title: `${rule} · ${subject}` });
}

/** A call on one line. */
export const formatCall = (call: ProbeCall): string => `${call.tool} ${JSON.stringify(call.arguments)}`;
