import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import { runCommandLine } from "../../../src/evals/commands/index.ts";
import { endpoint, filesSuite, project } from "../../experiments/pipeline/project.ts";

/** A drafted suite, with comments of a person. */
const drafted = `# Mine.
server: { tools: ../tools.json }
cases:
  # Guessed.
  - id: read
    input: Please read the text of one file
    expect: { tool: read }
  - id: move
    input: 请把文件移动到 archive 文件夹 # 好
    expect: { tool: move, avoid: read }
  - id: greet
    input: Good morning
    expect: { tool: none }
  - id: mine
    input: Which entries are in src?
    expect: { tool: list }

# Not read yet.
unreviewed: [ read, move, greet, gone ]
`;

const queries = (line: string) => `queries evals/drafted.yaml ${line}`.trim();

const queriesOfUsers = [
  ...["What was decided?", "Who came on Monday?", "Sum up this call", "Tell them what is new", "List our fixes"],
  ...["Is it out yet?", "Which commits matter?", "Draft an announcement", "Explain version 2", "Read my transcript"],
  ...["Who spoke first?", "How is the weather?"],
];

/** The answer to a request for a query that needs no tool; undefined for any other request. */
function answerToolless(said: string, at: number): string | undefined {
  const things = ["lava", "moss", "amber", "thunder", "velvet", "honey", "chalk", "tides"];
  const thing = things[at % things.length];
  if (said.includes("general knowledge")) return `What is ${thing}?`;
  if (said.includes("thanks the assistant")) return `Thanks, ${thing} is perfect now!`;
  return said.includes("joke or a poem") ? `Tell me a joke about ${thing}` : undefined;
}

/** Runs a command line, with what a person answers: decisions, and texts of edited queries; without any, no terminal. */
async function call({ dir, io }: ReturnType<typeof project>, line: string, answers?: (string | undefined)[]) {
  const offered: string[] = [];
  const next = async () => answers?.shift();
  const text = (_: string, initial: string) => {
    offered.push(initial);
    return next();
  };
  const confirm = async () => (await next()) === "yes";
  const world = io({ width: 80, ...(answers && { prompts: { select: next, text, confirm } }) });
  const code = await runCommandLine(line.split(" "), world, "0.0.0").catch((thrown: EvalsError) => {
    if (!(thrown instanceof EvalsError)) throw thrown;
    world.err(`${thrown.message}\n`);
    return thrown.exitCode;
  });
  const read = (file: string) => readFileSync(join(dir, file), "utf8");
  return { code, offered, suite: read("evals/drafted.yaml"), printed: world.warned() + world.printed() };
}

it("keeps each decision of a review that is stopped, and goes on with the next one", async () => {
  const made = project({ "evals/drafted.yaml": drafted });
  const first = await call(made, queries(""), [
    "keep",
    "edit",
    undefined,
    "edit",
    "  把 notes.txt 移走\u200f ",
    undefined,
  ]);
  expect([first.code, first.printed]).toMatchSnapshot();
  expect(first.offered).toEqual(["请把文件移动到 archive 文件夹", "请把文件移动到 archive 文件夹"]);
  expect(first.suite).toMatchSnapshot();
  const second = await call(made, queries(""), ["drop"]);
  expect([second.code, second.suite]).toEqual([0, expect.not.stringMatching(/unreviewed|greet|Not read yet/)]);
  expect(second.suite).toContain("# Mine.");
  expect((await call(made, queries(""), [])).printed).toBe("No draft is left in evals/drafted.yaml.\n");
});

it("reviews the first suite with drafts where none is named", async () => {
  const made = project({ "evals/a.yaml": drafted.replace(/^unreviewed.*$/m, ""), "evals/drafted.yaml": drafted });
  const { code, printed } = await call(made, "queries", ["keep", "keep", "keep"]);
  expect([code, printed]).toEqual([0, expect.stringMatching(/^3 queries of evals\/drafted.yaml to review/)]);
  expect((await call(made, "queries", [])).printed).toContain("This command takes one suite, but there are 3:");
});

it("is asked for on a terminal, or accepts all, which every report says", async () => {
  const made = project({ "evals/drafted.yaml": drafted });
  const refused = await call(made, queries(""));
  expect([refused.code, refused.suite]).toEqual([2, drafted]);
  expect(refused.printed).toMatchInlineSnapshot(`
    "error: There is no terminal to review queries on.
      Review them on one, or add --accept-all: reports then say that nobody did.
    "
  `);
  const accepted = await call(made, queries("--accept-all"));
  expect([accepted.code, accepted.suite]).toEqual([0, drafted]);
  expect(accepted.printed).toMatchInlineSnapshot(`
    "3 queries of evals/drafted.yaml that nobody reviewed. To do it: \`evals queries evals/drafted.yaml\`
    "
  `);
  const { printed } = await call(made, "run evals/drafted.yaml");
  expect(printed).toMatch(/Not reviewed: 3 of 4 queries/);
  expect((await call(made, "show")).printed.replace(/\s+/g, " ")).toContain("; 3 of 4 queries not reviewed)");
});

