import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listLoadedSkills } from "../../../src/evals/asking/scoring/activity.ts";
import type { ExposureKind, Shown } from "../../../src/evals/base/types/exposure.ts";
import type { HostModel } from "../../../src/evals/base/types/model.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import type { ModelOptions } from "../../../src/evals/experiments/workspace/models.ts";
import type { Endpoint, Fault } from "../../fixtures/endpoints/endpoint.ts";
import { never, reads, skillAt, skillText, tidyFolders, trialOf } from "./support.ts";

/** What the scripted model does: it makes these calls, with names as the host shows them, or says something. */
type Step = { text?: string; calls?: { name: string; input?: unknown }[] } | Fault;

/** What it is asked: the conversation as JSON, and how often it has replied in it. */
type Asked = { text: string; replies: number };

/**
 * A way in which a host shows tools: with a model or exposure of its own. `level` is how it shows a list of that many.
 * `search` is how a model reaches the others, in a list of `crowd` tools; `hosted`: the provider itself searches, and the
 * model calls the tool in the same reply.
 */
type Way = {
  name: string;
  exposure: ExposureKind;
  model: string;
  level(count: number): keyof Shown["tools"];
  /** Other numbers of tools to list than a few and many. */
  counts?: readonly number[];
  search?: (tool: string) => { name: string; input: unknown };
  crowd?: number;
  hosted?: boolean;
};

export type HostUnderTest = {
  name: string;
  program(): string;
  /** Starts an endpoint of the API that the host uses. */
  start(script: (asked: Asked) => Step): Promise<Endpoint<object>>;
  open(model: string, url: string, program: string, options: Partial<ModelOptions>): Promise<HostModel>;
  ways: readonly Way[];
  toShownName(server: string, tool: string): string;
  /** How a model loads a skill. */
  loadSkill(name: string): { name: string; input: unknown };
  /** Names of tools that it can show, beyond plain ones. */
  oddNames: readonly string[];
};

/** The limit of a trial: more than any takes on a busy machine, and less than the HTTP client waits for a reply. */
const timeoutMs = 240_000;

/** What every host is held to, on the real program and a local endpoint. */
export function describeHost(host: HostUnderTest): void {
  const at = tidyFolders();
  describeWays(host);
  describeTrials(host, at);
}

const words = ["amber", "basil", "cedar", "delta", "ember"];
const toolsOf = (count: number): OfferedTool[] =>
  Array.from({ length: count }, (_, i) => ({
    ...reads,
    name: `do_${words[i % 5]}_${i}`,
    description: `Does the ${words[i % 5]} thing number ${i}, whatever it may be.`,
    server: "works",
  }));

/** The endpoint and the host of a test. */
function prepare(host: HostUnderTest) {
  const { start } = host;
  const open = (
    { url }: { url: string },
    model = host.ways[0]?.model ?? "",
    options: Partial<ModelOptions> = {},
    program = host.program(),
  ) => host.open(model, url, program, { hostProcesses: 10, ...options });
  return { start, open };
}

