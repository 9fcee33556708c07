import { expect, it } from "vitest";
import type { CaseSummary } from "../../../../src/evals/base/types/run.ts";
import { briefDocument } from "../../../../src/evals/experiments/run/report/run.ts";
import { renderTerminal } from "../../../../src/evals/reports/terminal.ts";
import { caseOf, manifest, runOf, suiteOf } from "../../../reports/samples.ts";

const model = "anthropic:claude-sonnet-5-5";
const totals = { calls: 40, inputTokens: 184_320, outputTokens: 4_211, costUsd: 0.41075 };

function brief(cases: readonly CaseSummary[], others: readonly string[] = [], given = manifest): string {
  const suites = [model, ...others].map((id) => {
    const suite = suiteOf({ cases: [...cases], model: id, failed: ["rate"] });
    return { ...suite, totals: { ...suite.totals, ...totals } };
  });
  return renderTerminal(briefDocument({ summary: runOf(suites, 1), manifest: given }), {
    color: false,
    width: 80,
    unicode: true,
  });
}

const failing = (id: string, expected: string, ...missed: CaseSummary["missed"]) =>
  caseOf({ id, input: `Do ${id}`, expected, passed: 5 - missed.reduce((sum, { n }) => sum + n, 0), missed });
const wrongTool = (picked: string, n: number) => ({ outcome: "wrong-tool", picked, n });
const sizes = "list_directory_with_sizes";
const several = [
  failing("biggest-photo", sizes, wrongTool("list_directory", 5)),
  failing("photo-sizes", sizes, wrongTool("list_directory", 3), { outcome: "no-call", picked: "(none)", n: 1 }),
  failing(
    "rename",
    "move_file",
    { outcome: "unknown-tool", picked: "rename_file (unknown)", n: 3 },
    { outcome: "unknown-tool", picked: "read_file + rename_file (unknown)", n: 2 },
  ),
  failing("weather", "(none)", { outcome: "over-triggered", picked: "read_text_file", n: 2 }),
  caseOf({ id: "read", input: "Read it", expected: "read_text_file" }),
];

it("says on a screen what failed, what was picked instead, what was confused and made up, and what it cost", async () => {
  await expect(brief(several)).toMatchFileSnapshot("snapshots/failed.txt");
});

it.each([
  ["reports/x", "`evals show`"],
  ["reports/partial/x", "`evals show reports/partial/x`"],
  ["/elsewhere/x", "`evals show /elsewhere/x`"],
])("names the record in %s where it is not found by itself", (dir, command) => {
  const document = briefDocument({
    summary: { ...runOf([suiteOf({ cases: [...several], model })], 1), dir },
    manifest,
  });
  const text = renderTerminal(document, { color: false, width: 80, unicode: true });
  expect(text).toContain(`All figures: ${command}\n`);
});

it("speaks of skills as skills", () => {
  const cases = [
    failing("near-miss", "(none)", { outcome: "over-triggered", picked: "skill:cleye", n: 5 }),
    failing("positive", "skill:cleye", { outcome: "no-call", picked: "(none)", n: 5 }),
  ];
  const suite = suiteOf({ name: "skill:cleye", cases, model, failed: ["rate"] });
  const document = briefDocument({ summary: runOf([suite], 1), manifest });
  const text = renderTerminal(document, { color: false, width: 80, unicode: true });
  expect(text).toMatch(/near-miss +must not load cleye +0\/5 +loaded cleye 5/);
  expect(text).toMatch(/positive +must load cleye +0\/5 +no call 5/);
});

it("numbers models whose names are too wide for a narrow terminal", () => {
  const others = ["gpt-6.1-sol-mini", "gpt-6.1-sol", "qwen3-coder-30b-instruct", "llama-4-70b"].map(
    (name) => `openai:${name}`,
  );
  const text = brief(several, others);
  expect(text.slice(text.indexOf("no."), text.indexOf("\nphoto-sizes"))).toMatchSnapshot();
  expect(text).toMatch(
    /^FAILED · 5 of 25 cases pass · anthropic:claude-sonnet-5-5,\n {2}openai:gpt-6\.1-sol-mini, .* and 2 more\n/,
  );
});

it("shows several models side by side, with the rate of each", () => {
  const text = brief(several, ["openai:gpt-6-mini"]);
  expect(text.slice(text.indexOf("case "), text.indexOf("\n\nConfused"))).toMatchSnapshot();
  expect(text).toContain(
    "list_directory: 16 of 20 trials, 2 cases\n\nNames that no tool has: rename_file 10 (for move_file)",
  );
  expect(text).toContain(
    "Usage: 80 model replies · 24 calls executed · 368,640 tokens in · 8,422 out ·\n  cost $0.82\n",
  );
});

it("fits 30 lines, however many cases fail", () => {
  const cases = Array.from({ length: 300 }, (_, at) =>
    failing(`case-${at}`, `tool-${at % 40}`, wrongTool(`tool-${(at % 40) + 1}`, 3), {
      ...{ outcome: "unknown-tool", picked: `made_up_${at % 9} (unknown)`, n: 1 },
    }),
  );
  for (const others of [[], ["openai:gpt-6-mini"]]) {
    const text = brief(cases, others);
    expect(text).toMatch(/… and 29[34] more cases/);
    expect(text.split("\n").length - 1).toBeLessThanOrEqual(30);
  }
});

it("has no interval for a deterministic model", () => {
  const models = manifest.models.map((one) => ({ ...one, deterministic: true }));
  expect(brief(several)).toContain("95% CI");
  expect(brief(several, [], { ...manifest, models })).not.toContain("CI");
});

it("explains the exit code only if gates were given", () => {
  expect(brief(several)).not.toContain("Exit code");
  expect(brief(several, [], { ...manifest, failOn: ["rate"] })).toContain("Exit code: 1, because of --fail-on rate");
});
