import { describe, expect, it } from "vitest";
import { type ProbeFinding, type ProbeReport, probeDocument } from "../../../src/evals/inspection/probe/report.ts";
import { asciiJson } from "../../../src/evals/reports/escape.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

const display = { color: false, width: 100, unicode: true };

const finding: ProbeFinding = {
  ...{ rule: "refuses-wrong-type", severity: "error", parameters: ["count", "tags"] },
  location: { server: "files", tool: "get_total" },
  message: 'A call with a value of the wrong type succeeds: "7".',
  call: { tool: "get_total", arguments: { count: "7" } },
  evidence: ['Call: get_total {"count":"7"}', 'Result: "ok\u001b[2J\u202e"'],
  ...{ times: 4, reproduced: "yes" },
  fix: "Validate the arguments against the inputSchema first.",
  command: `evals probe --server 'node server.js' --call '{"tool":"get_total","arguments":{"count":"7"}}'`,
};
const again: ProbeFinding = {
  ...finding,
  ...{
    rule: "not-blank",
    severity: "info",
    location: { server: "files", tool: "get_page" },
    parameters: [],
    message: "The result is an empty text.",
  },
  ...{ call: { tool: "get_page", arguments: { text: "x".repeat(400) } }, times: 1, reproduced: "no" },
  evidence: [`Call: get_page {"text":"${"x".repeat(400)}"}`, 'Result: ""'],
};
const row = {
  tool: "get_total",
  calls: 12,
  ok: ["survives"],
  found: ["refuses-wrong-type"],
  notProbed: ["not-empty"],
  notes: [],
};

const report: ProbeReport = {
  seed: 7,
  servers: [
    {
      ...{ server: "files", calls: 31, starts: 3, answers: [] },
      tools: [
        row,
        {
          tool: "get_page",
          calls: 18,
          ok: ["survives"],
          found: [],
          notProbed: ["not-empty"],
          notes: ["no call with valid input succeeded"],
        },
        { tool: "(unknown tool)", calls: 1, ok: ["survives"], found: [], notProbed: [], notes: [] },
      ],
      skipped: [{ tool: "delete_all", reason: "delete_all is not annotated read-only (execute: read-only)" }],
      findings: [again, finding],
    },
  ],
  problems: [{ severity: "error", message: 'server "other" did not start' }],
  counts: { error: 1, warning: 0, info: 1 },
  rules: [
    { id: "survives", severity: "error", why: "w", docs: "d" },
    { id: "not-empty", severity: "error", why: "w", docs: "d" },
  ],
  ...{ failOn: "warning", stopped: false, ok: false, exitCode: 1 },
};

describe("the report of probes", () => {
  it("shows the tools and findings of each server, worst first, with escaped text", async () => {
    await expect(renderTerminal(probeDocument(report), display)).toMatchFileSnapshot("snapshots/probes.txt");
  });

  it("is ASCII without unicode", () => {
    expect(renderTerminal(probeDocument(report), { ...display, unicode: false })).toMatch(/^[\n -~]*$/);
  });

  it("shows the results of manual calls", () => {
    const server = { server: "files", calls: 1, starts: 1, tools: [], skipped: [], findings: [] };
    const answers = [{ tool: "echo", arguments: { text: "a" }, result: '"Echo: a"' }];
    const counts = { error: 0, warning: 0, info: 0 };
    const passed = { ...report, servers: [{ ...server, answers }], problems: [], counts, ok: true, exitCode: 0 };
    expect(renderTerminal(probeDocument(passed), display)).toMatchSnapshot();
  });

  it("reports an interrupted run", () => {
    const stopped = { ...report, stopped: true, exitCode: 130 };
    expect(renderTerminal(probeDocument({ ...stopped, servers: [] }), display)).toMatchInlineSnapshot(`
      "STOPPED 1 error, 0 warnings, 1 info · 1 problem · 0 servers probed · seed 7
        Next: fix what could not be probed: server "other" did not start
      "
    `);
  });

  it("colors findings by severity", () => {
    expect(renderTerminal(probeDocument(report), { ...display, color: true })).toContain(
      "\u001b[31merror\x1b[39m refuses-wrong-type",
    );
  });
});

describe("JSON in ASCII", () => {
  it("parses to the same value, in characters that can be copied", () => {
    const value = { text: "naïve \u001b[2J\u202e 日本 💥\u007f", lines: "a\nb" };
    const text = asciiJson(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).toMatch(/^[ -~]*$/);
  });
});