/** How a host shows tools, in each of its ways. */
export function describeWays(host: HostUnderTest): void {
  const { start, open } = prepare(host);
  for (const way of host.ways) {
    describe(`${host.name}, ${way.name}`, () => {
      it.each(way.counts ?? [5, 200])("records how %i tools were shown, as the endpoint got them", async (count) => {
        const service = await start(() => ({ text: "Done." }));
        const tools = toolsOf(count);
        const model = await open(service, way.model);
        const { outcome, turns, shown } = await model.converse(trialOf({ tools, exposure: way.exposure }), never);
        expect(outcome).toEqual({ kind: "answered" });
        expect(turns.map(({ text }) => text)).toEqual(["Done."]);
        const body = JSON.stringify(service.requests[0]?.body);
        const identifiers = new Set(body.replaceAll("\\n", " ").match(/[\w-]+/g));
        for (const { name, description = "" } of tools) {
          const shownName = host.toShownName("works", name);
          const isDeferred = findDefinition(service.requests[0]?.body, shownName)?.defer_loading === true;
          const isNamed = identifiers.has(shownName);
          const level = isDeferred ? "deferred" : body.includes(description) ? "full" : isNamed ? "named" : "hidden";
          expect(shown?.tools[level], `${name} is ${level}`).toContain(name);
        }
        expect(Object.values(shown?.tools ?? {}).flat()).toHaveLength(count);
        expect(shown?.tools[way.level(count)]).toHaveLength(count);
        expect(shown).toMatchObject({ requests: 1, loaded: [] });
        expect(service.requests.flatMap(({ refused }) => refused ?? [])).toEqual([]);
      });

      it("executes the call of a tool, and records how it was reached", async () => {
        const [, tool = reads] = toolsOf(5);
        const name = host.toShownName("works", tool.name);
        const isCode = way.search?.(name).name === "exec";
        const call = { calls: [{ name, input: { path: "a" } }] };
        const search = way.search ? [way.search(name)] : [];
        const turns: Step[] = [...search.map((one) => ({ calls: [one] })), ...(isCode ? [] : [call])];
        const steps: Step[] = way.hosted ? [{ calls: [...search, ...call.calls] }] : turns;
        const service = await start(({ replies }) => steps[replies] ?? { text: "Done." });
        const result = { isError: false, content: [{ type: "text", text: "a note of Ingrid" }] };
        const executed: unknown[] = [];
        const trial = trialOf({
          tools: toolsOf(way.crowd ?? 5),
          exposure: way.exposure,
          execute: async ({ tool: called, arguments: args }) => {
            executed.push([called, args]);
            return { status: "executed", ms: 1, result };
          },
        });
        const { outcome, turns: recorded, shown } = await (await open(service, way.model)).converse(trial, never);
        expect(outcome).toEqual({ kind: "answered" });
        expect(executed).toEqual([[tool.name, { path: "a" }]]);
        const calls = recorded.flatMap((turn) => turn.calls);
        expect(calls.filter((one) => one.tool === tool.name)).toMatchObject([
          { tool: tool.name, arguments: { path: "a" }, execution: { status: "executed", ms: 1, result } },
        ]);
        expect(JSON.stringify(service.requests.at(-1)?.body)).toContain("a note of Ingrid");
        if (way.search && !isCode) {
          expect(calls[0]?.role).toBe("search");
          expect(recorded[0]?.searches).toMatchObject([{ found: expect.arrayContaining([tool.name]) }]);
          expect(shown?.loaded).toContain(tool.name);
          const found = recorded.flatMap(({ searches = [] }) => searches).flatMap((search) => search.found);
          expect(found).toEqual(expect.arrayContaining([...(shown?.loaded ?? [])]));
        }
      });
    });
  }
}

