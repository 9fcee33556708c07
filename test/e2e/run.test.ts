import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { evals, executing, start, summaryOf, timeless, trialsOf, workspace } from "./evals.ts";

const dir = workspace();
const run = (...args: string[]) => evals(["run", ...args], { cwd: dir });

describe("evals run on real servers", () => {
  it("passes the quickstart without a key or a network", async () => {
    const { code, out, err } = await run("evals/quickstart.yaml");
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toMatch(/^SMOKE CHECK · a keyword search picks the right tool in 5 of 5 cases/);
    expect(out).toContain("No language model was asked");
  });

  it("executes real calls on the filesystem server, and the record shows what came back", async () => {
    const ended = await run("evals/filesystem.yaml", "--json", "-m", executing);
    const summary = summaryOf(ended);
    expect(summary.totals).toMatchObject({ trials: 10, broken: 0, missing: 0 });
    expect(summary.exitCode).toBe(ended.code);
    const trials = trialsOf(summary.dir);
    const [read] = trials.find(({ cell }) => cell.case === "read-several")?.turns[0]?.calls ?? [];
    expect(read?.execution).toMatchObject({ status: "executed", result: { isError: false } });
    expect(JSON.stringify(read?.execution)).toContain("Met Ingrid at the harbour.");
    const [moved] = trials.find(({ cell }) => cell.case === "rename")?.turns[0]?.calls ?? [];
    expect(moved?.execution).toEqual({
      status: "skipped",
      denied: true,
      reason: "move_file is not annotated read-only (execute: read-only)",
    });
    expect(readdirSync(join(dir, "evals/sandbox"))).toContain("notes.txt");
  });

  it("writes every report beside the record, and prints the same again from the record alone", async () => {
    const ended = await run("evals/evals.json", "--json");
    const summary = summaryOf(ended);
    expect(readdirSync(summary.dir).sort()).toEqual([
      "junit.xml",
      "lock",
      "report.html",
      "run.json",
      "summary.md",
      "trials.jsonl",
    ]);
    const again = await evals(["show", summary.dir, "--format", "json"], { cwd: dir });
    expect(JSON.parse(again.out)).toEqual(JSON.parse(ended.out));
  });

  it("plans without asking, and says what it could cost at most", async () => {
    const endpoint = await startMessagesEndpoint(() => ({ text: "" }));
    const { code, out } = await run(
      "evals/evals.json",
      "--dry-run",
      "-m",
      "anthropic:claude-sonnet-5-5",
      "-m",
      "lexical",
      "--base-url",
      endpoint.url,
      "--seed",
      "7",
    );
    await endpoint.close();
    expect(code).toBe(0);
    expect(endpoint.requests).toEqual([]);
    expect(out).toMatchInlineSnapshot(`
      "reference: 10 cases, 1 tool, execute read-only (evals/evals.json)
        executed: echo
        echo-quoted, echo-colon, echo-unicode, echo-question, repeat-after-me, weather, arithmetic,
        file, explain-echo, thanks

      anthropic:claude-sonnet-5-5 (all definitions shown)
        trials         50
        calls          at most 50
        input tokens   at most 43,605
        output tokens  at most 204,800
        cost           typically $0.12, at most $2.14
      lexical-2 (keyword search, not a language model; all definitions shown)
        trials         10 (one per case: the model is deterministic)
        calls          at most 10
        input tokens   at most 0
        output tokens  at most 0
        cost           at most $0.00
      total
        cost           typically $0.12, at most $2.14

      seed 7; no model was called
      "
    `);
  });
});

