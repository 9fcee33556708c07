import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../../../fakes/folder.ts";
import { evals } from "../../evals.ts";
import { needsHost } from "../support.ts";

const root = join(import.meta.dirname, "../../../..");
const cwd = makeFolder();
const server = `${process.execPath} ${join(root, "dist/server/main.js")}`;

describe.each([
  ["goose", "goose", "GOOSE_PATH", "goose:openai/gpt-5.4"],
  ["copilot", "Copilot CLI", "COPILOT_PATH", "copilot:claude-sonnet-5-5"],
])("evals doctor --host %s", (host, name, variable, id) => {
  const program = needsHost(host);
  const key = id.includes("claude") ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";

  it("shows the version, the credentials, and what the host shows of the tools of a server", async () => {
    const env = {
      [variable]: program(),
      [key]: "secret",
      COPILOT_CACHE_HOME: join(root, "node_modules/.cache/tool-evals/copilot"),
    };
    const { code, out } = await evals(["doctor", "--host", id, "--server", server], { cwd, env });
    expect(out).toContain("HEALTHY: 1 server and 1 host");
    expect(out).toMatch(new RegExp(`✓ ${name} \\d+\\.\\d+\\.\\d+ \\(${id.replace(".", "\\.")}\\)\\n  Installed\\n`));
    expect(out).toContain(`Credentials: ${key}`);
    expect(out).toContain("Tools shown in full: echo");
    expect(out).not.toContain("secret");
    expect(code).toBe(0);
  });

  it("reports one that is missing, and one without credentials", async () => {
    const env = { [variable]: "/no/program", [key]: "" };
    const { code, out } = await evals(["doctor", "--host", id], { cwd, env });
    expect(out).toContain(`${name} cannot be started as "/no/program"`);
    expect(out).toContain(`Set ${key}.`);
    expect(code).toBe(1);
  });
});
