import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { summaryOf } from "./evals.ts";
import { criteriaOf, project, verdicts } from "./skills/project.ts";

const evalsOf = (input: string) => [{ input, expected_behavior: ["helps"] }];

describe("packages whose eval files are not run", () => {
  const { cwd, write, skill, run } = project();
  const own = join(cwd, ".claude/skills");
  skill(own, "notes", { description: "Takes notes.", triggers: [{ query: "Take notes", should_trigger: true }] });
  skill(join(cwd, ".agents/skills"), "notes", { description: "Notes, again.", evals: evalsOf("Take notes") });
  skill(join(cwd, "evals"), "notes", { description: "Other notes.", evals: evalsOf("Note this") });
  write(join(own, "torn/SKILL.md"), "---\nname: torn\n---\n");
  write(join(own, "torn/evals/evals.json"), JSON.stringify(evalsOf("Tear it")));
  const shy = "---\nname: shy\ndescription: Hides.\ndisable-model-invocation: true\n---\n";
  write(join(own, "shy/SKILL.md"), shy);
  write(join(own, "shy/evals/evals.json"), JSON.stringify(evalsOf("Hide")));

  const malformed = `\
.claude/skills/shy/SKILL.md:4:1: warning: The front matter has keys that are not part of the Agent Skills format: "disable-model-invocation".
  Keep those that your host reads; put your own data under "metadata".
.claude/skills/torn/SKILL.md:1: warning: This skill is not loaded: it has no "description".
  Its eval files are not run. See \`evals tools --skills\`.
`;
  const hidden = `\
.claude/skills/shy/SKILL.md:4:1: warning: The skill "shy" is not offered to models: \`disable-model-invocation\` is true.
  Its eval files are not run. Remove the key to let models load it.
`;

  it("are told, each with the reason", async () => {
    const { code, out, err } = await run("run", "--dry-run");
    expect(code).toBe(0);
    expect(out.slice(0, out.indexOf("\n"))).toBe(
      "skill:notes: 1 case, 0 tools, 1 skill, execute read-only (.claude/skills/notes/evals/trigger-eval.json)",
    );
    expect(err).toBe(`\
${malformed}.agents/skills/notes/SKILL.md: warning: Another skill "notes" is loaded instead of this one: .claude/skills/notes/SKILL.md.
  Its eval files are not run. See \`evals tools --skills\`.
${hidden}evals/notes/SKILL.md: warning: The eval files of this skill are skipped: .claude/skills/notes/SKILL.md has the name "notes" too.
  Rename one of them, or give its path.
`);
  });

  it("are told too where nothing else is asked for", async () => {
    const { code, err } = await run("run", ".claude/skills/torn");
    expect({ code, err }).toEqual({
      code: 2,
      err: `\
error: No skill package under .claude/skills/torn can be run: they have no eval files, or no host loads them.
  Write evals/evals.json in the package: { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.
${malformed}${hidden}`,
    });
  });
});

it("says what is wrong with the eval files of all packages at once", async () => {
  const { cwd, skill, run } = project();
  for (const name of ["one", "two"])
    skill(join(cwd, ".claude/skills"), name, { description: "Does it.", evals: [{ input: "a", prompt: "b" }] });
  const { code, err } = await run("run");
  expect(code).toBe(2);
  expect(err.match(/^\S+evals\.json:\d+:\d+: error: "input" and "prompt" differ\.$/gm)).toHaveLength(2);
});

it("refuses a server's tool that has the name of one that is offered beside skills", async () => {
  const { cwd, skill, write, run } = project();
  skill(join(cwd, "skills"), "notes", { description: "Takes notes." });
  const tools = [{ name: "Read", inputSchema: { type: "object" } }];
  write(join(cwd, "tools.json"), JSON.stringify({ tools }));
  const cases = [{ input: "Read it", expect: { tool: "Read" } }];
  write(join(cwd, "s.json"), JSON.stringify({ server: { tools: "tools.json" }, skills: ["skills"], cases }));
  const { code, err } = await run("run", "s.json");
  expect(code).toBe(2);
  expect(err).toContain(
    's.json: error: The suite "s" lists a tool "Read", a name that is reserved where skills or files are offered.\n',
  );
});

it("does not go on with a suite whose skills now instruct otherwise", async () => {
  const { cwd, skill, write, run } = project();
  const dir = skill(join(cwd, "skills"), "notes", { description: "Takes notes." });
  const cases = [{ input: "Take notes", expected_behavior: ["helps"] }];
  write(join(cwd, "s.json"), JSON.stringify({ skills: ["skills"], trials: 2, cases }));
  const { url } = await startMessagesEndpoint((body) => {
    const judged = criteriaOf(body);
    return judged
      ? verdicts(judged.criteria.map(() => ({ verdict: "met", evidence: "Here are the notes" })))
      : { text: "Here are the notes" };
  });
  const asked = ["-m", "anthropic:x", "--judge", "anthropic:j", "--base-url", url];
  const { dir: record } = summaryOf(await run("run", "s.json", ...asked, "--json"));
  const journal = join(record, "trials.jsonl");
  const [first] = readFileSync(journal, "utf8").split("\n");
  writeFileSync(journal, `${first}\n`);
  expect(await run("run", "--resume", "latest")).toMatchObject({ code: 0 });
  writeFileSync(journal, `${first}\n`);
  appendFileSync(join(dir, "SKILL.md"), "Write less.\n");
  const { code, err } = await run("run", "--resume", "latest");
  expect(code).toBe(2);
  expect(err).toContain('cannot be resumed: the suite "s" was edited.\n');
});