function describeTrials(host: HostUnderTest, at: (...path: string[]) => string): void {
  const { start, open } = prepare(host);
  const skillsOf = (count: number, length: number) =>
    Array.from({ length: count }, (_, i) => {
      const name = `trick-${String(i).padStart(3, "0")}`;
      const description = `Trick ${i} ${"of many useful words ".repeat(length)}`.trim();
      return skillAt(at(`tricks${count}`, name), { "SKILL.md": skillText(name, description, `# Body of ${name}`) });
    });

  describe(`${host.name} with skills`, () => {
    it("records how 100 skills were listed, as the endpoint got them", async () => {
      const service = await start(() => ({ text: "Done." }));
      const skills = skillsOf(100, 25);
      const { outcome, shown } = await (await open(service)).converse(trialOf({ skills, exposure: "host" }), never);
      expect(outcome).toEqual({ kind: "answered" });
      const body = JSON.stringify(service.requests[0]?.body);
      for (const { name, description } of skills) {
        const isCut = body.includes(description.slice(0, 24));
        const isNamed = body.includes(name);
        const level = body.includes(description) ? "full" : isCut ? "cut" : isNamed ? "named" : "hidden";
        expect(shown?.skills[level], `${name} is ${level}`).toContain(name);
      }
      expect(Object.values(shown?.skills ?? {}).flat()).toHaveLength(100);
    });

    it("loads one, and records its body", async () => {
      const skills = skillsOf(2, 1);
      const load = host.loadSkill("trick-001");
      const service = await start(({ replies }) => (replies === 0 ? { calls: [load] } : { text: "Done." }));
      const { outcome, turns } = await (await open(service)).converse(trialOf({ skills, exposure: "host" }), never);
      expect(outcome).toEqual({ kind: "answered" });
      expect(JSON.stringify(turns[0]?.calls[0]?.execution)).toContain("Body of trick-001");
      expect(listLoadedSkills(turns.flatMap(({ calls }) => calls))).toEqual(["trick-001"]);
    });
  });

  describe(`trials in ${host.name}`, () => {
    it("are kept apart, ten at once", async () => {
      const service = await start(({ text, replies }) => {
        const own = /do_\w+_\d+/.exec(/Call (do_\w+_\d+)/.exec(text)?.[0] ?? "")?.[0] ?? "";
        if (replies > 0) return { text: `Called ${own}.` };
        return { calls: [{ name: host.toShownName("works", own), input: { path: own } }] };
      });
      const model = await open(service);
      const answers = await Promise.all(
        toolsOf(10).map((tool) =>
          model.converse(trialOf({ prompt: `Call ${tool.name} now.`, tools: [tool], exposure: "all" }), never),
        ),
      );
      for (const [i, { outcome, turns, shown }] of answers.entries()) {
        const { name } = toolsOf(10)[i] ?? reads;
        expect(outcome).toEqual({ kind: "answered" });
        expect(turns.at(-1)?.text).toBe(`Called ${name}.`);
        expect(turns[0]?.calls).toMatchObject([
          { tool: name, arguments: { path: name }, execution: { status: "skipped" } },
        ]);
        expect(shown).toMatchObject({ tools: { full: [name] }, requests: 2 });
      }
    });

    it("knows the names of tools as the host shows them, odd and long ones too", async () => {
      const names = host.oddNames;
      const tools = names.map((name) => ({ ...reads, name, description: `The tool ${name}.`, server: "my-notes" }));
      const service = await start(() => ({ text: "Done." }));
      const { outcome, shown } = await (await open(service)).converse(trialOf({ tools, exposure: "all" }), never);
      expect(outcome).toEqual({ kind: "answered" });
      expect(shown?.tools.full.toSorted()).toEqual(names.toSorted());
    });

    it("end as answered at the turn limit, after the last calls were executed", async () => {
      const service = await start(() => ({
        calls: [{ name: host.toShownName("works", "do_amber_0"), input: { path: "a" } }],
      }));
      const trial = trialOf({ tools: toolsOf(1), maxTurns: 2, exposure: "all" });
      const { outcome, turns } = await (await open(service)).converse(trial, never);
      expect(outcome).toEqual({ kind: "answered" });
      expect(turns.map(({ calls }) => calls[0]?.execution?.status)).toEqual(["skipped", "skipped"]);
      expect(service.requests).toHaveLength(2);
    });

    it("show the system prompt of the case and the instructions of servers", async () => {
      const service = await start(() => ({ text: "Done." }));
      const trial = trialOf({
        messages: [
          { role: "system", content: "Speak like a butler." },
          { role: "user", content: "Do it." },
        ],
        tools: toolsOf(2),
        instructions: [{ server: "works", text: "Ask the works council first." }],
        exposure: "host",
      });
      const { shown } = await (await open(service)).converse(trial, never);
      const body = JSON.stringify(service.requests[0]?.body);
      expect(body).toContain("Speak like a butler.");
      expect(shown?.instructions).toBe(body.includes("Ask the works council first."));
    });
  });

  describe(`a fault under ${host.name}`, () => {
    const status = (code: number) => ({ fault: "status", status: code }) as const;
    it.each<[string, Step, string]>([
      ["401", status(401), "model: the provider answered 401: status 401 as scripted"],
      ["lasting 429", status(429), "model: the provider answered 429: status 429 as scripted (2 attempts)"],
      ["lasting 500", status(500), "model: the provider answered 500: status 500 as scripted (2 attempts)"],
      [
        "an empty stream",
        { fault: "empty" },
        "model: the provider answered 200, but the reply is empty (status 200, no body)",
      ],
    ])("breaks the trial with its cause: %s", async (_, fault, cause) => {
      const service = await start(() => fault);
      const { wrapper, expectNoProcess } = wrap(at("wrapped"), host.program());
      const model = await open(service, undefined, { retries: 1, timeoutMs }, wrapper);
      const { outcome, turns } = await model.converse(trialOf({ tools: toolsOf(5), exposure: "host" }), never);
      const message = outcome.kind === "broken" ? `${outcome.stage}: ${outcome.message}` : outcome.kind;
      expect(message.replace(/ \(\d attempts\)$/, "")).toBe(cause.replace(/ \(\d attempts\)$/, ""));
      expect(turns).toEqual([]);
      await expectNoProcess();
    });

    it("breaks the trial with its cause: a hang", async () => {
      let isAsked = () => {};
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      const service = await start(() => {
        isAsked();
        return { fault: "hang" };
      });
      const { wrapper, expectNoProcess } = wrap(at("wrapped"), host.program());
      const model = await open(service, undefined, { retries: 1, timeoutMs }, wrapper);
      // The time is over as soon as the host waits for the provider, however long it took to start.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
      onTestFinished(() => void vi.useRealTimers());
      const answer = model.converse(trialOf({ tools: toolsOf(5), exposure: "host" }), never);
      await asked;
      vi.advanceTimersByTime(timeoutMs);
      vi.useRealTimers();
      const late = `${host.name} did not finish within ${timeoutMs / 1000} s`;
      const message = `${late}: the provider did not reply to its last request; raise --timeout`;
      expect(await answer).toMatchObject({ outcome: { kind: "broken", stage: "timeout", message }, turns: [] });
      await expectNoProcess();
    });

    it("breaks the trial with its cause: a server that fails to start", async () => {
      const service = await start(() => ({ text: "Done." }));
      // Its server cuts every connection, because it cannot list it.
      const failing = { ...reads };
      Object.defineProperty(failing, "description", {
        get() {
          throw new Error("no description");
        },
      });
      const { wrapper, expectNoProcess } = wrap(at("wrapped"), host.program());
      const model = await open(service, undefined, { timeoutMs }, wrapper);
      const { outcome } = await model.converse(trialOf({ tools: [failing], exposure: "host" }), never);
      const name = expect.stringMatching(/^.* did not load the tools of server "my[-_ ]?notes"|my[_-]notes/);
      expect(outcome).toMatchObject({ kind: "broken", stage: "server", message: name });
      await expectNoProcess();
    });
  });
}