describe("evals run against a Messages endpoint", () => {
  it("asks several trials of several turns, hands real results back, and counts tokens and dollars", async () => {
    const endpoint = await startMessagesEndpoint((body) => {
      const asked = body.messages.length > 1;
      return asked ? { text: "done" } : { calls: [{ name: "echo", input: { text: "hello" } }] };
    });
    const ended = await run(
      "evals/quickstart.yaml",
      "-m",
      "anthropic:claude-sonnet-5-5",
      "--base-url",
      endpoint.url,
      "-n",
      "3",
      "--max-turns",
      "2",
      "--json",
    );
    await endpoint.close();
    const summary = summaryOf(ended);
    const [echoed] = summary.suites[0]?.cases ?? [];
    expect(echoed).toMatchObject({ trials: 3, passed: 3, ok: true });
    expect(summary.suites[0]?.confusion).toEqual([{ expected: "(none)", picked: "echo", n: 9 }]);
    expect(summary.totals.calls).toBe(30);
    expect(summary.totals.costUsd).toBeGreaterThan(0);
    expect(JSON.stringify(endpoint.requests.at(-1)?.body.messages)).toContain("Echo: hello");
    expect(ended.code).toBe(1);
  });

  it("shows names as a host does, and records them as the server lists them", async () => {
    const endpoint = await startMessagesEndpoint(() => ({
      calls: [{ name: "mcp__tool-evals-reference-server__echo", input: { text: "hello" } }],
    }));
    const ended = await run(
      "evals/quickstart.yaml",
      "-m",
      "anthropic:x",
      "--base-url",
      endpoint.url,
      "-n",
      "1",
      "--host",
      "claude-code",
      "--json",
    );
    await endpoint.close();
    const names = endpoint.requests[0]?.body.tools?.map((tool) => tool.name) ?? [];
    expect(names).toHaveLength(1);
    expect(names[0]).toMatch(/^mcp__.+__echo$/);
    expect(summaryOf(ended).totals.trials).toBe(5);
  });

  it("gives the same record when it is killed and resumed as when it is not", async () => {
    const answer = (body: { messages: { content: unknown }[] }) => ({
      calls: [{ name: "echo", id: "call", input: { text: JSON.stringify(body.messages[0]?.content) } }],
    });
    const args = ["evals/quickstart.yaml", "-m", "anthropic:x", "-n", "40", "--seed", "11", "-c", "2", "--json"];

    const whole = await startMessagesEndpoint(answer);
    const uninterrupted = summaryOf(await run(...args, "--base-url", whole.url));
    await whole.close();

    let victim: ReturnType<typeof start> | undefined;
    const endpoint = await startMessagesEndpoint((body, index) => {
      if (index === 60) victim?.child.kill("SIGKILL");
      return answer(body);
    });
    victim = start(["run", ...args, "--base-url", endpoint.url, "--out", "killed"], { cwd: dir });
    await victim.ended;
    await expect.poll(endpoint.countConnections).toBe(0);
    const [id = ""] = readdirSync(join(dir, "killed"));
    const asked = endpoint.requests.length;
    const before = trialsOf(join(dir, "killed", id)).length;
    expect(before).toBeLessThan(200);
    const resumed = summaryOf(await run("--resume", id, "--out", "killed", "--json"));
    await endpoint.close();

    expect(endpoint.requests.length - asked).toBe(200 - before);
    expect(trialsOf(resumed.dir).map(timeless)).toEqual(trialsOf(uninterrupted.dir).map(timeless));
    expect(resumed.totals).toEqual(uninterrupted.totals);
    const untimed = ({ suites }: typeof resumed) => suites[0]?.cases.map(({ ms: _, ...one }) => one);
    expect(untimed(resumed)).toEqual(untimed(uninterrupted));
  });

  it("leaves a complete journal at Ctrl-C, says how to go on, and exits with 130", async () => {
    let stopped: ReturnType<typeof start> | undefined;
    const endpoint = await startMessagesEndpoint((_body, index) => {
      if (index === 5) stopped?.child.kill("SIGINT");
      return index < 5 ? { calls: [{ name: "echo", input: { text: "hello" } }] } : { fault: "hang" };
    });
    stopped = start(
      ["run", "evals/quickstart.yaml", "-m", "anthropic:x", "--base-url", endpoint.url, "-c", "1", "--json"],
      { cwd: dir },
    );
    const ended = await stopped.ended;
    await endpoint.close();
    expect(ended.code).toBe(130);
    const summary = summaryOf(ended);
    expect(trialsOf(summary.dir).map((trial) => trial.outcome.kind)).toEqual([...Array(5).fill("answered"), "broken"]);
    expect(summary.totals).toMatchObject({ trials: 25, broken: 1, missing: 19 });
    expect(ended.err).toContain(`Resume with: evals run --resume ${summary.run}`);
  });

  it("starts nothing more once the budget is spent, and goes on when resumed with more", async () => {
    const endpoint = await startMessagesEndpoint(() => ({
      calls: [{ name: "echo", input: { text: "hello" } }],
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    }));
    const args = [
      "evals/quickstart.yaml",
      "-m",
      "anthropic:claude-sonnet-5-5",
      "--base-url",
      endpoint.url,
      "-n",
      "1",
      "-c",
      "1",
      "--json",
    ];
    const spent = await run(...args, "--budget", "4");
    expect(spent.code).toBe(1);
    expect(summaryOf(spent).totals).toMatchObject({ costUsd: 4, missing: 3 });
    expect(spent.err).toContain("The budget of $4 is spent: 3 trials are missing.");
    const resumed = summaryOf(await run("--resume", summaryOf(spent).run, "--budget", "100", "--json"));
    await endpoint.close();
    expect(resumed.totals).toMatchObject({ costUsd: 10, missing: 0 });
  });

  it("replays a recorded run, and breaks on what is not on the record", async () => {
    const endpoint = await startMessagesEndpoint(() => ({ calls: [{ name: "echo", input: { text: "hello" } }] }));
    const recorded = summaryOf(
      await run("evals/quickstart.yaml", "-m", "anthropic:x", "--base-url", endpoint.url, "-n", "2", "--json"),
    );
    await endpoint.close();
    const replayed = summaryOf(await run("evals/quickstart.yaml", "-m", `replay:${recorded.run}`, "-n", "3", "--json"));
    expect(replayed.totals).toMatchObject({ trials: 15, broken: 5, costUsd: 0 });
    expect(replayed.suites[0]?.cases.map(({ passed, trials }) => [passed, trials])).toEqual(
      recorded.suites[0]?.cases.map(({ passed, trials }) => [passed, trials]),
    );
  });
});

