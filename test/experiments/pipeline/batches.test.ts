import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalJson, type JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Trial } from "../../../src/evals/base/types/trial.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { createRun } from "../../../src/evals/records/record.ts";
import {
  type BatchEndpoint,
  type BatchScript,
  startCompletionBatches,
  startMessageBatches,
} from "../../fixtures/endpoints/batches.ts";
import type { CompletionAnswer, CompletionsBody } from "../../fixtures/endpoints/completions.ts";
import type { MessageAnswer, MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { filesSuite, list, project, read, runDefaults } from "./project.ts";

const asks = (body: { messages: unknown }, text: string) => JSON.stringify(body.messages).includes(text);
/** The right tool for every query of the project. */
const pick = (body: { messages: unknown }) =>
  asks(body, "notes.txt") ? ["read"] : asks(body, "folder") ? ["list"] : [];

type Script = Partial<BatchScript<MessagesBody & CompletionsBody, MessageAnswer & CompletionAnswer>>;

/** Each provider with its model, its endpoint and the base URL of it. */
const providers = {
  anthropic: {
    model: "anthropic:claude-haiku-5-5",
    baseUrl: (url: string) => url,
    open: (script: Script) =>
      startMessageBatches({
        ...(script as Partial<BatchScript<MessagesBody, MessageAnswer>>),
        answer: (body, asked) =>
          (script.answer as BatchScript<MessagesBody, MessageAnswer>["answer"] | undefined)?.(body, asked) ?? {
            text: "ok",
            calls: pick(body).map((name) => ({ name, input: {} })),
          },
      }),
  },
  openai: {
    model: "openai:gpt-6.1",
    baseUrl: (url: string) => `${url}/v1`,
    open: (script: Script) =>
      startCompletionBatches({
        ...(script as Partial<BatchScript<CompletionsBody, CompletionAnswer>>),
        answer: (body, asked) =>
          (script.answer as BatchScript<CompletionsBody, CompletionAnswer>["answer"] | undefined)?.(body, asked) ?? {
            text: "ok",
            calls: pick(body).map((name) => ({ name, arguments: "{}" })),
          },
      }),
  },
};
type Provider = keyof typeof providers;

async function open(provider: Provider, script: Script = {}, files: Record<string, unknown> = {}) {
  const { model, baseUrl, open } = providers[provider];
  const endpoint: BatchEndpoint<object> = (await open(script)) as never;
  const location = project({ "prices.json": { "gpt-6.1": { input: 1, output: 4 } }, ...files });
  const env = { HOME: location.dir, ANTHROPIC_API_KEY: "x", OPENAI_API_KEY: "x" };
  const world = () => location.io({ env });
  const options = {
    ...runDefaults,
    model: [model],
    baseUrl: baseUrl(endpoint.url),
    seed: 7,
    batch: true,
    prices: "prices.json",
    json: false,
  };
  const resume = { ...runDefaults, resume: "latest", given: new Set(["resume"]), json: false };
  const ledgerFile = () => join(location.dir, "reports", location.records()[0] ?? "", "batches.json");
  const ledger = () => JSON.parse(readFileSync(ledgerFile(), "utf8"));
  const trials = () => location.trials(location.records()[0] ?? "");
  return { ...location, endpoint, world, options, resume, ledger, ledgerFile, trials, model };
}

/** Runs until the service is asked for the first time whether the batch has ended, and stops then. */
async function runUntilPoll(provider: Provider, polls: number) {
  let stop = () => {};
  const opened = await open(provider, {
    polls,
    treat: (operation, n) => {
      if (operation === "poll" && n === 1) stop();
      return "normal";
    },
  });
  const io = opened.world();
  stop = io.stop;
  return { ...opened, io, code: await run(opened.options, io) };
}

/** A trial without what differs from run to run. */
const timeless = ({ startedAt, ms, costUsd, ...trial }: Trial) => ({
  ...trial,
  turns: trial.turns.map(({ ms, batch, requestId, responseId, calls, ...turn }) => ({
    ...turn,
    calls: calls.map(({ id, ...call }) => call),
  })),
});
const inOrder = (trials: Trial[]) =>
  trials.map(timeless).sort((a, b) => (JSON.stringify(a.cell) < JSON.stringify(b.cell) ? -1 : 1));

describe.each(["anthropic", "openai"] as const)("evals run --batch on %s", (provider) => {
  it("sends one request alone, submits the others together, and records the same trials as a run without batches", async () => {
    const { endpoint, world, options, trials, records, manifest, ledger } = await open(provider);
    const io = world();
    expect(await run(options, io)).toBe(0);
    expect(endpoint.refused).toEqual([]);
    expect(endpoint.plain).toHaveLength(1);
    expect(endpoint.batches.map(({ entries }) => entries.length)).toEqual([8]);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
    expect(io.warned()).toContain("Batch batch_1: 8 requests submitted.");
    expect(io.warned()).toContain("Batch batch_1 ended: 8 results.");
    expect(io.printed()).toContain("9 model replies");
    expect(manifest(records()[0] ?? "").flags).toMatchObject({ batch: true });
    expect(trials().filter(({ turns }) => turns[0]?.batch === "batch_1")).toHaveLength(8);
    expect(ledger().submissions).toMatchObject([{ batch: "batch_1", requests: { length: 8 } }]);

    const alone = await open(provider);
    expect(await run({ ...alone.options, batch: false }, alone.world())).toBe(0);
    expect(inOrder(trials())).toEqual(inOrder(alone.trials()));
    // The same bodies, in a batch and alone.
    const bodies = (list: object[]) => list.map((body) => canonicalJson(body as JsonObject)).sort();
    expect(
      bodies([...endpoint.plain, ...endpoint.batches.flatMap(({ entries }) => entries.map(({ body }) => body))]),
    ).toEqual(bodies(alone.endpoint.plain));
  });

  it("costs half for what came in a batch", async () => {
    const { world, options, trials } = await open(provider);
    await run(options, world());
    const costs = trials().map(({ turns, costUsd }) => ({ isBatched: turns[0]?.batch !== undefined, costUsd }));
    const alone = Number(costs.find((one) => !one.isBatched)?.costUsd);
    expect(alone).toBeGreaterThan(0);
    for (const { isBatched, costUsd } of costs) expect(costUsd).toBeCloseTo(isBatched ? alone / 2 : alone, 12);
  });

  it("submits nothing when the request that is sent alone is refused", async () => {
    const { endpoint, world, options } = await open(provider, {
      answer: () => ({ end: "errored", type: "invalid_request_error", message: "no such model" }),
    });
    const io = world();
    expect(await run(options, io)).toBe(3);
    expect(endpoint.plain).toHaveLength(1);
    expect(endpoint.counts.create).toBe(0);
    expect(io.warned()).toContain("no such model");
  });

  it("retries expired and failed requests in another batch, and breaks with the cause", async () => {
    const { endpoint, world, options, trials } = await open(provider, {
      answer: (body, { plain, batch }) => {
        if (plain) return { text: "ok", calls: pick(body).map((name) => ({ name })) } as never;
        if (asks(body, "folder")) return { end: "expired" };
        if (asks(body, "morning")) return { end: "errored", type: "invalid_request_error", message: "bad schema" };
        const type = provider === "openai" ? "server_error" : "overloaded_error";
        return batch < 3 ? { end: "errored", type, message: "busy" } : (undefined as never);
      },
    });
    const io = world();
    expect(await run({ ...options, retries: 4 }, io)).toBe(3);
    // 8, then what expired (3) or failed (2), then what failed once more.
    expect(endpoint.batches.map(({ entries }) => entries.length)).toEqual([8, 5, 2]);
    const outcome = (id: string) =>
      trials().flatMap(({ cell, outcome }) =>
        cell.case === id ? [outcome.kind === "broken" ? outcome : "answered"] : [],
      );
    expect(outcome("list")).toEqual(
      Array(3).fill({
        kind: "broken",
        stage: "timeout",
        message: "the batch batch_2 expired before the request was answered (after 2 attempts)",
      }),
    );
    expect(outcome("none")).toEqual(
      Array(3).fill({ kind: "broken", stage: "model", message: expect.stringContaining("bad schema") }),
    );
    expect(outcome("read")).toEqual(["answered", "answered", "answered"]);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 2 });
  });

  it("reads truncated results again, and pays once", async () => {
    const { endpoint, world, options } = await open(provider, {
      cutAt: (reading) => (reading === 1 ? 700 : undefined),
    });
    expect(await run(options, world())).toBe(0);
    expect(endpoint.counts.results).toBe(2);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it("breaks a trial without a result", async () => {
    const { world, options, trials } = await open(provider, {
      answer: (body, { plain }) => (asks(body, "folder") && !plain ? { end: "lost" } : (undefined as never)),
    });
    expect(await run(options, world())).toBe(3);
    const broken = trials().filter(({ outcome }) => outcome.kind === "broken");
    expect(broken.map(({ cell }) => cell.case)).toEqual(["list", "list", "list"]);
    expect(broken[0]?.outcome).toMatchObject({ message: "the batch batch_1 has no result for the request" });
  });

  it("finds a batch whose submission was interrupted, and resubmits one that did not arrive", async () => {
    const late = await open(provider, {
      treat: (operation, n) => (operation === "create" && n === 1 ? "drop-late" : "normal"),
    });
    expect(await run(late.options, late.world())).toBe(0);
    expect(late.endpoint.counts.create).toBe(1);
    expect(late.endpoint.paid).toEqual({ plain: 1, batched: 8 });
    const early = await open(provider, {
      treat: (operation, n) => (operation === "create" && n === 1 ? "drop" : "normal"),
    });
    expect(await run(early.options, early.world())).toBe(0);
    expect(early.endpoint.counts.create).toBe(2);
    expect(early.endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it("waits when a submission is rate limited, and keeps polling through errors", async () => {
    const { endpoint, world, options } = await open(provider, {
      polls: 2,
      treat: (operation, n) => {
        if (operation === "create" && n === 1) return { status: 429, headers: { "retry-after": "0.01" } };
        return operation === "poll" && n === 1 ? { status: 500 } : "normal";
      },
    });
    expect(await run(options, world())).toBe(0);
    expect(endpoint.counts).toMatchObject({ create: 2, poll: expect.any(Number) });
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it("leaves the batch running when it is stopped, and collects it on --resume", async () => {
    const { code, io, endpoint, world, resume, trials } = await runUntilPoll(provider, 3);
    expect(code).toBe(130);
    expect(io.warned()).toMatch(
      /Still running at the provider, and charged for: batch_1\.\n {2}To get the replies: evals run --resume \S+\n {2}To cancel: use the provider's console/,
    );
    expect(trials()).toHaveLength(1);
    const again = world();
    expect(await run(resume as never, again)).toBe(0);
    expect(again.warned()).toContain("Batch batch_1: waiting for its results.");
    expect(trials()).toHaveLength(9);
    expect(endpoint.counts.create).toBe(1);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it("resubmits the requests of a batch that was canceled at the provider", async () => {
    const { endpoint, world, resume, trials } = await runUntilPoll(provider, 100);
    const batches = provider === "openai" ? "v1/batches" : "v1/messages/batches";
    const headers = { authorization: "Bearer k", "x-api-key": "k" };
    const canceled = await fetch(new URL(`/${batches}/batch_1/cancel`, endpoint.url), { method: "POST", headers });
    expect([canceled.status, await canceled.text()]).toEqual([200, expect.stringContaining("batch_1")]);
    const told = world();
    expect(await run(resume as never, told)).toBe(3);
    expect(told.warned()).toContain("the batch batch_1 was canceled");
    expect(trials()).toHaveLength(1);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 0 });
  });
});

describe("evals run --batch", () => {
  it("asks cases of several requests directly, at list price, and says so", async () => {
    const files = { "evals/files.json": filesSuite([read, { ...list, maxTurns: 2 }]) };
    const { endpoint, world, options, trials } = await open("anthropic", {}, files);
    const io = world();
    expect(await run(options, io)).toBe(0);
    expect(io.warned()).toContain(
      "Asked directly, at list price, because each trial needs more than one request: 1 case (list).",
    );
    expect(endpoint.batches.map(({ entries }) => entries.length)).toEqual([2]);
    const direct = trials().filter(({ turns }) => turns.every(({ batch }) => batch === undefined));
    expect(direct.map(({ cell }) => cell.case).sort()).toEqual(["list", "list", "list", "read"]);
  });

  it("sends one request alone for each suite", async () => {
    const files = { "evals/more.json": filesSuite([read], { name: "more" }) };
    const { endpoint, world, options } = await open("anthropic", {}, files);
    expect(await run(options, world())).toBe(0);
    expect(endpoint.plain).toHaveLength(2);
    expect(endpoint.batches.flatMap(({ entries }) => entries)).toHaveLength(10);
  });

  it("submits the looks of a check one after the other, and compares with a baseline of single requests", async () => {
    const { endpoint, world, options, write } = await open("anthropic", {}, {});
    expect(await run({ ...options, batch: false, accept: true, trials: 5 }, world())).toBe(0);
    const before = endpoint.paid.plain;
    write(
      "tools.json",
      ["read", "list", "move"].map((name) => ({
        name,
        description: `Another ${name}.`,
        inputSchema: { type: "object" },
      })),
    );
    const io = world();
    expect(await run({ ...options, json: true }, io)).toBe(0);
    const [checked] = JSON.parse(io.printed()).suites;
    expect(checked.verdict).toMatchObject({ method: expect.anything(), exitCode: 0 });
    expect(checked.batched).toBe(endpoint.paid.batched);
    expect(endpoint.paid.plain).toBe(before + 1);
    expect(endpoint.batches.length).toBeGreaterThan(1);
  });

  it("reserves what a batch can cost before it is submitted", async () => {
    const { endpoint, world, options, trials } = await open("anthropic");
    // One request can cost some $0.0021 alone and half in a batch: three fit beside what the first one has cost.
    const io = world();
    await run({ ...options, budget: 0.0036 }, io);
    expect(endpoint.batches[0]?.entries.length).toBe(3);
    // Each costs far less, so more go into further batches, until all are asked.
    expect(endpoint.batches.length).toBeGreaterThan(1);
    expect(trials()).toHaveLength(9);
  });

  it("waits for a batch that could be its own, and ignores it if it belongs to another program", async () => {
    const { endpoint, world, options } = await open("anthropic", {
      polls: 2,
      treat: (operation, n) => {
        if (operation !== "create" || n > 1) return "normal";
        endpoint.addForeign(8);
        return "drop";
      },
    });
    const io = world();
    expect(await run(options, io)).toBe(0);
    expect(io.warned()).toContain("Batch batch_1 may belong to this run.");
    expect(endpoint.batches.map(({ id }) => id)).toEqual(["batch_1", "batch_2"]);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it.each([
    ["drop-late", 1],
    ["drop", 2],
  ] as const)("does not guess when the service cannot say whether a batch arrived (%s)", async (treatment, creates) => {
    let isDown = false;
    const { endpoint, world, options, resume, trials } = await open("anthropic", {
      treat: (operation, n) => {
        if (operation === "create" && n === 1) {
          isDown = true;
          return treatment;
        }
        return operation === "list" && isDown ? { status: 403 } : "normal";
      },
    });
    const io = world();
    expect(await run(options, io)).toBe(3);
    expect(io.warned()).toMatch(/it is unknown whether the batch of 8 requests from \S+ arrived: 403/);
    expect(trials()).toHaveLength(1);
    isDown = false;
    expect(await run(resume as never, world())).toBe(0);
    expect(endpoint.counts.create).toBe(creates);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it.each<[string, (text: string) => string, RegExp]>([
    ["has another id of a batch", (text) => text.replace('"batch":"batch_1"', '"batch":"batch_9"'), /was edited/],
    ["has no sum", (text) => text.replace(/,"sum":"[0-9a-f]+"\}\n$/, "}\n"), /cannot be read|was edited/],
    ["is cut off in its middle", (text) => text.slice(0, 90), /cannot be read/],
    ["is no object", () => "null", /was edited|cannot be read/],
    ["was removed", () => "", /The list of the run's batches is missing: it was removed\./],
  ])("refuses to resume and asks nothing where the ledger %s, until it is restored", async (_, change, message) => {
    const { world, resume, ledgerFile, endpoint } = await runUntilPoll("anthropic", 2);
    const text = readFileSync(ledgerFile(), "utf8");
    expect(change(text)).not.toBe(text);
    if (change(text) === "") rmSync(ledgerFile());
    else writeFileSync(ledgerFile(), change(text));
    await expect(run(resume as never, world())).rejects.toThrow(message);
    await expect(run(resume as never, world())).rejects.toThrow("Restore the file, or start a new run.");
    expect([endpoint.counts.create, endpoint.paid.plain]).toEqual([1, 1]);
    writeFileSync(ledgerFile(), text);
    expect(await run(resume as never, world())).toBe(0);
    expect(endpoint.paid).toEqual({ plain: 1, batched: 8 });
  });

  it("refuses to resume with the ledger of another run", async () => {
    const { world, resume, ledgerFile } = await runUntilPoll("anthropic", 2);
    const other = await runUntilPoll("anthropic", 2);
    copyFileSync(other.ledgerFile(), ledgerFile());
    await expect(run(resume as never, world())).rejects.toThrow("The list of the run's batches belongs to the run ");
  });

  it("stops with the reason when the service refuses a batch, and resubmits it on --resume", async () => {
    const { endpoint, world, options, resume } = await open("openai", {
      fail: (batch) =>
        batch === 1 ? { code: "token_limit_exceeded", message: "Enqueued token limit reached" } : undefined,
    });
    const io = world();
    expect(await run(options, io)).toBe(3);
    expect(io.warned()).toContain("the batch batch_1 failed: token_limit_exceeded: Enqueued token limit reached");
    expect(await run(resume as never, world())).toBe(0);
    expect(endpoint.batches.map(({ entries }) => entries.length)).toEqual([8, 7]);
    expect(endpoint.paid).toEqual({ plain: 2, batched: 7 });
  });

  it("asks broken trials again in a new batch with --retry-broken", async () => {
    const { endpoint, world, options, resume, trials } = await open("anthropic", {
      answer: (body, { plain, batch }) =>
        !plain && batch === 1 && asks(body, "folder")
          ? { end: "errored", type: "invalid_request_error", message: "bad schema" }
          : (undefined as never),
    });
    expect(await run(options, world())).toBe(3);
    expect(await run({ ...resume, retryBroken: true } as never, world())).toBe(0);
    expect(endpoint.batches.map(({ entries }) => entries.length)).toEqual([8, 2]);
    expect(trials().every(({ outcome }) => outcome.kind === "answered")).toBe(true);
  });

  it("can be resumed when it was killed right after creating its record", async () => {
    const { world, options, resume, dir, records, manifest, trials, endpoint } = await open("anthropic");
    expect(await run(options, world())).toBe(0);
    const first = records()[0] ?? "";
    const { finishedAt: _, totals: __, ...started } = manifest(first);
    rmSync(join(dir, "reports", first), { recursive: true });
    await createRun(join(dir, "reports"), started);
    expect(await run(resume as never, world())).toBe(0);
    expect(trials()).toHaveLength(9);
    expect(endpoint.paid).toEqual({ plain: 2, batched: 16 });
  });

  it("shows the price of batches before anything is asked", async () => {
    const { world, options, endpoint } = await open(
      "anthropic",
      {},
      { "evals/files.json": filesSuite([read, { ...list, maxTurns: 2 }], { trials: 100 }) },
    );
    const io = world();
    expect(await run({ ...options, dryRun: true, json: false }, io)).toBe(0);
    expect(io.printed()).toContain("  trials         200\n  in batches     100 (at the price of batches)\n");
    const cost = (text: string) => Number(/at most \$(\S+)/.exec(text)?.[1]);
    const alone = world();
    await run({ ...options, dryRun: true, json: false, batch: false }, alone);
    expect(cost(io.printed())).toBeLessThan(cost(alone.printed()));
    expect(endpoint.counts.plain).toBe(0);
  });

  it.each([
    ["lexical", {}, "--batch: lexical-2 cannot be asked in batches."],
    ["anthropic:claude-haiku-5-5", { blame: true }, "--blame asks its trials one by one"],
    ["anthropic:claude-haiku-5-5", { maxTurns: 3 }, "--batch: no case can be asked in a batch"],
    ["anthropic:claude-haiku-5-5", { exposure: "names" }, "--batch: no case can be asked in a batch"],
  ])("refuses %s with %o", async (model, more, message) => {
    const { world, options } = await open("anthropic");
    await expect(run({ ...options, model: [model], ...more }, world())).rejects.toThrow(message);
  });
});
