import { expect, it } from "vitest";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import { shown } from "../../../src/evals/inspection/lint/rules/descriptions.ts";
import { endpoint, host, needsClaude, steps } from "./claude.ts";
import { never, tidyFolders, trialOf } from "./support.ts";

needsClaude();
tidyFolders();

/** A text of so many UTF-16 units that shows where it is cut. */
const textOf = (length: number, filler = "a") => `${filler.repeat((length - 4) / filler.length)}-end`;
const offer = (name: string, description?: string): OfferedTool => ({
  name,
  ...(description !== undefined && { description }),
  inputSchema: { type: "object", properties: {} },
  server: "notes",
  origin: "server",
});

/** How a trial ends, and what Claude Code sends: descriptions by name without the prefix, and the rest of its request. */
async function show(tools: readonly OfferedTool[], instructions: string) {
  const service = await endpoint(steps({ text: "Done." }));
  const trial = trialOf({ tools, instructions: [{ server: "notes", text: instructions }] });
  const { outcome } = await (await host(service)).converse(trial, never);
  const { tools: shown = [], ...rest } = service.requests[0]?.body ?? {};
  const prefix = "mcp__notes__";
  const own = shown.filter(({ name }) => name.startsWith(prefix));
  return {
    outcome,
    descriptions: Object.fromEntries(own.map(({ name, description }) => [name.slice(prefix.length), description])),
    rest: JSON.stringify(rest),
  };
}

it("sends descriptions and instructions of as many characters as lint allows, and cuts longer ones", async () => {
  const whole = {
    latin: textOf(shown.characters),
    chinese: textOf(shown.characters, "天"),
    astral: textOf(shown.characters, "😀"),
  };
  const tools = [...Object.entries(whole), ["longer", textOf(shown.characters + 1)] as const];
  const most = textOf(shown.characters, "b");
  const { descriptions, rest } = await show(
    tools.map(([name, text]) => offer(name, text)),
    most,
  );
  const { longer, ...others } = descriptions;
  expect(others).toEqual(whole);
  expect(longer).toContain("a".repeat(shown.characters - 100));
  expect(longer).not.toContain("-end");
  expect(rest).toContain(most);

  const { rest: cut } = await show([offer("one", "One.")], textOf(shown.characters + 1, "b"));
  expect(cut).toContain("b".repeat(shown.characters - 100));
  expect(cut).not.toContain("b-end");
});

it("offers a tool whose name with its prefix has as many characters as lint allows, and not a longer one", async () => {
  const most = "f".repeat(128 - "mcp__notes__".length);
  expect(await show([offer(most, "Fits.")], "")).toMatchObject({
    outcome: { kind: "answered" },
    descriptions: { [most]: "Fits." },
  });
  const message = `Claude Code does not offer tool "${most}f"`;
  expect(await show([offer(`${most}f`, "Is too long.")], "")).toMatchObject({
    outcome: { kind: "broken", stage: "server", message },
    descriptions: {},
  });
});

it("sends a tool that has no description", async () => {
  const { outcome, descriptions } = await show([offer("bare")], "");
  expect(outcome).toEqual({ kind: "answered" });
  expect(Object.keys(descriptions)).toEqual(["bare"]);
});
