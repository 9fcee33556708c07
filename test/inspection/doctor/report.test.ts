import { expect, test } from "vitest";
import {
  type DoctorReport,
  doctorDocument,
  doctorReportSchema,
  type Examined,
} from "../../../src/evals/inspection/doctor/report.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

const good: Examined = {
  name: "weather",
  via: ".mcp.json",
  starts: "node /srv/weather/server.js",
  healthy: true,
  about: { name: "weather", version: "1.2.3", protocol: "2025-11-25", transport: "stdio" },
  startMs: 320,
  listMs: 1_240,
  tools: 9,
  called: [
    { tool: "get_weather", answered: true, ms: 4 },
    { tool: "get_page", answered: false, ms: 5 },
  ],
  notCalled: [
    ...["a", "b", "c", "d", "e", "f"].map((tool) => ({ tool, why: "needs arguments" })),
    { tool: "delete_all", why: "not annotated read-only" },
  ],
  findings: [
    {
      rule: "stdout-noise",
      location: {},
      severity: "warning",
      message: "It writes to stdout what is not the protocol; some hosts close the connection for that.",
      evidence: ["stdout: Listening \u001b[31mhere"],
      fix: "Write logs to stderr.",
      command: "cd /srv && node /srv/weather/server.js",
    },
  ],
};
const bad: Examined = {
  name: "node a.js",
  starts: "node a.js",
  healthy: false,
  called: [],
  notCalled: [],
  findings: [
    {
      rule: "exits",
      location: {},
      severity: "error",
      message: "It ends before it answers.",
      evidence: ["exited with code 1", ...Array.from({ length: 13 }, (_, at) => `stderr: line ${at}`)],
      fix: "Run the command by hand in the same folder, and fix what it reports.",
      command: `cd /srv && node a.js '${"a long argument ".repeat(6)}'`,
    },
  ],
};
const reportOn = (...servers: Examined[]): DoctorReport => {
  const unhealthy = servers.filter(({ healthy }) => !healthy).length;
  const ok = unhealthy === 0;
  return doctorReportSchema.parse({
    servers,
    healthy: servers.length - unhealthy,
    unhealthy,
    ok,
    exitCode: ok ? 0 : 1,
  });
};
const next = "Next: check the wording of the tools with `evals lint`, or draft a suite for them with `evals init`.";
const screen = { color: false, width: 80, unicode: true };

test("renders servers with a warning and with an error", async () => {
  await expect(renderTerminal(doctorDocument(reportOn(good, bad), next), screen)).toMatchFileSnapshot(
    "snapshots/doctor.txt",
  );
});

test("colors the verdict and severities, but no text of a server", () => {
  const colors = renderTerminal(doctorDocument(reportOn({ ...good, notCalled: [] }), next), { ...screen, color: true });
  expect(colors.replaceAll("\u001b", "ESC").match(/.*ESC.*/g)).toEqual([
    "ESC[32mHEALTHY: 1 server, 1 warningESC[39m",
    "ESC[32m✓ weather (.mcp.json)ESC[39m",
    "  ESC[33mwarningESC[39m stdout-noise",
  ]);
});

test("renders servers without permitted or listed tools", () => {
  const render = (changes: Partial<Examined>) => {
    const silent = { ...good, called: [], notCalled: [], findings: [], ...changes };
    return renderTerminal(doctorDocument(reportOn(silent), next), screen);
  };
  expect(render({})).toMatch(/^HEALTHY: 1 server\n(?:.*\n)*.*; 9 tools\n {4}listed in 1\.2 s\n {2}no tool called\n$/);
  expect(render({ tools: 0 })).toMatch(/320 ms; 0 tools\n {4}listed in 1\.2 s\n$/);
});