it("has a model write queries for guesses, tools and tools that were confused", async () => {
  const suite = drafted.replace("unreviewed: [ read, move, greet, gone ]", "unreviewed: [ read ]");
  const made = project({ "evals/drafted.yaml": suite });
  const asked: string[] = [];
  const verbs = ["fold", "paint", "wash", "stack", "mend"];
  const { started } = await endpoint(({ messages, tools }) => {
    if (tools) return { calls: [{ name: "read", input: {} }] };
    const said = String(messages[0]?.content);
    asked.push(said);
    const needsNothing = answerToolless(said, asked.length);
    if (needsNothing) return { text: needsNothing };
    if (said.includes("must not ask for it")) return { text: "What is inside of src?" };
    if (said.includes("read the text")) return { text: "Reads the text of one file." };
    return { text: `Please ${verbs[asked.length % verbs.length]} my things` };
  });
  const reach = `--base-url ${started.url} -c 1`;
  await call(made, `run evals/drafted.yaml -n 1 -m anthropic:claude-haiku-5-5 ${reach}`);
  const {
    code,
    suite: text,
    printed,
  } = await call(made, queries(`--writer anthropic:claude-haiku-5-5 --accept-all ${reach}`));
  expect(code).toBe(0);
  expect(asked.filter((said) => said.includes("must not ask for it"))).toMatchSnapshot();
  expect(printed).toMatchInlineSnapshot(`
    "8 queries to write with anthropic:claude-haiku-5-5, a request each: free. No tool is executed.
    anthropic:claude-haiku-5-5 wrote 6 of 8 queries. 1 could not be used (it repeats the description of the tool). 1 said the same as another.
    7 queries of evals/drafted.yaml that nobody reviewed. To do it: \`evals queries evals/drafted.yaml\`
    "
  `);
  const [before = ""] = drafted.split("\n# Not read yet.");
  expect(text.startsWith(before)).toBe(true);
  await expect(text.slice(before.length)).toMatchFileSnapshot("snapshots/written.yaml.txt");
});

it.each([
  ["two sources", "--writer anthropic:x --from logs --accept-all"],
  ["texts to replace in nothing", "--replace Anna --accept-all"],
  ["a writer that writes nothing", "--writer lexical --accept-all"],
  ["a cost that nobody agreed to", "--writer anthropic:claude-haiku-5-5 --accept-all"],
  ["a cost that is not known", "--writer anthropic:claude-unknown --accept-all"],
])("writes nothing with %s", async (_, flags) => {
  const made = project({ "evals/drafted.yaml": drafted });
  const { code, suite, printed } = await call(made, queries(flags));
  expect([code, suite]).toEqual([2, drafted]);
  expect(printed).toMatchSnapshot();
});

it("writes a suite in JSON as JSON", async () => {
  const one = { id: "read", input: "What is in notes.txt?", expect: { tool: "read" } };
  const made = project({
    "evals/drafted.yaml": drafted,
    "evals/files.json": filesSuite([one], { unreviewed: ["read"] }),
  });
  await call(made, "queries evals/files.json", ["edit", "What does notes.txt say?"]);
  const reviewed = filesSuite([{ ...one, input: "What does notes.txt say?" }]);
  expect(JSON.parse(readFileSync(join(made.dir, "evals/files.json"), "utf8"))).toEqual(reviewed);
});

it("has a model write queries for skills and near misses of those that are alike, and reviews them as those for tools", async () => {
  const skill = (name: string, description: string) =>
    `---\nname: ${name}\ndescription: ${description}\n---\n\n1. Read it.\n`;
  const mine = { input: "Sum up what we said today", should_trigger: true };
  const made = project({
    "evals/drafted.yaml": drafted,
    ".claude/skills/minutes/SKILL.md": skill(
      "minutes",
      "Writes the minutes of a meeting. Use when asked for a summary.",
    ),
    ".claude/skills/minutes/evals/evals.json": { skill_name: "minutes", evals: [mine] },
    ".claude/skills/notes/SKILL.md": skill("notes", "Writes the notes of a release. Use when asked for a changelog."),
  });
  const asked: string[] = [];
  const { started } = await endpoint(({ messages }) => {
    asked.push(String(messages[0]?.content));
    return { text: answerToolless(asked.at(-1) ?? "", asked.length) ?? queriesOfUsers[asked.length - 1] ?? "" };
  });
  const reach = `--writer anthropic:claude-haiku-5-5 --accept-all --base-url ${started.url} -c 1`;
  const { code, printed } = await call(made, `queries .claude/skills ${reach}`);
  expect([code, printed]).toMatchSnapshot();
  const read = (name: string) =>
    JSON.parse(readFileSync(join(made.dir, ".claude/skills", name, "evals/evals.json"), "utf8"));
  expect(asked.filter((said) => said.includes("must not ask for it:"))[0]).toMatchSnapshot();
  expect(read("minutes").evals[0]).toEqual(mine);
  const [positive, near] = ["notes-1", "notes-near-miss-1"].map((id) =>
    read("notes").evals.find((one: { id: string }) => one.id === id),
  );
  const note = expect.stringMatching(/^By anthropic:claude-haiku-5-5, prompt \w{12}\.$/);
  expect(positive).toEqual({
    id: "notes-1",
    input: expect.any(String),
    should_trigger: true,
    expected_behavior: ["Read it."],
    note,
  });
  expect(near).toEqual({ id: "notes-near-miss-1", input: expect.any(String), should_trigger: false, note });
  const ids = read("notes").evals.map(({ id }: { id: string }) => id);
  expect(read("notes").unreviewed).toEqual(ids);
  const ran = await call(made, "run .claude/skills");
  expect(ran.printed).toContain(`Not reviewed: ${read("minutes").unreviewed.length + ids.length} of `);

  const reviewed = await call(made, "queries .claude/skills/notes", ["drop", ...ids.slice(1).map(() => "keep")]);
  expect([reviewed.code, reviewed.printed]).toEqual([0, expect.stringContaining("1 of")]);
  expect(reviewed.printed).toContain("must not load the skill:");
  expect(read("notes")).toEqual({ evals: expect.not.arrayContaining([expect.objectContaining({ id: "notes-1" })]) });
  expect((await call(made, "queries .claude/skills/notes --from logs --accept-all")).code).toBe(2);
});
