import {
  type ProbeCall,
  type ProbeFinding,
  type ProbeReport,
  type ServerReport,
  type ToolReport,
  unknownToolRow,
} from "../probes/report.ts";
import type { Severity } from "../types/lint.ts";
import { type Block, heading, type Item, makeRows, text } from "./document.ts";
import { count } from "./format.ts";

const severities: readonly Severity[] = ["error", "warning", "info"];
const longest = 300;

/** The report of `evals probe`: the counts, then for each server its tools and each finding with its smallest call. */
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
    ...servers.flatMap((server) => serverBlocks(server, stopped ? [] : checks)),
  ];
}

function serverBlocks(one: ServerReport, checks: ProbeReport["checks"]): Block[] {
  const { tools, skipped, findings, answers, left = [] } = one;
  return [
    heading(3, headline(one)),
    toolTable(tools),
    text(
      ...tools.flatMap(({ tool, notes }) => notes.map((note) => `${tool}: ${note}`)),
      left.length > 0
        ? `The calls left ${count(left.length, "file")} in the scratch folder, which was removed: ${left.join(", ")}.`
        : undefined,
      ...uncheckedLines(one, checks),
      ...skipped.slice(0, 20).map(({ tool, reason }) => `${tool} not probed: ${reason}`),
      skipped.length > 20 ? `… and ${count(skipped.length - 20, "more tool")} not probed` : undefined,
    ),
    {
      kind: "list",
      items: answers.map(({ got, ...call }) => ({
        text: { code: written([call]), max: longest },
        items: [`-> ${got}`],
      })),
      most: Number.POSITIVE_INFINITY,
      noun: "call",
    },
    {
      kind: "list",
      items: bySeverity(findings.filter(({ suppressed }) => suppressed === undefined)).map((finding) =>
        findingItem(one.server, finding),
      ),
      most: 200,
      noun: "finding (--json has them all)",
    },
  ];
}

function headline({ server, tools, skipped, calls, starts }: ServerReport): string {
  const called = tools.filter(({ tool }) => tool !== unknownToolRow).length;
  return [
    server,
    ...(called > 0 ? [`${count(called, "tool")} called`] : []),
    ...(skipped.length > 0 ? [`${count(skipped.length, "tool")} not`] : []),
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
  const columns = [
    { head: "tool", kind: "name" as const },
    ...["calls", "ok", "not probed"].map((head) => ({ head, kind: "figure" as const })),
    { head: "findings" },
  ];
  return { kind: "table", columns, rows: makeRows(rows), most: Number.POSITIVE_INFINITY, noun: "tool" };
}

/** The checks that no tool gave an occasion for, with what they need. */
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
    text: [
      { strong: severity, ...(severity !== "info" && { tone: severity === "error" ? "bad" : "warn" }) },
      ` ${check} · ${where}`,
    ],
    items: [
      [message, ...often].join(" "),
      ["Call: ", { code: written(calls), max: longest }],
      ["Got:  ", { code: got, max: longest }],
      `Why:  ${why}`,
      `Fix:  ${fix}`,
    ],
    command,
  };
}

function written(calls: readonly ProbeCall[]): string {
  return calls.map((call) => `${call.tool} ${JSON.stringify(call.arguments)}`).join(", then ");
}

function bySeverity(findings: readonly ProbeFinding[]): ProbeFinding[] {
  return [...findings].sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}
