import { describe, expect, it } from "vitest";
import {
  converse,
  createConversation,
  maxSearchTurns,
  type ShownTools,
} from "../../../src/evals/asking/trials/conversation.ts";
import { createExecutor } from "../../../src/evals/asking/trials/execution.ts";
import { indexTools, searchToolName } from "../../../src/evals/asking/trials/toolSearch.ts";
import type { ModelRequest } from "../../../src/evals/base/types/model.ts";
import type { Case } from "../../../src/evals/base/types/suite.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const never = new AbortController().signal;
const alwaysLoad = { _meta: { "anthropic/alwaysLoad": true as const } };
const hinted = { _meta: { "anthropic/searchHint": "forecast" } };
const tools = [aTool("read_file"), aTool("get_weather", hinted), aTool("kept", alwaysLoad)];
const search = (query: unknown, more = {}) => turn("", [searchToolName, { query: query as string, ...more }]);

/** A conversation in which names are shown as a host with a prefix shows them. */
async function play(
  answer: (request: ModelRequest) => ReturnType<typeof turn>,
  changes: Partial<Case> = {},
  list: readonly OfferedTool[] = tools,
) {
  const one = aCase("c", changes);
  const model = scriptedModel(answer);
  const toolset = aToolset(...list);
  const shown = list.map((tool) => ({ ...tool, name: `mcp__${tool.name}` }));
  const show = (): ShownTools => ({
    tools: shown,
    listedName: (name) => name.replace(/^mcp__/, ""),
    index: indexTools(shown, "keyword"),
  });
  const cell = { suite: "s", case: "c", arm: "head", model: "scripted", trial: 1 };
  const planned = { suite: aSuite("s", [one]), case: one, arm: "head", toolset };
  const location = { planned, cell, model, orderSeed: 1 };
  const executor = createExecutor(toolset, { policy: "read-only" });
  const answered = await converse(createConversation(location, { show, skills: () => undefined }, executor), never);
  return { ...answered, asked: model.asked };
}

const namesOf = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name);

describe("names only", () => {
  it("shows the definitions of tools that are always loaded and of the search, and the names of the others", async () => {
    const { asked } = await play(() => turn("done"));
    expect(namesOf(asked[0])).toEqual(["mcp__kept", searchToolName]);
    expect(asked[0]?.messages[0]).toMatchObject({ role: "system" });
    const prompt = asked[0]?.messages[0];
    const listed =
      prompt && "content" in prompt ? prompt.content.split("\n").filter((line) => line.startsWith("- ")) : [];
    expect(listed.sort()).toEqual(["- mcp__get_weather", "- mcp__read_file"]);
  });

  it("loads what a search found, in a turn that does not count for the case", async () => {
    const { turns, asked, deferred, outcome } = await play(
      ({ turn: number }) => (number === 1 ? search("forecast") : turn("", ["mcp__get_weather", {}])),
      { maxTurns: 1 },
    );
    expect(outcome).toEqual({ kind: "answered" });
    expect([...(deferred ?? [])].sort()).toEqual(["get_weather", "read_file"]);
    expect(turns.map(({ searches, calls }) => [searches, calls.map(({ tool, role }) => [tool, role])])).toEqual([
      [[{ query: "forecast", found: ["get_weather"] }], [[searchToolName, "search"]]],
      [undefined, [["get_weather", undefined]]],
    ]);
    expect(namesOf(asked[1])).toEqual(["mcp__kept", "mcp__get_weather", searchToolName]);
    expect(asked[1]?.toolset).not.toBe(asked[0]?.toolset);
    expect(asked[1]?.messages.at(-1)).toMatchObject({
      role: "results",
      results: [{ tool: searchToolName, text: "Loaded, and can be called now:\n- mcp__get_weather", isError: false }],
    });
  });

  it("finds tools by exact name, and reports no match or a missing query", async () => {
    const queries = [search("select:mcp__read_file"), search("nothing like it"), search(7), turn("done")];
    const { turns, asked } = await play(({ turn: number }) => queries[number - 1] ?? turn("done"));
    expect(turns.map(({ searches }) => searches)).toEqual([
      [{ query: "select:mcp__read_file", found: ["read_file"] }],
      [{ query: "nothing like it", found: [] }],
      [{ query: "", found: [] }],
      undefined,
    ]);
    const last = asked[3]?.messages.at(-1);
    expect(last).toMatchObject({ results: [{ text: "Give a query, a text.", isError: true }] });
  });

  it("loads at most as many as the model asks for", async () => {
    const many = Array.from({ length: 9 }, (_, at) => aTool(`file_${at}`));
    const found = async (more: object) => {
      const { turns } = await play(({ turn: n }) => (n === 1 ? search("file", more) : turn("")), {}, many);
      return turns[0]?.searches?.[0]?.found.length;
    };
    expect([await found({}), await found({ max_results: 2 }), await found({ max_results: 1000 })]).toEqual([5, 2, 9]);
  });

  it("ends a trial that only searches", async () => {
    const { turns, outcome } = await play(() => search("again"), { maxTurns: 1 });
    expect([turns.length, outcome.kind]).toEqual([maxSearchTurns + 1, "answered"]);
  });

  it("offers no search if no tool is deferred", async () => {
    const { asked } = await play(() => turn("done"), {}, [aTool("kept", alwaysLoad)]);
    expect(namesOf(asked[0])).toEqual(["mcp__kept"]);
    expect(asked[0]?.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(asked[0]?.loader).toBeUndefined();
  });
});
