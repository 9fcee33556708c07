import type { Diagnosis, DoctorReport, Examined, ExaminedHost } from "../diagnosis/report.ts";
import type { Shown } from "../types/shown.ts";
import { type Block, heading, type Item, text } from "./document.ts";
import { count, duration, integer, some } from "./format.ts";

/** The report of `evals doctor`: how many servers are healthy, then a block for each. */
export function doctorDocument({ servers, hosts = [], healthy, unhealthy, ok }: DoctorReport): Block[] {
  const counts = [
    servers.length > 0 && count(servers.length, "server"),
    hosts.length > 0 && count(hosts.length, "host"),
  ];
  const all = counts.filter(Boolean).join(" and ") || "no server";
  const verdict = ok ? `HEALTHY: ${all}` : `UNHEALTHY: ${integer(unhealthy)} of ${all}`;
  const rest = ok || healthy === 0 ? "" : `; ${integer(healthy)} healthy`;
  return [
    heading(1, `${verdict}${rest}`, ok ? "good" : "bad"),
    ...servers.flatMap(serverBlocks),
    ...hosts.flatMap(hostBlocks),
  ];
}

function hostBlocks({ name, version, pinned, model, credentials, healthy, shown, diagnoses }: ExaminedHost): Block[] {
  const title = `${name}${version === undefined ? "" : ` ${version}`} (${model})`;
  const documented = pinned === undefined || pinned === version ? "" : `; docs/hosts.md describes ${pinned}`;
  const lines = [
    ...(version === undefined ? [] : [`Installed${documented}`]),
    ...(credentials === undefined ? [] : [`Credentials: ${credentials}`]),
    ...(shown ? describeShown(shown) : []),
  ];
  return [
    heading(3, `${healthy ? "✓" : "✗"} ${title}`, healthy ? "good" : "bad"),
    text(...lines),
    { kind: "list", items: diagnoses.map(diagnosisItem), most: Number.POSITIVE_INFINITY, noun: "diagnosis" },
  ];
}

const levels = { full: "in full", deferred: "deferred", named: "by name only", hidden: "not at all" } as const;

function describeShown({ tools, search, instructions, builtIns, firstRequestBytes }: Shown): string[] {
  const shown = (Object.keys(levels) as (keyof typeof levels)[]).flatMap((level) =>
    tools[level].length > 0 ? [`${levels[level]}: ${some(tools[level])}`] : [],
  );
  const finds = search === undefined ? "" : `; the model searches with ${search}`;
  return [
    ...(shown.length > 0 ? [`Tools shown ${shown.join("; ")}${finds}`] : []),
    ...(instructions === undefined ? [] : [`Instructions of servers: ${instructions ? "shown" : "not shown"}`]),
    `Its own tools: ${some(builtIns)}; first request ${integer(Math.round(firstRequestBytes / 1000))} KB`,
  ];
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
    items: [`Fix: ${remedy}`, ...evidence.map((line) => ({ code: `| ${line}`, max: 2_100 }))],
    most: Number.POSITIVE_INFINITY,
    ...(show !== undefined && { command: show }),
  };
}