/** The definition of a tool in a request, wherever it is. */
function findDefinition(value: unknown, name: string): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const here = value as Record<string, unknown>;
  if (here.name === name && ("description" in here || "parameters" in here || "input_schema" in here)) return here;
  for (const inner of Object.values(here)) {
    const found = findDefinition(inner, name);
    if (found) return found;
  }
  return undefined;
}

/** Names with characters that hosts write otherwise, and long ones. */
export const oddNames = ["put-item", "notes.read", "Camel.Case", "a b", "x".repeat(60), "z".repeat(100)];

/** A program that runs `first` and the host and leaves a child behind, and a check that its process group is gone. */
export function wrap(path: string, program: string, first = "") {
  const pidFile = `${path}.pid`;
  const leaveChild = `case "$1" in --version|debug) ;; *) echo $$ > ${pidFile}; sleep 600 & ;; esac`;
  writeFileSync(path, `#!/bin/sh\n${first}\n${leaveChild}\n"${program}" "$@"\n`, { mode: 0o755 });
  const isGone = () => {
    const group = readFileSync(pidFile, "utf8").trim();
    const alive = execFileSync("ps", ["-axo", "pgid=,stat=,args="], { encoding: "utf8" }).split("\n");
    // What was killed may still have to be collected by init.
    expect(alive.filter((line) => new RegExp(`^ *${group} +[^Z]`).test(line))).toEqual([]);
  };
  return { wrapper: path, expectNoProcess: () => vi.waitFor(isGone, { timeout: 600_000 }) };
}
