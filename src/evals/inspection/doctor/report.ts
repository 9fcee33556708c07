import * as z from "zod";
import { groupBy } from "../../base/collections.ts";
import { type Shown, shownLevels, shownSchema } from "../../base/types/exposure.ts";
import { findingSchema } from "../../base/types/finding.ts";
import { type Block, heading, list, text, unlimited } from "../../reports/document.ts";
import { findingItem } from "../../reports/findings.ts";
import { count, duration, integer, some } from "../../reports/format.ts";

const ms = z.number().describe("milliseconds");

const findings = z
  .array(findingSchema)
  .describe("`error`: a host cannot use the server or one of its tools; `warning`: it may fail elsewhere");

const examinedSchema = z.object({
  name: z.string(),
  starts: z.string().describe("its command line or URL"),
  via: z.string().optional().describe("the suite or host configuration that names it"),
  healthy: z.boolean(),
  about: z
    .object({ name: z.string(), version: z.string(), protocol: z.string(), transport: z.string() })
    .partial()
    .optional()
    .describe("absent if no client could connect"),
  startMs: ms.optional(),
  listMs: ms.optional(),
  tools: z.number().int().optional(),
  called: z.array(z.object({ tool: z.string(), answered: z.boolean(), ms })),
  notCalled: z.array(z.object({ tool: z.string(), why: z.string() })),
  findings,
});
export type Examined = z.infer<typeof examinedSchema>;

const examinedHostSchema = z.object({
  name: z.string(),
  model: z.string().describe("the id of the model with which it was started"),
  version: z.string().optional().describe("absent if it cannot be started"),
  pinned: z.string().optional().describe("the version whose profile is documented"),
  credentials: z.string().optional().describe("the variable that holds them; absent if none is set"),
  healthy: z.boolean(),
  shown: shownSchema.optional().describe("what it shows of the tools of the servers"),
  findings,
});
export type ExaminedHost = z.infer<typeof examinedHostSchema>;

/** The output of `evals doctor --json`. */
export const doctorReportSchema = z.object({
  servers: z.array(examinedSchema),
  hosts: z.array(examinedHostSchema).optional().describe("absent without --host"),
  healthy: z.number().int(),
  unhealthy: z.number().int(),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;

/** The report of `evals doctor`: how many servers and hosts are healthy, what is `next` if all are, and each. */
export function doctorDocument({ servers, hosts = [], healthy, unhealthy, ok }: DoctorReport, next = ""): Block[] {
  const counts = [
    servers.length > 0 && count(servers.length, "server"),
    hosts.length > 0 && count(hosts.length, "host"),
  ];
  const all = counts.filter(Boolean).join(" and ") || "no server";
  const status = ok ? `HEALTHY: ${all}` : `UNHEALTHY: ${integer(unhealthy)} of ${all}`;
  const found = [...servers, ...hosts].flatMap(({ findings }) => findings);
  const warnings = found.filter(({ severity }) => severity === "warning");
  const warned = warnings.length === 0 ? "" : `, ${count(warnings.length, "warning")}`;
  const rest = ok ? warned : healthy === 0 ? "" : `; ${integer(healthy)} healthy`;
  return [
    heading(1, `${status}${rest}`, ok ? "good" : "bad"),
    text(ok ? next : "Next: apply the fix of the first error below, then run this again."),
    ...servers.flatMap((one) => {
      const { name, via, starts } = one;
      const title = `${name}${via === undefined ? "" : ` (${via})`}`;
      return listExamined(title, one, [...(starts === name ? [] : [starts]), ...describeServer(one)]);
    }),
    ...hosts.flatMap((one) => {
      const { name, version, model } = one;
      return listExamined(`${name}${version === undefined ? "" : ` ${version}`} (${model})`, one, describeHost(one));
    }),
  ];
}

function listExamined(title: string, { healthy, findings }: Examined | ExaminedHost, lines: string[]): Block[] {
  const items = findings.map((one) => findingItem(one));
  const [mark, tone] = healthy ? (["✓", "good"] as const) : (["✗", "bad"] as const);
  return [heading(3, `${mark} ${title}`, tone), text(...lines), list("finding", items, unlimited)];
}

function describeHost({ version, pinned, credentials, shown }: ExaminedHost): string[] {
  const documented = pinned === undefined || pinned === version ? "" : `; docs/hosts.md describes ${pinned}`;
  return [
    ...(version === undefined ? [] : [`Installed${documented}`]),
    ...(credentials === undefined ? [] : [`Credentials: ${credentials}`]),
    ...(shown ? listShown(shown) : []),
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

function describeServer({ about, startMs = 0, listMs = 0, tools, called, notCalled }: Examined): string[] {
  if (!about) return [];
  const { name = "no name", version = "", protocol = "", transport = "" } = about;
  const listed = tools === undefined ? "" : `; ${count(tools, "tool")} listed in ${duration(listMs)}`;
  const line = `${`${name} ${version}`.trim()}, protocol ${protocol} over ${transport}: answers after ${duration(startMs)}${listed}`;
  if (tools === undefined || tools === 0) return [line];
  const answered = integer(called.filter((call) => call.answered).length);
  const calls = called.length === 0 ? "no tool called" : `${count(called.length, "tool")} called, ${answered} answered`;
  const reasons = groupBy(notCalled, ({ why }) => why);
  const skipped = [...reasons].map(([why, own]) => `${some(own.map(({ tool }) => tool))} (${why})`);
  return [line, `${calls}${skipped.length === 0 ? "" : `; not called: ${skipped.join("; ")}`}`];
}
