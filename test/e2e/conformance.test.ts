import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { needsHost } from "./hosts/support.ts";

// The official conformance suite of MCP, against the reference server and the client of this program. It needs a newer
// Node than this program.

const suite = needsHost("conformance");
const node = needsHost("node");
const folder = makeFolder();

type Result = { out: string; failed: string[] };

/** Runs one scenario, and gives the checks of it that did not succeed. */
async function play(side: "client" | "server", scenario: string, ...args: string[]): Promise<Result> {
  const results = mkdtempSync(join(folder, "run-"));
  const line = [suite(), side, "--scenario", scenario, ...args, "-o", results];
  const out = await new Promise<string>((done) => {
    execFile(node(), line, { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) => done(stdout + stderr));
  });
  const made = readdirSync(results, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith("checks.json"));
  if (made === undefined) throw new Error(`The suite wrote no result:\n${out}`);
  const checks = JSON.parse(readFileSync(join(results, made), "utf8")) as { id: string; status: string }[];
  return { out, failed: checks.filter(({ status }) => /FAILURE|WARNING/.test(status)).map(({ id }) => id) };
}

/** What a server with one tool and nothing else can meet. */
const serverScenarios = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];
/**
 * Those that ask for other tools, or for resources, prompts, completion, logging, sampling or elicitation; and for sessions
 * and streams that can be resumed: echo answers at once, so there is nothing to resume.
 */
const otherServerScenarios =
  /^(?:server-sse-|tools-call-|resources-|prompts-|elicitation-|logging-set-level$|completion-complete$|json-schema-2020-12$)/;

const clientScenarios = [
  ...["initialize", "tools_call", "sse-retry"],
  ...["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3"].map((name) => `auth/${name}`),
  ...["scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"].map(
    (name) => `auth/${name}`,
  ),
  ...["basic", "post", "none"].map((name) => `auth/token-endpoint-auth-${name}`),
  ...["pre-registration", "2025-03-26-oauth-endpoint-fallback", "resource-mismatch"].map((name) => `auth/${name}`),
  ...["offline-access-scope", "offline-access-not-supported"].map((name) => `auth/${name}`),
];
/** What is not met, with the reason. docs/security.md says the same. */
const notMet: Readonly<Record<string, string>> = {
  "elicitation-sep1034-client-defaults": "a run has nobody to ask, so the client declares no elicitation",
  "auth/basic-cimd": "a client by URL needs a published document; the client registers itself",
  "auth/scope-step-up": "scopes are asked for at the login alone (--scope), never during a run",
  "auth/scope-retry-limit": "as scope-step-up",
  "auth/2025-03-26-oauth-metadata-backcompat": "its metadata names another issuer, which RFC 8414 (3.3) refuses",
  "auth/client-credentials-jwt": "an extension",
  "auth/client-credentials-basic": "an extension",
  "auth/cross-app-access-complete-flow": "an extension",
};
/** What depends on the load of the machine. */
const timed = "client-sse-retry-timing";

it("knows every scenario of the suite", async () => {
  const listed = await new Promise<string>((done) => {
    execFile(node(), [suite(), "list"], (_, stdout) => done(stdout));
  });
  const [server = "", client = ""] = listed.split("Client scenarios");
  const names = (text: string) => [...text.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
  expect(names(server).filter((name) => !otherServerScenarios.test(name))).toEqual(serverScenarios);
  expect(names(client).sort()).toEqual([...clientScenarios, ...Object.keys(notMet)].sort());
});

describe("the reference server", () => {
  let url = "";
  beforeAll(async () => {
    const main = fileURLToPath(new URL("../../dist/server/main.js", import.meta.url));
    const child = spawn(process.execPath, [main, "--transport", "http", "--port", "0"]);
    let said = "";
    for await (const chunk of child.stderr) {
      said += chunk;
      url = /http:\S+/.exec(said)?.[0] ?? "";
      if (url !== "") break;
    }
    return async () => {
      child.kill();
      await once(child, "exit");
    };
  });
  it.concurrent.each(serverScenarios)("%s", async (scenario) => {
    const { out, failed } = await play("server", scenario, "--url", url);
    expect(failed, out).toEqual([]);
  });
});

describe("the client", () => {
  const client = `"${process.execPath}" "${fileURLToPath(new URL("../fixtures/conformanceClient.mjs", import.meta.url))}"`;
  it.concurrent.each(clientScenarios)("%s", async (scenario) => {
    const { out, failed } = await play("client", scenario, "--command", client, "--timeout", "120000");
    expect(
      failed.filter((id) => id !== timed),
      out,
    ).toEqual([]);
    expect(out).not.toContain("Unhandled");
  });
});
