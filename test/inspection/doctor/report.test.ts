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

test("renders servers with a warning and with an error", () => {
  expect(renderTerminal(doctorDocument(reportOn(good, bad), next), screen)).toMatchInlineSnapshot(`
    "UNHEALTHY: 1 of 2 servers; 1 healthy
      Next: apply the fix of the first error below, then run this again.

    ✓ weather (.mcp.json)
      node /srv/weather/server.js
      weather 1.2.3, protocol 2025-11-25 over stdio: answers after 320 ms; 9 tools
        listed in 1.2 s
      2 tools called, 1 answered; not called: a, b, c, d, e and 1 more (needs
        arguments); delete_all (not annotated read-only)

      warning stdout-noise
        It writes to stdout what is not the protocol; some hosts close the
          connection for that.
        Fix: Write logs to stderr.
        | stdout: Listening \\x1b[31mhere
        $ cd /srv && node /srv/weather/server.js

    ✗ node a.js
      error exits
        It ends before it answers.
        Fix: Run the command by hand in the same folder, and fix what it reports.
        | exited with code 1
        | stderr: line 0
        | stderr: line 1
        | stderr: line 2
        | stderr: line 3
        | stderr: line 4
        | stderr: line 5
        | stderr: line 6
        | stderr: line 7
        | stderr: line 8
        | stderr: line 9
        | stderr: line 10
        | stderr: line 11
        | stderr: line 12
        $ cd /srv && node a.js 'a long argument a long argument a long argument a long argument a long argument a long argument '
    "
  `);
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
  expect(render({})).toMatchInlineSnapshot(`
    "HEALTHY: 1 server
      Next: check the wording of the tools with \`evals lint\`, or draft a suite for
        them with \`evals init\`.

    ✓ weather (.mcp.json)
      node /srv/weather/server.js
      weather 1.2.3, protocol 2025-11-25 over stdio: answers after 320 ms; 9 tools
        listed in 1.2 s
      no tool called
    "
  `);
  expect(render({ tools: 0 })).toMatch(/320 ms; 0 tools\n {4}listed in 1\.2 s\n$/);
});
