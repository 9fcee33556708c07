import { groupBy } from "../../base/groupBy.ts";
import { quoteWhole } from "../../base/text/text.ts";
import { type Block, heading, type Item, list, makeColumns, table, text, unlimited } from "../../reports/document.ts";
import { count, integer, some, withoutOutput } from "../../reports/format.ts";
import { showSeverity, worstFirst } from "../lint/lintReport.ts";
import {
  type ProbeCall,
  type ProbeFinding,
  type ProbeReport,
  type ServerReport,
  type ToolReport,
  unknownToolRow,
} from "./plan/report.ts";

const maxLength = 300;

/**
 * The report of `evals probe`: the counts, then the tools of each server and its findings with their smallest calls.
 */
export function probeDocument(report: ProbeReport): Block[] {
  const { counts, ok, exitCode, stopped, problems, seed, servers, checks } = report;
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
    text(
      "How sure: each finding was seen, and its smallest call is shown. Inputs that were not tried may show more.",
      describeNext(report),
    ),
    ...servers.flatMap((server) => serverBlocks(server, stopped ? [] : checks)),
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

function serverBlocks(one: ServerReport, checks: ProbeReport["checks"]): Block[] {
  const { tools, skipped, findings, answers } = one;
  return [
    heading(3, headline(one)),
    toolTable(tools),
    text(
      ...tools.flatMap(({ tool, notes }) => notes.map((note) => `${tool}: ${note}`)),
      ...leftLines(one),
      ...uncheckedLines(one, checks),
      ...skippedLines(skipped),
    ),
    list(
      "call",
      answers.map(({ got, ...call }) => ({
        text: { code: formatCalls([call]), max: maxLength },
        items: [`-> ${got}`],
      })),
      unlimited,
    ),
    list(
      "finding (--json has them all)",
      worstFirst(findings).map((finding) => findingItem(one.server, finding)),
      200,
    ),
  ];
}

function skippedLines(skipped: ServerReport["skipped"]): string[] {
  const groups = groupBy(skipped, ({ tool, reason }) => reason.replace(`${tool} is `, ""));
  return [...groups].map(([reason, own]) => {
    const names = own.map(({ tool }) => tool);
    return `${count(own.length, "tool")} not probed, ${reason}: ${some(names, 20)}`;
  });
}

/** Files that the calls left behind, and tools that may have left data elsewhere, such as in a database. */
function leftLines({ left = [], leftElsewhere = [], mayWrite = [] }: ServerReport): string[] {
  const lines = [
    left.length > 0 &&
      `The calls left ${count(left.length, "file")} in the scratch folder, which was removed: ${left.join(", ")}.`,
    leftElsewhere.length > 0 &&
      `New or changed since the start, and not removed: ${leftElsewhere.map((path) => quoteWhole(path)).join(", ")}.`,
    mayWrite.length > 0 &&
      `Called and not annotated read-only, so these may have left data elsewhere: ${some(mayWrite, 20)}.`,
  ];
  return lines.filter((line) => line !== false);
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

/** The checks that could not run on any tool, with what they need. */
function uncheckedLines({ tools }: ServerReport, checks: ProbeReport["checks"]): string[] {
  const seen = new Set(tools.flatMap(({ ok, found }) => [...ok, ...found]));
  const asked = new Set(tools.flatMap(({ notProbed }) => notProbed));
  return checks
    .filter(({ id }) => asked.has(id) && !seen.has(id))
    .map(({ id, needs }) => `${id} not probed: it needs ${needs}`);
}

function findingItem(server: string, finding: ProbeFinding): Item {
  const { severity, check, tool, parameters, message, calls, got, times, again, why, fix, command } = finding;
  const where = `${server} · ${tool}${parameters.length > 0 ? `: ${parameters.join(", ")}` : ""}`;
  const often = [
    ...(times > 1 ? [`Found by ${count(times, "probe")}.`] : []),
    ...(again === "no" ? ["Not reproduced after a restart."] : []),
  ];
  return {
    text: [showSeverity(severity), ` ${check} · ${where}`],
    items: [
      [message, ...often].join(" "),
      ["Call: ", { code: formatCalls(calls), max: maxLength }],
      ["Got:  ", { code: got, max: maxLength }],
      `Why:  ${why}`,
      `Fix:  ${fix}`,
    ],
    command,
  };
}

function formatCalls(calls: readonly ProbeCall[]): string {
  return calls.map((call) => `${call.tool} ${JSON.stringify(call.arguments)}`).join(", then ");
}
