import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import { discoverSkills } from "../../../src/evals/input/skills/discover.ts";
import { readSkillEvals } from "../../../src/evals/input/skills/evals.ts";
import { onlySkill, readEvals, readEvalText, skillText, workspace } from "./workspace.ts";

describe("eval files that are wrong", () => {
  it("are reported with all their errors, and return no queries", async () => {
    const text = `[
  { "input": "a", "query": "b", "checks": ["c"] },
  { "expected_behavior": ["asks"] },
  { "input": 7, "checks": ["c"] },
  { "input": "d", "id": 1.5, "checks": ["c"] },
  { "input": "e", "checks": [3, "", null, ["nested"]] },
  { "input": "f", "should_trigger": "false", "split": "test" },
  { "input": "g", "checks": ["c"], "files": [4, { "path": "x.txt", "content": {} }, "none.txt"] },
  9
]`;
    expect(await readEvalText(text)).toMatchInlineSnapshot(`
      "skills/demo/evals/evals.json:2:19: error: "input" and "query" differ.
        Keep one of them.
      skills/demo/evals/evals.json:4:5: error: "input" must be text.
        Write what the user says.
      skills/demo/evals/evals.json:5:19: error: "id" must be a whole number or text.
        Correct it, or leave it out.
      skills/demo/evals/evals.json:7:19: error: "should_trigger" must be true or false.
        Write true or false, without quotes.
      skills/demo/evals/evals.json:7:46: error: "split" must be "train" or "held-out".
        Correct it, or leave it out.
      skills/demo/evals/evals.json:9:3: error: A query must be an object or text.
        Write { "input": "..." }.
      skills/demo/evals/evals.json:3:3: warning: 1 entry without a text cannot be asked.
        Write what the user says in "input" (or "prompt", or "query"). Until then the query is left out.
      skills/demo/evals/evals.json:6:30: warning: Checks in "checks" that are not text are not graded: 4.
        Write each as a sentence.
      skills/demo/evals/evals.json:8:36: warning: A file must be given by its path.
        Write a path, or { "path": "...", "content": "..." }. Until then the query is left out.
      skills/demo/evals/evals.json:8:36: warning: The content of "x.txt" is not text.
        Give it as text. Until then the query is left out.
      skills/demo/evals/evals.json:8:36: warning: There is no file "none.txt".
        Put it into the package's folder, its evals folder or the repository: these are searched in this order. Until then the query is left out."
    `);
  });

  it.each([
    ["a raw line break", '{ "evals": [\n  { "input": "one\ntwo" } ] }'],
    ["a key twice", '[{ "input": "a", "checks": ["b"],\n  "checks": ["c"] }]'],
    ["depth", `${"[".repeat(100_000)}`],
    ["no value", " \n "],
    ["a number", "7"],
    ["no queries", '{ "prompts": ["a"] }'],
    ["queries by name", '{ "evals": { "first": { "input": "a" } } }'],
  ])("say where: %s", async (_, text) => {
    expect(await readEvalText(text)).toMatchSnapshot();
  });

  it("report all wrong files at once", async () => {
    const files = { "skills/demo/evals/trigger-eval.json": "[1]" };
    expect(await readEvalText("[2]", files)).toMatchInlineSnapshot(`
      "skills/demo/evals/evals.json:1:2: error: A query must be an object or text.
        Write { "input": "..." }.
      skills/demo/evals/trigger-eval.json:1:2: error: A query must be an object or text.
        Write { "input": "..." }."
    `);
  });
});

