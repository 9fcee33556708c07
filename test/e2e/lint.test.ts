import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type LintReport, lintReportSchema } from "../../src/evals/base/types/finding.ts";
import { rubricRules } from "../../src/evals/inspection/lint/rules/rubric.ts";
import { makeFolder } from "../fakes/folder.ts";
import type { Fault } from "../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { type Ended, evals } from "./evals.ts";

const root = join(import.meta.dirname, "../..");
const fixtures = join(root, "test/fixtures");
const list = join(fixtures, "lint/tools.json");

const reportOf = ({ out }: Ended): LintReport => lintReportSchema.parse(JSON.parse(out));
const brief = ({ findings }: LintReport) =>
  findings.map(({ rule, location: { server, tool, path, line, column } }) =>
    [rule, server, tool, path, line, column].filter((part) => part !== undefined).join(" "),
  );

const suite = (lint: string) =>
  makeFolder({
    "s.yaml": `name: s
server: { tools: ${list} }
cases:
  - input: Will it rain in Oslo?
    expect: { tool: weather.get }
${lint}`,
  });

describe("evals lint", () => {
  it("finds faults in a list of a file by line and column, also items that are not tools", async () => {
    const ended = await evals(["lint", "--tools", list, "--json"]);
    const report = reportOf(ended);
    expect(brief(report)).toEqual(
      expect.arrayContaining([
        "name-charset tools weather.get $.name 4 15",
        "required-unknown tools weather.get $.inputSchema.required 9 21",
      ]),
    );
    expect(report.problems.map(({ message, location }) => [message, location?.line, location?.column])).toEqual([
      ["Item 2 of the list is not a tool.", 12, 5],
    ]);
    expect(ended.code).toBe(1);
  });

  it.each([
    [["--severity", "description-missing=error"], 1],
    [["--severity", "description-missing=off"], 0],
    [["--severity", "description-missing=off", "--failure-threshold", "info"], 1],
  ])("exits by the threshold and the configured severities: %j", async (flags, exit) => {
    const dir = makeFolder({
      "t.json": '[{ "name": "get.it", "inputSchema": { "type": "object", "properties": {} } }]',
    });
    const off = ["name-charset", "required-unknown"].flatMap((rule) => ["--severity", `${rule}=info`]);
    expect((await evals(["lint", "--tools", "t.json", ...off, ...flags], { cwd: dir })).code).toBe(exit);
  });

  it("keeps suppressed findings with their reason, and warns of a suppression that suppresses nothing", async () => {
    const dir = suite(`lint:
  severities: { suite-size: off, negative-case: off }
  ignore:
    - { rule: name-charset, tool: "weather.*", reason: users know it by this name }
    - { rule: required-unknown, reason: the host adds it }
    - { rule: description-missing, reason: there was none }
`);
    const ended = await evals(["lint", "s.yaml", "--json"], { cwd: dir });
    const { findings } = reportOf(ended);
    const suppressed = findings.flatMap(({ rule, suppressed: reason }) => (reason ? [[rule, reason]] : []));
    expect(suppressed).toEqual([
      ["name-charset", "users know it by this name"],
      ["required-unknown", "the host adds it"],
    ]);
    expect(ended.err).toContain("s.yaml:11:7: warning: The suppression of description-missing suppresses nothing.\n");
  });

  it("applies the settings of the project, wherever the tools come from", async () => {
    const dir = makeFolder({
      "t.json": [
        { name: "get.it", description: "x", inputSchema: { type: "object", properties: { mode: { type: "string" } } } },
      ],
      "evals/lint.yaml": "severities: { name-charset: info }\nignore: [{ rule: description-too-short, reason: r }]\n",
    });
    const { findings } = reportOf(await evals(["lint", "--tools", "t.json", "--json"], { cwd: dir }));
    const of = (id: string) => findings.find(({ rule }) => rule === id);
    expect([of("name-charset")?.severity, of("description-too-short")?.suppressed]).toEqual(["info", "r"]);
  });

  it("ranks the pairs that a model can confuse", async () => {
    const { confusable } = reportOf(await evals(["lint", "evals/filesystem.yaml", "--confusable", "--json"]));
    expect(confusable?.[0]).toMatchObject({ a: "list_directory", b: "list_directory_with_sizes" });
  });

  it("lints a skill package and its eval files by line, and reports packages that no host loads", async () => {
    const dir = makeFolder({
      "skills/a/SKILL.md": "---\nname: b\ndescription: Compresses images.\n---\n# A\n",
      "skills/a/evals/evals.json": '{ "evals": [] }',
      "skills/c/SKILL.md": "no front matter\n",
      "skills/d/SKILL.md": "---\nname: d\ndescription: #releases posts.\n---\n# D\n",
      "skills/e/SKILL.md": "---\nname: e\ndescription: `git log` as a post.\n---\n# E\n",
      "skills/f/notes.md": "# F\n",
    });
    const ended = await evals(["lint", "--skills", "skills", "--json"], { cwd: dir });
    const { findings, problems, counts } = reportOf(ended);
    expect(findings.find(({ rule }) => rule === "skill-name-folder")?.location).toMatchObject({
      ...{ skill: "b", file: "skills/a/SKILL.md", line: 2 },
    });
    expect(problems.map(({ location }) => [location?.file, location?.line])).toEqual([
      ["skills/f", undefined],
      ["skills/c/SKILL.md", 1],
      ["skills/d/SKILL.md", 1],
      ["skills/e/SKILL.md", 3],
    ]);
    expect(problems[2]).toMatchObject({
      message: 'No host can load this package: it has no "description"',
      hint: expect.stringMatching("^Fix it .YAML needs quotes around a value with #"),
    });
    expect(problems[0]?.hint).toBe("Fix it, or move it out of the folder of skills.");
    expect(counts.linted).toEqual({ skills: 1, "eval files": 1 });
    expect(ended.code).toBe(1);
  });

  it.each([
    [["--severity", "name-lenght=off"], 'error: There is no rule "name-lenght".\n  Did you mean "name-length"?\n'],
    [["--severity", "name-length=never"], "error: --severity name-length=never is not valid.\n"],
    [["--format", "markdown"], "error: --format markdown works only with --rules.\n"],
    [["--skills", "nowhere"], 'error: The folder "nowhere" does not exist.\n  Name a skill package, or a folder of'],
    [[], "error: There is no suite and no skill package under evals/ and skills/.\n  Name a suite, a skill package"],
  ])("refuses %j", async (args, message) => {
    const ended = await evals(["lint", ...args], { cwd: makeFolder({}) });
    expect([ended.err, ended.out, ended.code]).toEqual([expect.stringContaining(message), "", 2]);
  });

  it("refuses a suppression of an unknown rule, with its place", async () => {
    const ended = await evals(["lint", "s.yaml"], {
      cwd: suite("lint: { ignore: [{ rule: suite-sise, reason: r }] }\n"),
    });
    const message = 's.yaml:6:26: error: There is no rule "suite-sise".\n  Did you mean "suite-size"?\n';
    expect([ended.err, ended.code]).toEqual([message, 2]);
  });
});

