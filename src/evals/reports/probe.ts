import {
  type ProbeCall,
  type ProbeFinding,
  type ProbeReport,
  type ServerReport,
  type ToolReport,
  unknownToolRow,
} from "../probes/report.ts";
import type { Severity } from "../types/lint.ts";
import { atMost, count } from "./format.ts";
import { wrap } from "./layout.ts";
import type { Display } from "./report.ts";
import { type Paint, type Screen, screenFor } from "./screen.ts";

const paints: Readonly<Record<Severity, Paint>> = { error: "red", warning: "yellow", info: "dim" };
const severities: readonly Severity[] = ["error", "warning", "info"];
/** More than anyone reads; the JSON has them all. */
const mostFindings = 200;
const mostSkipped = 20;
const longest = 300;

/** JSON in printable ASCII, the rest escaped to the same value: no terminal obeys it, and it can be copied. */
export function asciiJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[^\n -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The report for a person: for each server its tools and their checks, then each finding with its smallest call. */
export function probeText(report: ProbeReport, display: Display): string {
  const screen = screenFor({ ...display, width: Math.max(60, display.width) });
  const lines = [
    ...report.servers.flatMap((server) => serverLines(server, report.stopped ? [] : report.checks, screen)),
    ...closing(report, screen),
  ];
  return `${lines.join("\n")}\n`;
}

function serverLines(one: ServerReport, checks: ProbeReport["checks"], screen: Screen): string[] {
  const { server, tools, skipped, findings, answers } = one;
  const { shown, left } = atMost(worstFirst(findings), mostFindings);
  return [
    ...screen.lines(headline(one)).map((line) => screen.paint("bold", line)),
    ...(tools.length > 0 ? toolTable(tools, screen) : []),
    ...tools.flatMap(({ tool, notes }) => notes.flatMap((note) => screen.lines(`${tool}: ${note}`, 2, 4))),
    ...unseenLines(one, checks, screen),
    ...skippedLines(skipped, screen),
    ...answers.flatMap((answer) => answerLines(answer, screen)),
    "",
    ...shown.flatMap((finding) => [...findingLines(server, finding, screen), ""]),
    ...(left > 0 ? [...screen.lines(`… and ${count(left, "more finding")}: --json has them all`), ""] : []),
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

function toolTable(tools: readonly ToolReport[], screen: Screen): string[] {
  const nameWidth = Math.min(30, Math.max(...tools.map(({ tool }) => tool.length)));
  const numbers = ["calls", "ok", "not probed"];
  const taken = 2 + nameWidth + numbers.reduce((sum, name) => sum + name.length + 2, 0) + 2;
  const list = (ids: readonly string[]) => (ids.length === 0 ? ["·"] : wrap(ids.join(", "), screen.width - taken));
  const head = [{ head: "  tool" }, ...numbers.map((name) => ({ head: name, fixed: true })), { head: "finding" }];
  const rows = tools.map(({ tool, calls, ok, found, notProbed }) => [
    { text: `  ${tool}` },
    ...[calls, ok.length, notProbed.length].map((n) => ({ text: String(n) })),
    { text: list(found), ...(found.length > 0 && { paint: "red" as const }) },
  ]);
  return screen.table(head, rows);
}

/** The checks that no tool gave an occasion for, with what they wait for. */
function unseenLines({ tools }: ServerReport, checks: ProbeReport["checks"], screen: Screen): string[] {
  const seen = new Set(tools.flatMap(({ ok, found }) => [...ok, ...found]));
  const asked = new Set(tools.flatMap(({ notProbed }) => notProbed));
  return checks
    .filter(({ id }) => asked.has(id) && !seen.has(id))
    .flatMap(({ id, needs }) => screen.lines(`${id} not probed: it needs ${needs}`, 2, 4));
}

/** Tools together that were left out for the same reason. */
function skippedLines(skipped: ServerReport["skipped"], screen: Screen): string[] {
  const { shown, left } = atMost(skipped, mostSkipped);
  return [
    ...shown.flatMap(({ tool, reason }) => screen.lines(`${tool} not probed: ${reason}`, 2, 4)),
    ...(left > 0 ? screen.lines(`… and ${count(left, "more tool")} not probed`, 2) : []),
  ];
}

function answerLines({ got, ...call }: ServerReport["answers"][number], screen: Screen): string[] {
  return [...screen.lines(written([call]), 2, 4), ...screen.lines(`→ ${got}`, 2, 4)];
}

function findingLines(server: string, finding: ProbeFinding, screen: Screen): string[] {
  const { severity, check, tool, parameters, message, calls, got, times, again, why, fix, command } = finding;
  const where = `${server} · ${tool}${parameters.length > 0 ? `: ${parameters.join(", ")}` : ""}`;
  const often = [
    ...(times > 1 ? [`${count(times, "probe")} found it.`] : []),
    ...(again === "no" ? ["It did not happen again after a restart."] : []),
  ];
  const [head = "", ...more] = screen.lines(`${severity} ${check} · ${where}`, 0, 2);
  return [
    ...[head, ...more].map((line) => screen.paint(paints[severity], line)),
    ...screen.lines([message, ...often].join(" "), 2, 4),
    ...screen.lines(`call: ${written(calls)}`, 2, 4),
    ...screen.lines(`got:  ${got}`, 2, 4),
    ...screen.lines(`why:  ${why}`, 2, 4),
    ...screen.lines(`→ ${fix}`, 2, 4),
    // On one line, whatever its length: it is there to be copied.
    `  ${screen.text(command)}`,
  ];
}

function written(calls: readonly ProbeCall[]): string {
  const text = calls.map((call) => `${call.tool} ${JSON.stringify(call.arguments)}`).join(", then ");
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function worstFirst(findings: readonly ProbeFinding[]): ProbeFinding[] {
  return [...findings].sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
}

function closing({ counts, ok, exitCode, stopped, problems, seed, servers }: ProbeReport, screen: Screen): string[] {
  const word = stopped ? "STOPPED" : ok ? "PASSED" : exitCode === 1 ? "FAILED" : "INCOMPLETE";
  const parts = [
    `${word} ${count(counts.error, "error")}, ${count(counts.warning, "warning")}, ${count(counts.info, "info", "info")}`,
    ...(problems.length > 0 ? [count(problems.length, "problem")] : []),
    `${count(servers.length, "server")} probed`,
    `seed ${seed}`,
  ];
  return screen.lines(parts.join(" · ")).map((line) => screen.paint(ok ? "green" : "red", line));
}