describe("the eval files of a package", () => {
  it("are evals.json, then the trigger sets, and no other file", async () => {
    const names = ["evals.json", "triggers.json", "trigger_evals.json", "trigger-results.json", "benchmark.json"];
    const folder = workspace({
      "skills/demo/SKILL.md": skillText("demo"),
      ...Object.fromEntries(
        names.map((name) => [`skills/demo/evals/${name}`, `[{ "query": "${name}", "checks": ["c"] }]`]),
      ),
    });
    const { evals, files, warnings } = await readSkillEvals(await onlySkill(folder), { repository: ".", cwd: folder });
    expect(warnings.map(formatProblem)).toEqual([
      expect.stringMatching(/2 other files in evals\/ are not read: benchmark.json, trigger-results.json\./),
    ]);
    expect(evals.map(({ input }) => input)).toEqual(["evals.json", "trigger_evals.json", "triggers.json"]);
    expect(files.map((file) => file.replace("skills/demo/evals/", ""))).toEqual(evals.map(({ input }) => input));
  });

  it("may be missing", async () => {
    const folder = workspace({ "skills/demo/SKILL.md": skillText("demo") });
    expect(await readEvals(folder)).toEqual({ evals: [], files: [], warnings: [] });
  });

  it("are not looked for through a link that leads outside", async () => {
    const secret = '[{ "input": "secret", "checks": ["c"] }]';
    const skill = { "skills/demo/SKILL.md": skillText("demo"), "outside/evals.json": secret };
    const folder = workspace({ ...skill, "skills/demo/evals": { link: "../../outside" } });
    expect(await readEvals(folder)).toEqual({ evals: [], files: [], warnings: [] });
    const { warnings } = await discoverSkills([{ dir: "skills", level: "named" }], { cwd: folder });
    expect(warnings.map(formatProblem)).toEqual([
      expect.stringMatching(/^skills\/demo\/evals: warning: The link leads outside of the package/),
    ]);
    const file = { link: "../../../outside/evals.json" };
    expect(await readEvals(workspace({ ...skill, "skills/demo/evals/evals.json": file }))).toMatch(
      /^skills\/demo\/evals\/evals.json: error: The eval file cannot be read: it is a link to a place outside of /,
    );
  });
});

describe("queries that seem not to load the skill", () => {
  const triggersOf = async (entry: object) => {
    const read = await readEvalText(JSON.stringify([{ input: "a", ...entry }]));
    if (typeof read === "string") throw new Error(read);
    return [read.evals[0]?.triggers, read.warnings.map(({ message }) => message)];
  };

  it.each([
    ...["near miss", "Anti-Trigger"].map((category) => ({ category })),
    { type: "negative" },
    ...["near-miss-1", "negative-3", "neg_2", "pdf-no-trigger"].map((id) => ({ id })),
    ...["The skill should not be triggered.", "Does not load the skill", "NO-TRIGGER: answers itself"].map(
      (expected_output) => ({ expected_output }),
    ),
  ])("are warned about without should_trigger: %j", async (entry) => {
    const warning = "Queries that seem to be about not loading the skill count as queries that load it: 1.";
    expect(await triggersOf(entry)).toEqual([true, [warning]]);
    expect(await triggersOf({ ...entry, should_trigger: false })).toEqual([false, []]);
    expect(await triggersOf({ ...entry, should_trigger: true })).toEqual([true, []]);
  });

  it.each([{ id: "negative-numbers" }, { category: "edge case" }, { expected_output: "Loads the page." }])(
    "are not %j",
    async (entry) => expect(await triggersOf(entry)).toEqual([true, []]),
  );
});

