import { describe, expect, it } from "vitest";
import type { HostModel, Model } from "../../../src/evals/base/types/model.ts";
import {
  applyExposures,
  verifySearches,
  warnOfSmallWindows,
} from "../../../src/evals/experiments/workspace/exposures.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const plain = scriptedModel(() => turn(""), { id: "plain" });
const api = scriptedModel(() => turn(""), { id: "api", searches: { bm25: "search_bm25_1", regex: "search_regex_1" } });
const host: HostModel = {
  ...plain,
  id: "host",
  note: "a host",
  ownPromptTokens: 0,
  exposures: ["host", "all"],
  converse: async () => ({ outcome: { kind: "answered" }, turns: [] }),
};
Reflect.deleteProperty(host, "ask");

const shown = (model: Model, exposure?: string, ranker?: "keyword" | "bm25" | "regex") =>
  applyExposures([model], { exposure, ranker })[0]?.askedUnder;
const refused = (model: Model, exposure?: string, ranker?: "keyword" | "bm25" | "regex") => {
  try {
    return shown(model, exposure, ranker);
  } catch (error) {
    return (error as Error).message;
  }
};

describe("applyExposures", () => {
  it("gives each model its default exposure, or the requested ones in order", () => {
    expect(shown(plain)).toEqual([{ kind: "all" }]);
    expect(shown(host)).toEqual([{ kind: "host" }]);
    expect(shown(host, "all")).toEqual([{ kind: "all" }]);
    expect(shown(api, "search, names,search")).toEqual([
      { kind: "search", ranker: "search_bm25_1" },
      { kind: "names", ranker: "keyword 1" },
    ]);
    expect(shown(api, "search", "regex")).toEqual([{ kind: "search", ranker: "search_regex_1" }]);
  });

  it("refuses a ranker where the default shows all definitions", () => {
    expect(refused(plain, undefined, "bm25")).toContain("--ranker has no effect");
  });

  it("describes the exposure in the note of a model", () => {
    const notes = applyExposures([plain, host], { exposure: "all" }).map(({ note }) => note);
    expect(notes).toEqual(["all definitions shown", "a host; all definitions shown"]);
  });

  it("refuses an exposure that a model does not support, with a hint", () => {
    expect([
      refused(plain, "nmaes"),
      refused(plain, "host"),
      refused(plain, "search"),
      refused(host, "names"),
      refused(api, "search", "keyword"),
      refused(plain, "all", "bm25"),
    ]).toMatchSnapshot();
  });
});

describe("verifySearches", () => {
  const never = new AbortController().signal;
  const verify = (reason: string | undefined, exposure: string) =>
    verifySearches(applyExposures([{ ...api, refusesSearch: async () => reason }], { exposure }), never);

  it("refuses a search that the API refuses, and asks only models that use it", async () => {
    await expect(verify("400 unknown tool type", "search")).rejects.toThrowErrorMatchingInlineSnapshot(`
      [EvalsError: error: api refuses the tool search search_bm25_1: 400 unknown tool type.
        Use a model that has it, or --exposure names, which searches on the client.]
    `);
    await verify(undefined, "search");
    await verify("400 unknown tool type", "names");
  });
});

describe("warnOfSmallWindows", () => {
  const content = "x".repeat(400);
  const long = aCase("long", { messages: [{ role: "user", content: "hi" }], paraphrases: ["hi", content] });
  const cases = [aCase("short"), long].map((one) => {
    return { suite: aSuite("s", [one]), case: one, arm: "head", toolset: aToolset(aTool("read")) };
  });
  const warn = async (tokens: number | undefined, exposure = "all") => {
    let printed = "";
    const window = tokens === undefined ? undefined : { tokens, remedy: "Enlarge it." };
    const models = applyExposures([{ ...plain, readContextWindow: async () => window }, plain], { exposure });
    await warnOfSmallWindows(models, cases, {
      err: (text) => {
        printed += text;
      },
      signal: new AbortController().signal,
    });
    return printed;
  };

  it("names both sizes and the remedy, once per model", async () => {
    expect(await warn(100)).toMatchInlineSnapshot(`
      "warning: The context window of plain has 100 tokens, but the longest request about 123: 23 of the tool list and 100 of the query.
        Enlarge it.
      "
    `);
  });

  it.each([
    ["the window is large enough", 200, "all"],
    ["the server does not tell", undefined, "all"],
    ["the list is not sent", 100, "names"],
  ])("prints nothing where %s", async (_, tokens, exposure) => {
    expect(await warn(tokens, exposure)).toBe("");
  });
});
