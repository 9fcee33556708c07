import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { startProxy } from "../fixtures/endpoints/proxy.ts";
import { spawnEvals, workspace } from "./evals.ts";

const ca = fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url));
const dir = workspace();
writeFileSync(
  join(dir, "evals/abstain.yaml"),
  `name: abstain
server: { command: node, args: [../dist/server/main.js] }
cases: [{ id: train, input: When does the next train leave?, expect: { tool: none } }]`,
);
const endpoint = await startMessagesEndpoint(() => ({ text: "I cannot do that." }));
const proxy = await startProxy(endpoint.url);

const run = (env: Record<string, string>) =>
  spawnEvals(["run", "evals/abstain.yaml", "-n", "1", "-m", "anthropic:x", "--retries", "0", "--json"], {
    cwd: dir,
    env: { ANTHROPIC_BASE_URL: "https://api.test", ...env },
  });

it("reaches a model through a proxy and behind a private CA", async () => {
  const { code, out } = await run({ HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: ca });
  expect(JSON.parse(out).totals).toMatchObject({ trials: 1, broken: 0 });
  expect(code).toBe(0);
  expect(proxy.requests).toEqual(["CONNECT api.test:443"]);
});
