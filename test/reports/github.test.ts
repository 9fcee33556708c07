import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { command, withoutCommands } from "../../src/evals/reports/github.ts";
import { anyText } from "../fakes/text.ts";
import { sampleReports } from "./checks.ts";
import { caseOf, failed, manifest, runOf, suiteOf } from "./samples.ts";

/** The workflow commands that the runner would execute. */
function obeyed(log: string): string[] {
  const commands: string[] = [];
  let stopped: string | undefined;
  for (const line of log.split(/\r\n|\r|\n/)) {
    const [, name = "", , message = ""] = /^\s*::([^ :]+)( [^:]*)?::(.*)$/.exec(line) ?? [];
    if (stopped !== undefined) {
      if (name.toLowerCase() === stopped.toLowerCase()) stopped = undefined;
    } else if (name === "stop-commands") stopped = message;
    else if (name !== "" || line.includes("##[")) commands.push(line);
  }
  return commands;
}

describe.each(sampleReports)("%s", (name, report, summary) => {
  const text = forms.github.render(report);

  it("contains only its own workflow commands", async () => {
    await expect(`${obeyed(text).join("\n")}\n`).toMatchFileSnapshot(`snapshots/${name}.github.txt`);
  });

  it("has an error exactly if the run is red", () => {
    expect(obeyed(text).some((line) => line.startsWith("::error"))).toBe(summary.exitCode !== 0);
  });
});

it("names files from the root of the repository", () => {
  const report = runReport({ summary: failed, manifest });
  const files = (text: string) => new Set(text.match(/file=[^,]+/g));
  expect(files(forms.github.render(report))).toEqual(new Set(["file=evals/filesystem.yaml"]));
  expect(files(forms.github.render(report, undefined, "packages/a"))).toEqual(
    new Set(["file=packages/a/evals/filesystem.yaml"]),
  );
});

it("writes at most ten annotations per level and counts the rest", () => {
  const cases = Array.from({ length: 25 }, (_, at) => caseOf({ id: `c${at}`, input: "x", expected: "t", passed: 0 }));
  const lines = obeyed(forms.github.render(runReport({ summary: runOf([suiteOf({ cases })], 1), manifest })));
  expect(lines).toHaveLength(10);
  expect(lines[9]).toBe(
    "::error title=tool-evals::and 16 more annotations: see all in the report in reports/2026-11-21T09-30-00Z-k3f9",
  );
});

describe("command", () => {
  it("escapes like the runner expects", () => {
    expect(command("error", { file: "a,b:c%.yaml", line: 3 }, "50% of\r\nit: a, b")).toBe(
      "::error file=a%2Cb%3Ac%25.yaml,line=3::50%25 of%0D%0Ait: a, b",
    );
  });

  it("is one line with escaped properties", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const line = command("error", { title: text }, text);
        expect(line).not.toMatch(/[\r\n]/);
        expect(line).toMatch(/^::error title=[^:,]*::/);
      }),
    );
  });
});

describe("withoutCommands", () => {
  it("cannot be enabled again by the text", () => {
    const ends = "::end-of-tool-evals-report::\n::END-of-tool-evals-report-::\n::error::pwned";
    expect(obeyed(withoutCommands(ends))).toEqual([]);
    expect(obeyed(`${withoutCommands(ends)}::error::ours\n`)).toEqual(["::error::ours"]);
  });
});