describe("servers and models that misbehave", () => {
  const moody = JSON.stringify(join(import.meta.dirname, "../fixtures/servers/moody.mjs"));
  const moodySuite = (isolate: string) =>
    `name: moody-${isolate}\nisolate: ${isolate}\nserver: { command: node, args: [${moody}], callTimeoutMs: 5000 }\ncases:\n${[
      "well",
      "die",
      "hang",
      "nicely",
    ]
      .map((mood) => `  - { id: ${mood}, input: ${mood}, expect: { tool: act, result: { contains: did ${mood} } } }\n`)
      .join("")}`;
  const answer = (body: { messages: { content: unknown }[] }) => ({
    calls: [{ name: "act", input: { mood: moodOf(body.messages[0]?.content) } }],
  });
  const moodOf = (content: unknown) =>
    typeof content === "string" ? content : (content as { text: string }[])[0]?.text;

  it("starts a server again that died in a call; what it broke is broken, the other trials finish", async () => {
    writeFileSync(join(dir, "moody.yaml"), moodySuite("run"));
    const endpoint = await startMessagesEndpoint(answer);
    const ended = await run(
      "moody.yaml",
      "-m",
      "anthropic:x",
      "--base-url",
      endpoint.url,
      "-n",
      "2",
      "-c",
      "1",
      "--json",
    );
    await endpoint.close();
    const summary = summaryOf(ended);
    expect(ended.code).toBe(3);
    expect(
      summary.suites[0]?.cases.map(({ id, passed, broken, brokenStages }) => [id, passed, broken, brokenStages]),
    ).toEqual([
      ["well", 2, 0, {}],
      ["die", 0, 2, { server: 2 }],
      ["hang", 0, 2, { timeout: 2 }],
      ["nicely", 2, 0, {}],
    ]);
    expect(JSON.stringify(summary.suites[0]?.cases[1]?.reasons)).toContain("out of memory");
  });

  it("gives every trial its own process when the suite says so", async () => {
    writeFileSync(join(dir, "moody.yaml"), moodySuite("trial"));
    const endpoint = await startMessagesEndpoint(answer);
    const ended = await run(
      "moody.yaml",
      "-m",
      "anthropic:x",
      "--base-url",
      endpoint.url,
      "-n",
      "3",
      "--case",
      "well",
      "--json",
    );
    await endpoint.close();
    const results = trialsOf(summaryOf(ended).dir).map((trial) => JSON.stringify(trial.turns[0]?.calls[0]?.execution));
    expect(new Set(results.map((result) => /in process (\d+)/.exec(result)?.[1])).size).toBe(3);
  });

  it("has a distinct outcome for each way to miss, and lets the other cases finish", async () => {
    const replies: Record<string, object> = {
      "unknown tool": { calls: [{ name: "ehco", input: {} }] },
      "several calls": {
        calls: [
          { name: "echo", input: { text: "a" } },
          { name: "echo", input: { text: "b" } },
        ],
      },
      "malformed arguments": { calls: [{ name: "echo", input: { txt: "a" } }] },
      refusal: { text: "No.", stopReason: "refusal" },
      "cut off": { text: "I", stopReason: "max_tokens" },
      fine: { calls: [{ name: "echo", input: { text: "a" } }] },
    };
    const cases = Object.keys(replies).map((input) => ({ input, expect: { tool: "echo" } }));
    writeFileSync(
      join(dir, "ways.json"),
      JSON.stringify({ server: { command: "node", args: ["dist/server/main.js"] }, cases }),
    );
    const endpoint = await startMessagesEndpoint((body) => replies[String(moodOf(body.messages[0]?.content))] ?? {});
    const ended = await run("ways.json", "-m", "anthropic:x", "--base-url", endpoint.url, "-n", "1", "--json");
    await endpoint.close();
    expect(
      summaryOf(ended).suites[0]?.cases.map(({ id, outcomes, brokenStages }) => [id, outcomes, brokenStages]),
    ).toEqual([
      ["unknown-tool", { "unknown-tool": 1 }, {}],
      ["several-calls", { "several-calls": 1 }, {}],
      ["malformed-arguments", { "malformed-arguments": 1 }, {}],
      ["refusal", { refused: 1 }, {}],
      ["cut-off", { "cut-off": 1 }, {}],
      ["fine", { "right-tool": 1 }, {}],
    ]);
    expect(ended.code).toBe(1);
  });

  it("reads the server from a host's configuration file, as the reference server prints it", async () => {
    const printed = execFileSync(
      process.execPath,
      [join(dir, "dist/server/main.js"), "--print-config", "--name", "echoer"],
      { encoding: "utf8" },
    );
    writeFileSync(join(dir, ".mcp.json"), printed);
    const suite = {
      server: { config: ".mcp.json", name: "echoer" },
      cases: [{ input: 'Echo the text "hello"', expect: { tool: "echo", result: { contains: "Echo: hello" } } }],
    };
    writeFileSync(join(dir, "configured.json"), JSON.stringify(suite));
    expect(summaryOf(await run("configured.json", "--json", "-m", executing))).toMatchObject({
      ok: true,
      totals: { passed: 1, executed: 1 },
    });
  });
});

