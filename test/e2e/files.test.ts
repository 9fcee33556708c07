import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startMessagesEndpoint } from "../fixtures/endpoints/messages.ts";
import { spawnEvals, summaryOf, trialsOf, workspace } from "./evals.ts";

const dir = workspace();
const root = join(import.meta.dirname, "../..");

const suite = `
skills: [../skills]
files: [{ path: ., from: fixtures/repo }, { path: VERSION, content: "3.1.0" }]
cases:
  - id: writes
    input: Write the release notes
    expect:
      skill: release-notes
      files: { CHANGELOG.md: { $contains: "3.1.0" }, src/main.py: { $contains: print }, draft.md: { $absent: true } }
      assert: notes.mjs
  - id: other
    input: Write them to another file
    files: { path: VERSION, content: "9.9.9" }
    expect: { files: { CHANGELOG.md: { $contains: "9.9.9" } } }
`;
const assertion = `
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
export default ({ workspace }) => {
  const text = readFileSync(join(workspace, "CHANGELOG.md"), "utf8");
  const names = readdirSync(workspace, { recursive: true }).sort().join(" ");
  return { pass: text.startsWith("# 3.1.0") && names === "CHANGELOG.md VERSION src src/main.py", reason: names };
};
`;

it("copies files into the workspace of each trial, and checks what was written there", async () => {
  const evalsDir = join(dir, "files");
  mkdirSync(join(evalsDir, "fixtures/repo/src"), { recursive: true });
  cpSync(join(root, "evals/skills"), join(dir, "skills"), { recursive: true });
  writeFileSync(join(evalsDir, "fixtures/repo/src/main.py"), "print(1)\n");
  writeFileSync(join(evalsDir, "notes.mjs"), assertion);
  writeFileSync(join(evalsDir, "s.yaml"), suite);
  // Loads the skill, reads the version, writes the file that its reading says, and tries to write elsewhere.
  const service = await startMessagesEndpoint((body) => {
    const results = body.messages.filter(({ role, content }) => role === "user" && typeof content !== "string");
    const asked = JSON.stringify(body.messages[0]);
    const last = JSON.stringify(results.at(-1) ?? "");
    if (results.length === 0) return { calls: [{ name: "Skill", input: { skill: "release-notes" } }] };
    if (results.length === 1) return { calls: [{ name: "Read", input: { file_path: "/project/VERSION" } }] };
    const version = /\d\.\d\.\d/.exec(last)?.[0] ?? "";
    const path = asked.includes("another") ? "OTHER.md" : "CHANGELOG.md";
    if (results.length > 2) return { text: "Done." };
    const write = (file_path: string) => ({ name: "Write", input: { file_path, content: `# ${version}\n` } });
    return { calls: [write(`/project/${path}`), write("/project/../escaped.md")] };
  });
  const env = { ANTHROPIC_BASE_URL: service.url };
  const args = ["run", "files/s.yaml", "-m", "anthropic:claude-haiku-5-5", "-n", "2", "--json"];
  const ended = await spawnEvals(args, { cwd: dir, env });
  const { suites, run } = summaryOf(ended);
  expect([ended.code, suites[0]?.cases.map(({ id, passed }) => [id, passed])]).toEqual([
    1,
    [
      ["writes", 2],
      ["other", 0],
    ],
  ]);
  const trials = trialsOf(join(dir, "reports", run));
  const failed = trials.filter(({ cell }) => cell.case === "other").flatMap(({ verdict }) => verdict?.checks ?? []);
  expect(failed.find(({ met }) => met === "no")).toMatchObject({ what: "file: CHANGELOG.md" });
  expect(JSON.stringify(trials)).toContain("Only files under /project can be written: /project/../escaped.md is not.");
  expect(readdirSync(evalsDir).sort()).toEqual(["fixtures", "notes.mjs", "s.yaml"]);
});
