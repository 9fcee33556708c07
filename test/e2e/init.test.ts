import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { evals, summaryOf } from "./evals.ts";

const root = join(import.meta.dirname, "../..");

/** A project with the server of the documentation, and no suite. */
let cwd = "";
beforeEach(() => {
  cwd = makeFolder();
  for (const part of ["server.mjs", "notes", ".mcp.json"])
    cpSync(join(root, "docs/example", part), join(cwd, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
});
/** What is printed, without the model servers that happen to run on this machine. */
const withoutLocal = (out: string) => out.replace(/^ {2}.* runs on this machine.*\n.*\n/gm, "");
const read = (file: string) => readFileSync(join(cwd, file), "utf8");

describe("evals init", () => {
  it("writes a suite that runs for the only server of .mcp.json", async () => {
    mkdirSync(join(cwd, ".git"));
    const env = { ANTHROPIC_API_KEY: "test" };
    const { code, out, err } = await evals(["init", "--ci", "github"], { cwd, env, width: 80 });
    expect({ code, out: withoutLocal(out), err }).toMatchSnapshot();
    expect(read("evals/notes.yaml")).toMatchSnapshot();
    expect(read(".gitignore")).toBe("/reports/\n");
    expect(read(".github/workflows/evals.yml")).toContain("uses: ./node_modules/tool-evals");
    const ran = await evals(["run", "--json"], { cwd });
    expect(summaryOf(ran).totals).toMatchObject({ trials: 8, passed: 8 });
    const shown = await evals(["run"], { cwd });
    expect([shown.code, shown.out]).toEqual([
      0,
      expect.stringMatching(/^NOT REVIEWED · a keyword search says nothing about 8 drafted queries · lexical-2\n/),
    ]);
    // One that is reviewed is asked.
    writeFileSync(
      join(cwd, "evals/notes.yaml"),
      read("evals/notes.yaml").replace("unreviewed: [ search_notes, ", "unreviewed: [ "),
    );
    expect((await evals(["run"], { cwd })).out).toMatch(/^SMOKE CHECK · .* 8 of 8 cases(.|\n)*Not reviewed: 7 of 8 /);
  });

  it("writes the workflow alone for a project that has suites and names no server", async () => {
    await evals(["init", "--server", "node server.mjs"], { cwd });
    const drafted = read("evals/notes.yaml");
    rmSync(join(cwd, ".mcp.json"));
    const { code, out } = await evals(["init", "--ci", "github"], { cwd });
    expect({ code, out }).toMatchSnapshot();
    expect([read("evals/notes.yaml"), readdirSync(join(cwd, "evals"))]).toEqual([drafted, ["notes.yaml"]]);
    expect((await evals(["init", "--ci", "github"], { cwd })).err).toMatchInlineSnapshot(`
      "error: .github/workflows/evals.yml exists already, and is kept.
        Remove it first, or leave out --ci.
      "
    `);
  });

  it("takes a command line, relative to the project", async () => {
    const { code } = await evals(["init", "node server.mjs", "--file", "tests/evals/mine.yaml"], { cwd });
    expect(code).toBe(0);
    expect(read("tests/evals/mine.yaml")).toContain("server: { command: node, args: [ server.mjs ], cwd: ../.. }");
    expect((await evals(["run", "tests/evals", "--json"], { cwd })).code).toBe(0);
  });

  it("names the entry of a host where another program of its name is found", async () => {
    mkdirSync(join(cwd, "bin"));
    writeFileSync(join(cwd, "bin/notes"), "#!/bin/sh\necho usage: notes >&2\nexit 1\n", { mode: 0o755 });
    const env = { PATH: `${join(cwd, "bin")}:${process.env.PATH}` };
    const { code, err } = await evals(["init", "--server", "notes"], { cwd, env });
    expect([code, err]).toEqual([3, expect.stringContaining('Server "notes" exited with code 1.')]);
    expect(err).toContain('.mcp.json has a server "notes": use --config .mcp.json --name notes for that one.');
    expect((await evals(["init", "--config", ".mcp.json", "--name", "notes"], { cwd })).code).toBe(0);
  });

  it("overwrites nothing", async () => {
    mkdirSync(join(cwd, "evals"));
    writeFileSync(join(cwd, "evals/notes.yaml"), "mine");
    const shown = await evals(["init"], { cwd });
    expect([shown.code, read("evals/notes.yaml")]).toEqual([0, "mine"]);
    expect(shown.out).toContain("notes 1.0.0 · 3 tools");
    expect(shown.out).toContain("Kept evals/notes.yaml. Draft another suite with --file.");
    const { code, err } = await evals(["init", "--file", "evals/notes.yaml"], { cwd });
    expect([code, read("evals/notes.yaml")]).toEqual([2, "mine"]);
    expect(err).toContain("evals/notes.yaml exists already, and is kept.\n  Name another file with --file.");
    expect(existsSync(join(cwd, ".gitignore"))).toBe(false);
  });

  it("takes a list in a file, and the server of package.json", async () => {
    rmSync(join(cwd, ".mcp.json"));
    const manifest = { bin: "server.mjs", dependencies: { "@modelcontextprotocol/sdk": "1" } };
    writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
    expect((await evals(["init"], { cwd })).err).toContain('Using the server "node server.mjs".');
    writeFileSync(join(cwd, "list.json"), (await evals(["tools", "node server.mjs", "--json"], { cwd })).out);
    expect((await evals(["init", "list.json"], { cwd })).code).toBe(0);
    expect(read("evals/list.yaml")).toContain("server: { tools: ../list.json }");
    expect((await evals(["init", "evals/list.yaml"], { cwd })).err).toContain('"evals/list.yaml" is a suite already.');
  });

  it("drafts queries for skills, which pass lint, and keeps those that there are", async () => {
    rmSync(join(cwd, ".mcp.json"));
    const describe = (name: string, description: string, folder = ".claude/skills") => {
      mkdirSync(join(cwd, folder, name), { recursive: true });
      const text = `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\n1. Read all of it.\n`;
      writeFileSync(join(cwd, folder, name, "SKILL.md"), text);
    };
    describe("release-notes", "Writes release notes from commits. Use when the user asks for a changelog.");
    describe("minutes", "Write the minutes of a meeting. Use when the user pastes a transcript of a meeting.");
    const { code, out } = await evals(["init"], { cwd, width: 1000 });
    expect(code).toBe(0);
    expect(out).toMatch(
      /Drafted evals\/evals\.json of 2 skills: 11 queries, .* Review them with `evals queries \.claude\/skills`\./,
    );
    const { evals: queries } = JSON.parse(read(".claude/skills/minutes/evals/evals.json"));
    expect(queries.map(({ should_trigger }: { should_trigger: boolean }) => should_trigger)).toContain(false);
    const linted = await evals(["lint", ".claude/skills", "--json"], { cwd });
    const findings = JSON.parse(linted.out).findings as { location: { file?: string }; severity: string }[];
    expect(findings.filter(({ location }) => location.file?.endsWith("evals.json"))).toEqual([]);
    expect(summaryOf(await evals(["run", ".claude/skills", "--json"], { cwd })).totals.trials).toBe(11);
    expect((await evals(["run"], { cwd })).out).toContain(
      "NOT REVIEWED · a keyword search says nothing about 11 drafted",
    );
    expect((await evals(["init", ".claude/skills"], { cwd })).out).toContain("Kept the queries of 2 skills.");
    describe("pdf", "Merges PDF files. Use when the user has several.", "skills");
    expect((await evals(["init"], { cwd })).out).toMatch(
      /Drafted evals\/evals\.json of 1 skill:[^$]* `evals\s+queries\s+skills`/,
    );
  });

  it("asks for a name where there are several servers, and for a server where there is none", async () => {
    const server = { command: "node", args: ["server.mjs"], env: { TOKEN: "secret" } };
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { a: server, b: server } }));
    expect((await evals(["init"], { cwd })).err).toMatchInlineSnapshot(`
      "error: There are 2 servers: "a" (.mcp.json), "b" (.mcp.json).
        Name one with --name, for example --name a.
      "
    `);
    expect((await evals(["init", "--name", "c"], { cwd })).err).toMatchInlineSnapshot(`
      ".mcp.json:1:15: error: No server "c" is registered in this file.
        Did you mean "a"? Registered: a, b.
      "
    `);
    expect((await evals(["init", "--name", "b"], { cwd })).code).toBe(0);
    rmSync(join(cwd, ".mcp.json"));
    expect((await evals(["init"], { cwd })).err).toMatchInlineSnapshot(`
      "error: No server is named, and none was found in the files of hosts or in package.json.
        Name yours: \`evals init "node dist/server.js"\`, \`evals init https://example.com/mcp\`, or a folder of skills.
      "
    `);
  });

  it("copies no secret of the user's own configuration into the suite", async () => {
    rmSync(join(cwd, ".mcp.json"));
    const home = makeFolder();
    mkdirSync(join(home, ".config/Claude"), { recursive: true });
    const server = { command: "node", args: [join(cwd, "server.mjs")], env: { TOKEN: "secret-value" } };
    writeFileSync(
      join(home, ".config/Claude/claude_desktop_config.json"),
      JSON.stringify({ mcpServers: { notes: server } }),
    );
    const { code } = await evals(["init"], { cwd, env: { HOME: home } });
    expect(code).toBe(0);
    expect(read("evals/notes.yaml")).toMatch(/env: \{ TOKEN: "\$\{TOKEN\}" \}/);
    expect(read("evals/notes.yaml")).not.toContain("secret-value");
  });

  it("drafts a suite that starts the server that Claude Code keeps for the project", async () => {
    rmSync(join(cwd, ".mcp.json"));
    const home = makeFolder();
    const projects = { [cwd]: { mcpServers: { notes: { command: "node", args: ["server.mjs"] } } } };
    writeFileSync(join(home, ".claude.json"), JSON.stringify({ projects }));
    expect((await evals(["init"], { cwd, env: { HOME: home } })).code).toBe(0);
    expect((await evals(["run", "evals/notes.yaml", "--case", "read_note"], { cwd })).code).toBe(0);
  });
});