describe("the files of a case", () => {
  const named = (file: string) => JSON.stringify([{ input: "a", files: [file], checks: ["c"] }]);

  it.each([
    "/etc/hostname",
    "../../../secret.txt",
    "a/../../../../secret.txt",
    "..",
    "C:\\secret.txt",
    "c:secret.txt",
    "\\\\host\\share",
    "..\\..\\..\\secret.txt",
    "notes.txt\0.md",
  ])("are not read from outside: %j", async (file) => {
    const given = await readEvalText(named(file), { "secret.txt": "secret", "skills/demo/notes.txt": "n" });
    const message = expect.stringMatching(/^The file ".*" is absolute or outside of the package\.$/s);
    expect(given).toMatchObject({ evals: [{ files: [], unusable: message }], warnings: [{ message }] });
  });

  it("are not read through links that lead outside of the package or the repository", async () => {
    const outside = workspace({ "secret.txt": "secret" });
    const link = { link: join(outside, "secret.txt") };
    const refused = { evals: [{ files: [], unusable: expect.stringMatching(/it is a link to a place outside of /) }] };
    expect(await readEvalText(named("notes.txt"), { "skills/demo/notes.txt": link })).toMatchObject(refused);
    expect(await readEvalText(named("notes.txt"), { "skills/demo/evals/notes.txt": link })).toMatchObject(refused);
    expect(await readEvalText(named("notes.txt"), { "notes.txt": link })).toMatchObject(refused);
    const inside = await readEvalText(named("d/secret.txt"), { "skills/demo/d": { link: outside } });
    expect(inside).toMatchObject(refused);
    const folder = await readEvalText(named("d"), { "skills/demo/d/a.txt": "a", "skills/demo/d/b.txt": link });
    expect(folder).toMatchObject(refused);
  });

  it("are not read when they are missing or too large to be shown; the other queries are", async () => {
    const large = { "skills/demo/large.txt": "x".repeat(1024 * 1024 + 1) };
    const queries = JSON.stringify([
      { input: "a", files: ["large.txt"], checks: ["c"] },
      { input: "b", files: ["none.txt"], checks: ["c"] },
      { input: "c", checks: ["c"] },
    ]);
    const read = await readEvalText(queries, large);
    if (typeof read === "string") throw new Error(read);
    expect(read.evals.map(({ unusable }) => unusable)).toEqual([
      'The file "large.txt" cannot be read: it is larger than 1 MiB.',
      'There is no file "none.txt".',
      undefined,
    ]);
    expect(read.warnings.map(formatProblem).join("\n")).toMatchInlineSnapshot(`
      "skills/demo/evals/evals.json:1:15: warning: The file "large.txt" cannot be read: it is larger than 1 MiB.
        Put it into the package's folder, its evals folder or the repository. Until then the query is left out.
      skills/demo/evals/evals.json:1:66: warning: There is no file "none.txt".
        Put it into the package's folder, its evals folder or the repository: these are searched in this order. Until then the query is left out."
    `);
  });

  it("may be folders, whose files are given with their paths", async () => {
    const files = { "skills/demo/evals/data/a.txt": "a", "skills/demo/evals/data/in/b.txt": "b" };
    expect(await readEvalText(named("data/"), files)).toMatchObject({
      evals: [
        {
          files: [
            { path: "data/a.txt", content: "a" },
            { path: "data/in/b.txt", content: "b" },
          ],
        },
      ],
    });
  });

  it("are added to those that the file gives to all, which they replace", async () => {
    const files = { "skills/demo/evals/shared/a.txt": "a", "skills/demo/evals/b.txt": "b" };
    const text = JSON.stringify({
      files: ["shared", { path: "note.md", content: "for all" }],
      evals: [{ input: "one" }, { input: "two", files: ["b.txt", { path: "note.md", content: "own" }] }],
      should_trigger: ["three"],
    });
    const shared = { path: "shared/a.txt", content: "a" };
    const note = { path: "note.md", content: "for all" };
    expect(await readEvalText(text, files)).toMatchObject({
      evals: [
        { files: [shared, note] },
        { files: [shared, { path: "note.md", content: "own" }, { path: "b.txt", content: "b" }] },
        { files: [shared, note] },
      ],
      warnings: [],
    });
  });

  it("exclude every query, with one warning, if a shared file does not exist", async () => {
    const text = '{ "files": "none.txt",\n  "evals": [{ "input": "one" }, { "input": "two", "files": ["gone.txt"] }] }';
    const read = await readEvalText(text);
    expect(read).toMatchObject({
      evals: [
        { unusable: 'There is no file "none.txt".' },
        { unusable: 'There is no file "none.txt". There is no file "gone.txt".' },
      ],
      warnings: [
        {
          message: 'There is no file "none.txt".',
          hint: expect.stringContaining("Until then all queries of this file are left out."),
          location: { line: 1 },
        },
        { message: 'There is no file "gone.txt".', location: { line: 2 } },
      ],
    });
  });

  it("cannot be in a folder with the name of a shared file", async () => {
    const files = [{ path: "data/a.txt", content: "a" }];
    const text = JSON.stringify({ files: [{ path: "data", content: "x" }], evals: [{ input: "one", files }] });
    expect(await readEvalText(text)).toMatchObject({ evals: [{ unusable: expect.stringMatching(/"data\/a.txt"/) }] });
  });

  it("may be links inside of the package", async () => {
    const files = { "skills/demo/real.txt": "real", "skills/demo/evals/in.txt": { link: "../real.txt" } };
    const read = await readEvalText(named("in.txt"), files);
    expect(read).toMatchObject({ evals: [{ files: [{ path: "in.txt", content: "real" }] }] });
  });
});

it("those of a skill of a plugin name it with or without the plugin, and may have the names that skill-creator gives", async () => {
  const entry = { eval_id: 1, eval_name: "first", skill: "tools:demo", prompt: "Do it" };
  const text = JSON.stringify({ skill_name: "demo", evals: [entry, { ...entry, skill: "emo" }] });
  const cwd = workspace({ "skills/demo/SKILL.md": skillText("demo"), "skills/demo/evals/evals.json": text });
  const skill = { ...(await onlySkill(cwd)), name: "tools:demo" };
  const { evals, warnings } = await readSkillEvals(skill, { repository: cwd, cwd });
  expect(evals).toHaveLength(2);
  expect(warnings.map(({ message }) => message)).toEqual([
    '"skill" is "emo", but this eval file belongs to "tools:demo".',
  ]);
});
