import { expect, it } from "vitest";
import { trialSchema } from "../../src/evals/base/types/trial.ts";
import { run } from "../../src/evals/experiments/run/run.ts";
import { type ShowOptions, show } from "../../src/evals/reading/show.ts";
import { Transcripts } from "../../src/evals/reading/showReport.ts";
import { renderMarkdown } from "../../src/evals/reports/markdown.ts";
import { endpoint, project, runDefaults, toolList } from "../experiments/pipeline/project.ts";
import { aManifest, aTrial } from "../fakes/record.ts";

const defaults: ShowOptions = {
  ...{ history: false, run: "latest", failed: false, limit: 20, json: false },
  ...{ format: "terminal", out: "reports" },
};

/** A run in which the model calls `read` with other arguments than expected, and says something. */
async function world() {
  const made = project({
    "evals/files.json": {
      name: "files",
      server: { tools: "../tools.json" },
      trials: 2,
      maxTurns: 1,
      cases: [
        { id: "read", input: "Read notes.txt", expect: { tool: "read", args: { path: { $endsWith: "notes.txt" } } } },
        { id: "none", input: "Good morning", expect: { tool: "none" } },
      ],
    },
  });
  const { asked } = await endpoint((body) =>
    JSON.stringify(body.messages).includes("notes")
      ? { text: "I read\nthe file.", calls: [{ name: "read", input: { path: "other.txt", head: 3 } }] }
      : { text: "Good morning to you." },
  );
  await run({ ...runDefaults, ...asked, model: [asked.model] }, made.io());
  return made;
}

it("shows what a model did and what was not met, once for trials that went alike", async () => {
  const { io } = await world();
  const shown = io();
  expect(await show({ ...defaults, target: "read" }, shown)).toBe(0);
  const text = shown
    .printed()
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.-]+Z?/g, "<time>")
    .replaceAll(/\d+(\.\d+)? (ms|s)\b/g, "<duration>");
  expect(text).toMatchSnapshot();
});

it("selects trials by number and outcome, and failed ones without a case", async () => {
  const { io } = await world();
  const list = async (options: Partial<Parameters<typeof show>[0]>) => {
    const shown = io();
    await show({ ...defaults, json: true, ...options }, shown);
    const { trials } = JSON.parse(shown.printed()) as { trials: unknown[] };
    return trials
      .map((one) => trialSchema.parse(one).cell)
      .map(({ case: id, trial }) => `${id} ${trial}`)
      .sort();
  };
  expect(await list({ failed: true })).toEqual(["read 1", "read 2"]);
  expect(await list({ target: "none" })).toEqual(["none 1", "none 2"]);
  expect(await list({ target: "none", failed: true })).toEqual([]);
  expect(await list({ target: "*", trial: 2 })).toEqual(["none 2", "read 2"]);
  expect(await list({ target: "read", arm: "base" })).toEqual([]);
});

it("lists what the run contains if nothing has that name", async () => {
  const { io } = await world();
  await expect(show({ ...defaults, target: "raed" }, io())).rejects.toThrow('The run has no case "raed".');
  await expect(show({ ...defaults, failed: true, suite: ["file"] }, io())).rejects.toThrow(
    'The run has no suite "file".',
  );
  await expect(show({ ...defaults, failed: true, model: ["anthropic:x"] }, io())).rejects.toThrow(
    'The run has no model "anthropic:x".',
  );
  await expect(show({ ...defaults, failed: true, run: "never" }, io())).rejects.toThrow('There is no run "never".');
});

it("tells a record from a case, and refuses forms that only reports have", async () => {
  const { io, records } = await world();
  const [id = ""] = records();
  for (const target of [undefined, "latest", id]) {
    const shown = io();
    await show({ ...defaults, ...(target !== undefined && { target }), format: "csv" }, shown);
    expect(shown.printed().split("\n")).toHaveLength(6);
  }
  const failed = io();
  await show({ ...defaults, target: id, failed: true }, failed);
  expect(failed.printed()).toContain("2 trials of read: 2 did not pass");
  await expect(show({ ...defaults, target: "read", format: "junit" }, io())).rejects.toThrow("not of transcripts");
  await expect(show({ ...defaults, history: true, target: id }, io())).rejects.toThrow("--history is about all runs.");
});

it("prints the history of a suite, with what changed in its tools", async () => {
  const { io, write, records } = project();
  await run(runDefaults, io());
  write("tools.json", toolList({ read: "Handles it." }));
  await run(runDefaults, io());
  const shown = io();
  expect(await show({ ...defaults, history: true }, shown)).toBe(0);
  const [first = "", second = ""] = records();
  expect(shown.printed()).toMatch(/^1 history: files on lexical-2 -33\.3 pp since the run before\n/);
  expect(shown.printed()).toMatch(new RegExp(`\n${second} .* tools: read: description\n${first} `));
  const markdown = io();
  await show({ ...defaults, history: true, format: "markdown" }, markdown);
  expect(markdown.printed()).toContain(
    `\n\nNext: compare the last two runs with \`evals compare ${first} ${second}\`.\n`,
  );
  const asJson = io();
  await show({ ...defaults, history: true, limit: 1, json: true }, asJson);
  expect(JSON.parse(asJson.printed())).toMatchObject({ histories: [{ suite: "files", runs: [{ run: second }] }] });
  await expect(show({ ...defaults, history: true, suite: ["other"] }, io())).rejects.toThrow(
    "There is no finished run of this suite and model",
  );
});

it("prints the first transcripts and counts the others, which it does not hold", () => {
  const transcripts = new Transcripts(2);
  const cases = aManifest("a").suites.flatMap((suite) => suite.cases);
  for (const [trial, text] of ["a", "b", "a", "c", "c", "d"].entries())
    for (const one of cases) {
      const about = aTrial("a", trial + 1);
      const turns = about.turns.map((turn) => ({ ...turn, text }));
      transcripts.add({ trial: { ...about, turns }, case: one, tools: [] });
    }
  const text = renderMarkdown(transcripts.document("r"));
  expect(text).toContain("4 different transcripts in 6 trials");
  expect(text.match(/^#### .*/gm)?.map((line) => line.replaceAll("\\", ""))).toEqual([
    expect.stringContaining("trials 1, 3 (alike)"),
    expect.stringContaining("trial 2"),
  ]);
  expect(text).toContain("… and 2 more transcripts");
});