describe("bad input", () => {
  const suite = (name: string, body: string) => {
    writeFileSync(join(dir, name), body);
    return name;
  };

  it("names file, line, column and the nearest known key, for everything at once", async () => {
    const file = suite(
      "wrong.yaml",
      "server: { comand: node }\ncases:\n  - inptu: hello\n    expect: { tool: echo }\n",
    );
    const { code, out, err } = await run(file);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatchInlineSnapshot(`
      "wrong.yaml:1:9: error: "server" needs one of "command", "url", "config", "tools".
        Did you mean "command"?
      wrong.yaml:3:5: error: Unknown key "inptu".
        Did you mean "input"?
      "
    `);
  });

  it("reports a tool that is not listed and an argument that cannot match before any model call", async () => {
    const server = "server: { command: node, args: [dist/server/main.js] }\n";
    const file = suite(
      "unlisted.yaml",
      `${server}cases:\n  - input: a\n    expect: { tool: ehco }\n  - input: b\n    expect: { tool: echo, args: { text: 5 } }\n`,
    );
    const { code, err } = await run(file);
    expect(code).toBe(2);
    expect(err).toMatchInlineSnapshot(`
      "unlisted.yaml:3:5: error: Case "a": expected tool "ehco" is not listed.
        Did you mean "echo"?
      unlisted.yaml:5:5: error: Case "b": can never match: args.text must be string, got 5.
        Fit it to the inputSchema of "echo": {"type":"string","description":"The text to echo back"}.
      "
    `);
  });

  it("refuses a case that wants a skill which the suite does not offer", async () => {
    const file = suite(
      "skilled.yaml",
      "cases:\n  - input: shrink my photos\n    expect: { skill: image-compressor }\n",
    );
    const { code, err } = await run(file);
    expect(code).toBe(2);
    expect(err).toContain('Case "shrink-my-photos": expected skill "image-compressor" is not offered.');
  });

  it("never passes what only a judge could grade, and says that it was not graded", async () => {
    const evals = { evals: [{ input: "Echo hello", expected_behavior: ["answers in one line"] }] };
    const ended = await run(suite("judged.json", JSON.stringify(evals)), "--json");
    expect(ended.code).toBe(3);
    const [one] = summaryOf(ended).suites[0]?.cases ?? [];
    expect(one).toMatchObject({ ok: false, trials: 0, notGradable: 1, rate: null });
    expect(one?.reasons[0]?.text).toContain("no judge model was given");
  });

  it("lets the other suites finish when one server does not start, and says why", async () => {
    suite(
      "dead.yaml",
      "name: dead\nserver: { command: node, args: [-e, \"console.error('no such database'); process.exit(4)\"] }\ncases:\n  - input: a\n    expect: { tool: none }\n",
    );
    const ended = await run("dead.yaml", "evals/quickstart.yaml", "--json");
    expect(ended.code).toBe(3);
    expect(ended.err).toContain("no such database");
    const summary = summaryOf(ended);
    expect(summary.suites.map(({ name, ok, totals }) => [name, ok, totals.broken])).toEqual([
      ["dead", false, 1],
      ["quickstart", true, 0],
    ]);
    suite("dead.yaml", readFileSync(join(dir, "dead.yaml"), "utf8"));
  });

  it("explains a wrong flag, a wrong model and a run that is not there", async () => {
    const messages = await Promise.all([
      run("--modle", "x"),
      run("-m", "antropic:x"),
      run("--resume", "nowhere"),
      run("nowhere.yaml"),
      run("evals/quickstart.yaml", "--case", "nothing-like-it"),
      run("evals/quickstart.yaml", "-m", "anthropic:unpriced", "--budget", "1"),
    ]);
    expect(messages.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2]);
    expect(messages.map(({ err }) => err.replaceAll(dir, "<dir>")).join("---\n")).toMatchInlineSnapshot(`
      "error: Unknown flag "--modle" of \`evals run\`.
        Did you mean "--model"?
      ---
      error: Unknown model "antropic:x".
        Did you mean "anthropic:x"? Use one of: lexical, anthropic:claude-sonnet-5-5, openai:gpt-5, ai:<package>/<model>, ollama:<name>, lmstudio:<name>, llamacpp:<name>, vllm:<name>, local or local:<name, file.gguf or hf:user/repo:quant>, claude-code or claude-code:claude-sonnet-5-5, codex:gpt-6.1-sol, copilot:claude-sonnet-5-5, goose:anthropic/claude-sonnet-5-5, replay:<run> or replay:<run>#<model>, custom:<file>. Found: ANTHROPIC_API_KEY is set (-m anthropic:claude-haiku-5-5).
      ---
      error: There is no run "nowhere".
        Runs are read from <dir>/reports; change the folder with --out.
      ---
      error: There is no file or folder "nowhere.yaml".
        Give a suite file, a skill package, or a folder that contains them.
      ---
      error: No case matches "nothing-like-it".
        The ids are: echo-the-text-hello, please-echo-back-one-two-three, translate-good-morning-into-italian, what-time-does-the-next-train-to-bern-leave, book-a-table-for-two-on-friday-evening.
      ---
      error: --budget cannot be kept: the price of anthropic:unpriced is unknown.
        Give its price with --prices.
      "
    `);
  });
});