describe("evals tools", () => {
  it("prints a table, or the list as other commands take it", async () => {
    const table = await evals(["tools", "--server", "node server.mjs"], { cwd });
    expect(table.out).toMatchSnapshot();
    const json = await evals(["tools", "--config", ".mcp.json", "--json"], { cwd });
    writeFileSync(join(cwd, "tools.json"), json.out);
    expect((await evals(["lint", "--tools", "tools.json"], { cwd })).out).toContain("linted 3 tools");
    const again = await evals(["tools", "--tools", "tools.json", "--json"], { cwd });
    expect(JSON.parse(again.out).tools).toEqual(JSON.parse(json.out).tools);
  });

  it("takes a baseline wherever it takes a list", async () => {
    await evals(["init"], { cwd });
    await evals(["run"], { cwd });
    await evals(["baseline", "accept"], { cwd });
    const [name = ""] = readdirSync(join(cwd, "evals/baselines"));
    const file = `evals/baselines/${name}`;
    expect((await evals(["tools", "--tools", file], { cwd })).out).toContain("3 tools");
    expect((await evals(["lint", "--tools", file], { cwd })).out).toContain("linted 3 tools");
    writeFileSync(
      join(cwd, "evals/static.yaml"),
      `server: { tools: baselines/${name} }\ncases: [{ input: Read the note a.md, expect: { tool: read_note } }]\n`,
    );
    expect((await evals(["run", "evals/static.yaml"], { cwd })).code).toBe(0);
  });
});
