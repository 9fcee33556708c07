import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { exitCodes } from "./base/types/errors.ts";
import type { CaseSummary, SuiteSummary } from "./base/types/run.ts";
import { type Context, run, type Suite } from "./index.ts";
import { parseCommandLine } from "./inspection/shell.ts";
import type { RunOptions } from "./options.ts";

// `import "tool-evals/vitest"` adds the matcher `toSelect` to Vitest's `expect`.

/** A server: its command line, its URL, or as the `server` of a suite. Paths are relative to `cwd`. */
export type Server = string | NonNullable<Suite["server"]>;

type Expected = NonNullable<NonNullable<Suite["cases"]>[number]["expect"]>;

/** What is asked, and how often, beside the options of `run`. `lexical`, the default, decides by the tool alone. */
export type SelectOptions = {
  /** What the user says; of a list, one after the other. */
  for: string | string[];
  /** Expected arguments: values or matchers, as in a suite. */
  args?: Expected["args"];
  /** What the executed call must return, as in a suite. */
  result?: Expected["result"];
  /** The least share of passed trials. Default: 0.8. */
  rate?: number;
} & Omit<RunOptions, "paths" | "passRate" | "resume" | "accept" | "blame" | "nightly"> &
  Context;

declare module "vitest" {
  interface Matchers<T> {
    /**
     * Asks a model, and expects that it calls this tool: `await expect("node server.mjs").toSelect("read_file", { for:
     * "Show me notes.txt" })`. `none`: no tool; `any`: some tool; a list: one of them. A trial that broke is no answer:
     * then the assertion fails with the cause.
     */
    toSelect(tool: string | string[], options: SelectOptions): Promise<void>;
  }
}

expect.extend({
  async toSelect(server: Server, tool: string | string[], options: SelectOptions) {
    if (this.isNot) throw new Error('.not.toSelect is not defined. Expect another tool instead, or "none".');
    const { for: input, args, result, rate = 0.8, out, ...rest } = options;
    const expected = { tool, ...(args && { args }), ...(result && { result }) };
    const suite: Suite = {
      name: "expect",
      server: typeof server === "string" ? readServer(server) : server,
      passRate: rate,
      cases: [{ id: "toSelect", input, expect: expected }],
    };
    // Without `out` the record is of no use after the test, and must not become the latest run of the project.
    const folder = out === undefined ? await mkdtemp(join(tmpdir(), "tool-evals-")) : undefined;
    try {
      const summary = await run({
        check: "off",
        failOn: "rate",
        ...rest,
        passRate: rate,
        out: out ?? folder,
        suites: [suite],
      });
      const pass = summary.exitCode === exitCodes.passed;
      return { pass, message: () => summary.suites.map((one) => explain(one, tool)).join("\n") };
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    }
  },
});

function readServer(written: string): Suite["server"] {
  if (/^https?:/i.test(written)) return { url: written };
  const { command, args } = parseCommandLine(written);
  return { command, ...(args && { args: [...args] }) };
}

function explain({ cases, model }: SuiteSummary, tool: string | string[]): string {
  return cases.map((one) => explainCase(one, model, [tool].flat().join(" or "))).join("\n");
}

function explainCase(
  { input, passed, trials, broken, notGradable, passRate, reasons }: CaseSummary,
  model: string,
  tool: string,
) {
  const lost = [
    ...(broken > 0 ? [`${broken} broken`] : []),
    ...(notGradable > 0 ? [`${notGradable} not gradable`] : []),
  ];
  return [
    `expected ${model} to select ${tool} for "${input}" in at least ${Math.round(passRate * 100)}% of trials`,
    `passed ${passed} of ${trials}${lost.length > 0 ? ` (${lost.join(", ")})` : ""}`,
    ...reasons.map(({ text, n }) => `  ${n}x ${text}`),
  ].join("\n");
}