describe("evals lint --judge", () => {
  const tool = (name: string) => ({ name, description: `Returns ${name}.`, inputSchema: { type: "object" } });
  const lists = makeFolder({ "t.json": JSON.stringify(["get_a", "get_b", "get_c"].map(tool), null, 1) });
  const graded = (scores: Record<string, number>): MessageAnswer => {
    const grades = rubricRules.map(({ id }) => [id, { reason: `As for ${id}.`, score: scores[id] ?? 5 }]);
    return { text: JSON.stringify(Object.fromEntries(grades)) };
  };

  /** Lints the list with a judge that answers by the name of the tool. */
  async function judged(answers: Record<string, MessageAnswer | Fault>, ...flags: string[]) {
    const endpoint = await startMessagesEndpoint(({ messages }) => {
      const { tool: asked } = JSON.parse(String(messages[0]?.content));
      return answers[asked.name] ?? graded({});
    });
    const judge = ["--judge", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url, "--retries", "0"];
    const ended = await evals(["lint", "--tools", "t.json", "--json", ...judge, ...flags], { cwd: lists });
    const report = ended.out === "" ? undefined : reportOf(ended);
    const findings = report?.findings.filter(({ rule }) => rule.startsWith("judge-")) ?? [];
    return { ended, report, findings, requests: endpoint.requests };
  }

  const low = { get_b: graded({ "judge-usage": 2, "judge-parameters": 4 }) };

  it("asks once per tool, and adds low grades, marked as judged", async () => {
    const { ended, report, findings, requests } = await judged(low);
    expect(requests.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined]);
    expect(findings).toEqual([
      {
        ...{ rule: "judge-usage", severity: "info" },
        message: "Judged by anthropic:claude-haiku-5-5: 2 of 5. As for judge-usage.",
        fix: "Name the situation, with an example request where it helps.",
        location: { server: "t", tool: "get_b", path: "$.description", file: "t.json", line: 11, column: 18 },
      },
    ]);
    expect(ended.err).toMatch(/^Sent 3 requests about 3 tools to anthropic:claude-haiku-5-5, cost <?\$[\d.]+\n$/);
    expect([report?.counts.linted["judged tools"], report?.problems, ended.code]).toEqual([3, [], 0]);
  });

  it.each([
    ["a malformed answer", { text: "Fine." }, 'the judge\'s answer is not JSON: "Fine."'],
    ["a refusal", { text: "I will not.", stopReason: "refusal" }, "the judge refused to answer"],
    ["silence", { fault: "hang" }, "the judge failed (timeout)"],
  ] as const)("%s: the others are graded, and the tool is a problem", async (_, answer, why) => {
    // What is silent is waited for longer than an answer takes on a busy machine.
    const { ended, report } = await judged({ get_c: answer }, ...("fault" in answer ? ["--timeout", "5"] : []));
    expect(report?.problems.map(({ message, location }) => [message, location?.line])).toEqual([
      [expect.stringContaining(`1 tool not judged (get_c): ${why}`), 16],
    ]);
    expect([report?.counts.linted["judged tools"], ended.code]).toEqual([2, 3]);
  });

  it("asks no more once the budget is spent.", async () => {
    const { report, requests, ended } = await judged({}, "--budget", "0.000001", "--concurrency", "1");
    expect(requests.length).toBe(1);
    expect(report?.problems.map(({ message }) => message)).toEqual([
      "2 tools not judged (get_b, get_c): the budget is spent.",
    ]);
    expect(ended.code).toBe(3);
  });
});
