import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { evals, summaryOf } from "./evals.ts";

const root = join(import.meta.dirname, "../..");
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A project with the server of the documentation, and no suite. */
let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "evals-init-"));
  folders.push(cwd);
  for (const part of ["server.mjs", "notes", ".mcp.json"])
    cpSync(join(root, "docs/example", part), join(cwd, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
});
const read = (file: string) => readFileSync(join(cwd, file), "utf8");

describe("evals init", () => {
  it("writes a suite that runs for the only server of .mcp.json", async () => {
    mkdirSync(join(cwd, ".git"));
    const { code, out, err } = await evals(["init", "--ci", "github"], { cwd });
    expect({ code, out, err }).toMatchSnapshot();
    expect(read("evals/notes.yaml")).toMatchSnapshot();
    expect(read(".gitignore")).toBe("/reports/\n");
    expect(read(".github/workflows/evals.yml")).toContain("uses: ./node_modules/tool-evals");
    const ran = await evals(["run", "--json"], { cwd });
    expect(summaryOf(ran).totals).toMatchObject({ trials: 5, passed: 5 });
  });

  it("writes the workflow alone for a project that has suites and names no server", async () => {
    await evals(["init", "--server", "node server.mjs"], { cwd });
    const drafted = read("evals/notes.yaml");
    rmSync(join(cwd, ".mcp.json"));
    const { code, out } = await evals(["init", "--ci", "github"], { cwd });
    expect({ code, out }).toMatchInlineSnapshot(`
      {
        "code": 0,
        "out": "Wrote .github/workflows/evals.yml: lint, and run where the secret ANTHROPIC_API_KEY is set, on
        every pull request.

      Next: add the secret ANTHROPIC_API_KEY to the repository, and commit the file.
      ",
      }
    `);
    expect([read("evals/notes.yaml"), readdirSync(join(cwd, "evals"))]).toEqual([drafted, ["notes.yaml"]]);
    expect((await evals(["init", "--ci", "github"], { cwd })).err).toMatchInlineSnapshot(`
      "error: .github/workflows/evals.yml exists already, and is kept.
        Remove it first, or leave out --ci.
      "
    `);
  });

  it("takes a command line, relative to the project", async () => {
    const { code } = await evals(["init", "--server", "node server.mjs", "--file", "tests/evals/mine.yaml"], { cwd });
    expect(code).toBe(0);
    expect(read("tests/evals/mine.yaml")).toContain("server: { command: node, args: [server.mjs], cwd: ../.. }");
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
    const { code, err } = await evals(["init"], { cwd });
    expect([code, read("evals/notes.yaml")]).toEqual([2, "mine"]);
    expect(err).toContain("evals/notes.yaml exists already, and is kept.\n  Name another file with --file.");
    expect(existsSync(join(cwd, ".gitignore"))).toBe(false);
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
      "error: There is no server "c".
        Name one with --name, for example --name a; there are "a" (.mcp.json), "b" (.mcp.json).
      "
    `);
    expect((await evals(["init", "--name", "b"], { cwd })).code).toBe(0);
    rmSync(join(cwd, ".mcp.json"));
    expect((await evals(["init"], { cwd })).err).toMatchInlineSnapshot(`
      "error: No server is named, and no host configuration (.mcp.json, .vscode/mcp.json, .cursor/mcp.json, Claude Desktop) has one.
        Name yours: evals init --server "node dist/server.js", or --url https://example.com/mcp.
      "
    `);
  });

  it("copies no secret of the user's own configuration into the suite", async () => {
    rmSync(join(cwd, ".mcp.json"));
    const home = mkdtempSync(join(tmpdir(), "evals-home-"));
    folders.push(home);
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

  it("says why a server cannot be listed", async () => {
    const { code, err } = await evals(["tools", "--server", "nope"], { cwd });
    expect([code, err]).toEqual([3, expect.stringContaining('there is no program "nope"')]);
  });
});
