import { createServer, type IncomingHttpHeaders } from "node:http";
import { afterEach, expect, it } from "vitest";
import { listen } from "../fixtures/ports.ts";
import { evals, summaryOf, workspace } from "./evals.ts";

const dir = workspace();
const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
let status = 200;
const collector = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  received.push({ path: request.url ?? "", headers: request.headers, body });
  response.writeHead(status, { "content-type": "application/json" }).end("{}");
});
const url = `http://127.0.0.1:${await listen(collector)}`;
afterEach(() => {
  received.length = 0;
  status = 200;
});

const run = (...args: string[]) =>
  evals(["run", "evals/quickstart.yaml", "--json", ...args], {
    cwd: dir,
    env: { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc,x-project=mine" },
  });

it("sends each trial of a run to a collector, and again with report", async () => {
  const { totals } = summaryOf(await run("--otlp", url));
  const [sent] = received;
  expect(sent).toMatchObject({
    path: "/v1/traces",
    headers: { authorization: "Basic abc", "x-project": "mine", "content-type": "application/json" },
  });
  const traces = [...(sent?.body ?? "").matchAll(/"traceId":"(\w+)"/g)].map(([, id]) => id);
  expect(new Set(traces).size).toBe(totals.trials);
  const { code } = await evals(["show", "--otlp", url], { cwd: dir });
  expect([code, received.length, received[1]?.body === sent?.body]).toEqual([0, 2, true]);
});

it("never loses a run because a collector refuses or is down", async () => {
  const without = await run();
  status = 503;
  const refused = await run("--otlp", url);
  expect([refused.code, summaryOf(refused).totals.trials]).toEqual([without.code, summaryOf(without).totals.trials]);
  expect(refused.err).toContain(`warning: The traces could not all be sent to ${url}/v1/traces: it answered 503.`);
  await new Promise((resolve) => collector.close(resolve));
  const down = await run("--otlp", url);
  expect(down.code).toBe(without.code);
  expect(down.err).toContain("Send them again with `evals show");
});

it("refuses what is not a URL before anything is asked", async () => {
  expect(await run("--otlp", "localhost:4318")).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringContaining("--otlp localhost:4318 is not an HTTP or HTTPS URL without a user"),
  });
});
