import type { Diagnosis, DoctorReport, Examined } from "../diagnosis/report.ts";
import { type Block, heading, type Item, text } from "./document.ts";
import { count, duration, integer, some } from "./format.ts";

/** The report of `evals doctor`: how many servers are healthy, then a block for each. */
export function doctorDocument({ servers, healthy, unhealthy, ok }: DoctorReport): Block[] {
  const all = count(servers.length, "server");
  const verdict = ok ? `HEALTHY: ${all}` : `UNHEALTHY: ${integer(unhealthy)} of ${all}`;
  const rest = ok || healthy === 0 ? "" : `; ${integer(healthy)} healthy`;
  return [heading(1, `${verdict}${rest}`, ok ? "good" : "bad"), ...servers.flatMap(serverBlocks)];
}

function serverBlocks(one: Examined): Block[] {
  const { name, via, starts, diagnoses, healthy } = one;
  return [
    heading(3, `${healthy ? "✓" : "✗"} ${name}${via === undefined ? "" : ` (${via})`}`, healthy ? "good" : "bad"),
    text(starts === name ? undefined : starts, ...works(one)),
    { kind: "list", items: diagnoses.map(diagnosisItem), most: Number.POSITIVE_INFINITY, noun: "diagnosis" },
  ];
}

function works({ about, startMs = 0, listMs = 0, tools, called, notCalled }: Examined): string[] {
  if (!about) return [];
  const { name = "no name", version = "", protocol = "", transport = "" } = about;
  const listed = tools === undefined ? "" : `; ${count(tools, "tool")} listed in ${duration(listMs)}`;
  const line = `${`${name} ${version}`.trim()}, protocol ${protocol} over ${transport}: answers after ${duration(startMs)}${listed}`;
  if (tools === undefined || tools === 0) return [line];
  const answered = called.filter((call) => call.answered).length;
  const calls =
    called.length === 0 ? "no tool called" : `${count(called.length, "tool")} called, ${integer(answered)} answered`;
  return [line, `${calls}${leftOut(notCalled)}`];
}

/** The tools that were not called, together by the reason. */
function leftOut(notCalled: Examined["notCalled"]): string {
  const reasons = [...new Set(notCalled.map(({ why }) => why))].map((why) => {
    const names = notCalled.filter((one) => one.why === why).map(({ tool }) => tool);
    return `${some(names)} (${why})`;
  });
  return reasons.length === 0 ? "" : `; not called: ${reasons.join("; ")}`;
}

function diagnosisItem({ severity, id, wrong, evidence, remedy, show }: Diagnosis): Item {
  return {
    text: [{ strong: severity, tone: severity === "error" ? "bad" : "warn" }, `: ${wrong} [${id}]`],
    items: [`Fix: ${remedy}`, ...evidence.map((line) => ({ code: `| ${line}`, max: 500 }))],
    most: 13,
    ...(show !== undefined && { command: show }),
  };
}
