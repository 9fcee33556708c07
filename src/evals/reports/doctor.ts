import type { Diagnosis, DoctorReport, Examined } from "../diagnosis/report.ts";
import { count, integer } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title } from "./screen.ts";

const most = { evidence: 12, notCalled: 5 } as const;

/** What `evals doctor` found, for a person: how many are healthy, then a block for each server. */
export function doctorText({ servers, healthy, unhealthy, ok }: DoctorReport, display: Display): string {
  const screen = screenFor(display);
  const all = count(servers.length, "server");
  const verdict = ok ? `HEALTHY: ${all}` : `UNHEALTHY: ${integer(unhealthy)} of ${all}`;
  const rest = ok || healthy === 0 ? "" : `; ${integer(healthy)} healthy`;
  const blocks = [
    title(screen, `${verdict}${rest}`, ok ? "green" : "red"),
    ...servers.map((one) => block(one, screen)),
  ];
  return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function block(one: Examined, screen: Screen): string[] {
  const { name, via, starts, diagnoses, healthy } = one;
  const mark = healthy ? "✓" : "✗";
  const head = `${mark} ${name}${via === undefined ? "" : ` (${via})`}`;
  return [
    ...title(screen, head, healthy ? "green" : "red"),
    ...(starts === "" || starts === name ? [] : screen.lines(starts, 2)),
    ...works(one).flatMap((line) => screen.lines(line, 2, 4)),
    ...diagnoses.flatMap((diagnosis) => diagnosed(diagnosis, screen)),
  ];
}

function works({ about, startMs, listMs, tools, called, notCalled }: Examined): string[] {
  if (!about) return [];
  const { name = "no name", version = "", protocol = "", transport = "" } = about;
  const listed = tools === undefined ? "" : `; ${count(tools, "tool")} listed in ${time(listMs)}`;
  const lines = [
    `${`${name} ${version}`.trim()}, protocol ${protocol} over ${transport}: answers after ${time(startMs)}${listed}`,
  ];
  if (tools === undefined || tools === 0) return lines;
  const answered = called.filter((call) => call.answered).length;
  const tried =
    called.length === 0 ? "no tool called" : `${count(called.length, "tool")} called, ${integer(answered)} answered`;
  return [...lines, `${tried}${left(notCalled)}`];
}

/** The tools that were not called, together by the reason. */
function left(notCalled: Examined["notCalled"]): string {
  const reasons = [...new Set(notCalled.map(({ why }) => why))].map((why) => {
    const names = notCalled.filter((one) => one.why === why).map(({ tool }) => tool);
    const more = names.length > most.notCalled ? ` and ${integer(names.length - most.notCalled)} more` : "";
    return `${names.slice(0, most.notCalled).join(", ")}${more} (${why})`;
  });
  return reasons.length === 0 ? "" : `; not called: ${reasons.join("; ")}`;
}

function diagnosed({ severity, id, wrong, evidence, remedy, show }: Diagnosis, screen: Screen): string[] {
  const [first = "", ...others] = screen.lines(`${severity}: ${wrong} [${id}]`, 2, 4);
  return [
    first.replace(severity, screen.paint(severity === "error" ? "red" : "yellow", severity)),
    ...others,
    ...bounded(evidence, most.evidence, "line", 6, screen, (line) => screen.lines(`| ${line}`, 6, 8)),
    ...screen.lines(`→ ${remedy}`, 4, 6),
    // On one line, whatever its length: it is there to be copied.
    ...(show === undefined ? [] : [`    ${screen.text(`$ ${show}`)}`]),
  ];
}

function time(ms = 0): string {
  return ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
