import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { doctorReportSchema } from "../../../src/evals/inspection/doctor/report.ts";
import { makeFolder } from "../../fakes/folder.ts";
import { evals } from "../evals.ts";
import { needsHost } from "./support.ts";

const program = needsHost("codex");
const cwd = makeFolder();
const server = `${process.execPath} ${join(import.meta.dirname, "../../../dist/server/main.js")}`;

describe("evals doctor --host", () => {
  it("shows what a host shows of the tools of a server", async () => {
    const env = { CODEX_PATH: program(), OPENAI_API_KEY: "secret" };
    const { code, out } = await evals(["doctor", "--host", "codex:gpt-5.5", "--server", server], { cwd, env });
    expect(out).toContain("HEALTHY: 1 server and 1 host");
    expect(out).toMatch(/✓ Codex \d+\.\d+\.\d+ \(codex:gpt-5\.5\)\n {2}Installed\n {2}Credentials: OPENAI_API_KEY\n/);
    expect(out).toContain("Tools shown not at all: echo; the model searches with tool_search");
    expect(out).not.toContain("secret");
    expect(code).toBe(0);
  });

  it("reports a host without credentials, one that is missing, and one that is unknown", async () => {
    const unsigned = await evals(["doctor", "--host", "codex", "--json"], { cwd, env: { CODEX_PATH: program() } });
    const report = doctorReportSchema.parse(JSON.parse(unsigned.out));
    expect(report.hosts).toMatchObject([
      { name: "Codex", healthy: false, shown: { tools: { full: [] } }, findings: [{ rule: "host-not-signed-in" }] },
    ]);
    expect(unsigned.code).toBe(1);
    const missing = await evals(["doctor", "--host", "codex"], {
      cwd,
      env: { CODEX_PATH: "/no/codex", OPENAI_API_KEY: "x" },
    });
    expect(missing.out).toContain('Codex cannot be started as "/no/codex"');
    expect(missing.out).toContain("Fix: Install it (npm install -g @openai/codex)");
    expect(missing.code).toBe(1);
    const unknown = await evals(["doctor", "--host", "cursor"], { cwd });
    expect(unknown).toMatchObject({
      code: 2,
      err: 'error: Unknown host "cursor".\n  Use one of: claude-code, codex, copilot, goose.\n',
    });
  });
});
