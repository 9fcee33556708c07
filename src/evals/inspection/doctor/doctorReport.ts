import { groupBy } from "../../base/groupBy.ts";
import { type Shown, shownLevels } from "../../base/types/shown.ts";
import { type Block, heading, type Item, list, text, unlimited } from "../../reports/document.ts";
import { count, duration, integer, some } from "../../reports/format.ts";
import type { Diagnosis, DoctorReport, Examined, ExaminedHost } from "./diagnosis/report.ts";

/** The report of `evals doctor`: how many servers and hosts are healthy, then a section for each. */
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
    text(
      "How sure: observed just now, by starting each on this machine.",
      ok
        ? "Next: check the wording of the tools with `evals lint`, or draft a suite with `evals init`."
        : "Next: apply the fix of the first error below, then run this again.",
    ),
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
    ...(shown ? listShown(shown) : []),
  ];
  return [
    heading(3, `${healthy ? "✓" : "✗"} ${title}`, healthy ? "good" : "bad"),
    text(...lines),
    list("diagnosis", diagnoses.map(diagnosisItem), unlimited),
  ];
}

function listShown({ tools, search, instructions, builtIns, firstRequestBytes }: Shown): string[] {
  const shown = Object.entries(tools).flatMap(([level, names]) =>
    names.length > 0 ? [`${shownLevels[level as keyof typeof tools]}: ${some(names)}`] : [],
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
    text(starts === name ? undefined : starts, ...describeServer(one)),
    list("diagnosis", diagnoses.map(diagnosisItem), unlimited),
  ];
}

function describeServer({ about, startMs = 0, listMs = 0, tools, called, notCalled }: Examined): string[] {
  if (!about) return [];
  const { name = "no name", version = "", protocol = "", transport = "" } = about;
  const listed = tools === undefined ? "" : `; ${count(tools, "tool")} listed in ${duration(listMs)}`;
  const line = `${`${name} ${version}`.trim()}, protocol ${protocol} over ${transport}: answers after ${duration(startMs)}${listed}`;
  if (tools === undefined || tools === 0) return [line];
  const answered = called.filter((call) => call.answered).length;
  const calls =
    called.length === 0 ? "no tool called" : `${count(called.length, "tool")} called, ${integer(answered)} answered`;
  return [line, `${calls}${describeNotCalled(notCalled)}`];
}

function describeNotCalled(notCalled: Examined["notCalled"]): string {
  const reasons = [...groupBy(notCalled, ({ why }) => why)].map(
    ([why, own]) => `${some(own.map(({ tool }) => tool))} (${why})`,
  );
  return reasons.length === 0 ? "" : `; not called: ${reasons.join("; ")}`;
}

function diagnosisItem({ severity, id, wrong, evidence, remedy, show }: Diagnosis): Item {
  return {
    text: [{ strong: severity, tone: severity === "error" ? "bad" : "warn" }, `: ${wrong} [${id}]`],
    items: [`Fix: ${remedy}`, ...evidence.map((line) => ({ code: `| ${line}`, max: 2_100 }))],
    max: unlimited,
    ...(show !== undefined && { command: show }),
  };
}
