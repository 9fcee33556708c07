import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { findEntry, hostFileTitles, isHostFile, listEnabled, readHostFile } from "../../src/evals/input/hostFiles.ts";
import { resolveServer } from "../../src/evals/servers/spec.ts";
import { makeFolder } from "../fakes/folder.ts";

const dir = makeFolder();

const env = { HOME: "/home/ada", USERPROFILE: "/home/ada", TOKEN: "t0ken", GITHUB_PAT: "pat" };

function write(name: string, content: string | object): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** What a server of a host's file is started or reached by, without the folder of the test, and what is said about it. */
async function resolveIn(name: string, content: string | object, server = "s", given: object = env) {
  const path = write(name, content);
  const { spec, warnings, ...rest } = await resolveServer({ config: path, name: server }, server, "/", {
    env: given as typeof env,
  });
  const hide = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(dir, "DIR"));
  return hide({
    spec,
    dir: rest.dir,
    warnings: warnings.map(({ message, hint }) => [message, hint].filter(Boolean).join(" ")),
  });
}

const program = { command: "node", args: ["a.mjs"] };

describe("an entry of a host", () => {
  it.each<[what: string, file: string, content: string | object, spec: object]>([
    [
      "Claude Code",
      ".mcp.json",
      { mcpServers: { s: { ...program, env: { K: `\${TOKEN}`, N: `\${NO:-n}` } } } },
      { ...program, env: { K: "t0ken", N: "n" } },
    ],
    ...[".mcp.json", ".claude-plugin/plugin.json"].map((file): [string, string, object, object] => [
      `a plugin of Claude Code, ${file}`,
      file,
      { name: "p", mcpServers: { s: { command: `\${CLAUDE_PLUGIN_ROOT}/run`, args: [`\${CLAUDE_PROJECT_DIR}/x`] } } },
      { command: "DIR/run", args: ["DIR/x"] },
    ]),
    [
      "VS Code",
      ".vscode/mcp.json",
      `{ // servers
      "inputs": [{ "id": "github-pat", "type": "promptString" }, { "id": "level", "type": "pickString", "default": "low" }],
      "servers": { "s": { "type": "stdio", "command": "\${workspaceFolder}/bin/\${workspaceFolderBasename}", "args": ["\${userHome}\${pathSeparator}x\${/}y"],
        "env": { "PAT": "\${input:github-pat}", "LEVEL": "\${input:level}", "T": "\${env:TOKEN}", "PORT": 8080, "NONE": null }, "envFile": "\${workspaceFolder}/.env" }, } }`,
      {
        command: "DIR/bin/PROJECT",
        args: ["/home/ada/x/y"],
        env: { FROM_FILE: "1", PAT: "pat", LEVEL: "low", T: "t0ken", PORT: "8080" },
      },
    ],
    ...["mcp", "mcp.", "settings.mcp.", "customizations.vscode.mcp."].map((key): [string, string, object, object] => {
      const ids = [{ id: "level", default: "low" }];
      const registered = { s: { ...program, env: { LEVEL: `\${input:level}` } } };
      const nest = (steps: string[], value: object): object =>
        steps.reduceRight((inside, step) => ({ [step]: inside }), value);
      const content = key.endsWith(".")
        ? { "editor.fontSize": 12, ...nest(key.split(".").slice(0, -1), { inputs: ids, servers: registered }) }
        : { "editor.fontSize": 12, "mcp.inputs": ids, "mcp.servers": registered };
      return [`VS Code, ${key}`, ".vscode/settings.json", content, { ...program, env: { LEVEL: "low" } }];
    }),
    [
      "Cursor",
      ".cursor/mcp.json",
      { mcpServers: { s: { url: "https://a.example/mcp", headers: { Authorization: `Bearer \${env:TOKEN}` } } } },
      { url: "https://a.example/mcp", transport: "http", headers: { Authorization: "Bearer t0ken" } },
    ],
    [
      "Gemini CLI, HTTP",
      ".gemini/settings.json",
      {
        theme: "x",
        mcpServers: { s: { httpUrl: "https://a.example/mcp", headers: { K: "$TOKEN" }, timeout: 5000, trust: true } },
      },
      { url: "https://a.example/mcp", transport: "http", headers: { K: "t0ken" } },
    ],
    [
      "Gemini CLI, filters",
      ".gemini/settings.json",
      { mcpServers: { s: { ...program, includeTools: ["a", "b"], excludeTools: ["b"] } } },
      { ...program, listed: { only: ["a", "b"], except: ["b"] } },
    ],
    [
      "Codex, a program",
      ".codex/config.toml",
      'model = "x"\n[mcp_servers.s]\ncommand = "node"\nargs = ["a.mjs"]\nenv_vars = ["TOKEN"]\nstartup_timeout_sec = 20\nenabled_tools = ["a"]\n[mcp_servers.s.env]\nK = "v"\n',
      { ...program, env: { K: "v", TOKEN: "t0ken" }, listed: { only: ["a"] } },
    ],
    [
      "Codex, a URL",
      ".codex/config.toml",
      '[mcp_servers.s]\nurl = "https://a.example/mcp"\nbearer_token_env_var = "TOKEN"\nhttp_headers = { A = "b" }\nenv_http_headers = { C = "GITHUB_PAT" }\ndisabled_tools = ["x"]\n',
      {
        url: "https://a.example/mcp",
        transport: "http",
        headers: { A: "b", C: "pat", Authorization: "Bearer t0ken" },
        listed: { except: ["x"] },
      },
    ],
    [
      "opencode, local",
      "opencode.json",
      { mcp: { s: { type: "local", command: ["node", "a.mjs"], environment: { K: "{env:TOKEN}" }, enabled: true } } },
      { ...program, env: { K: "t0ken" } },
    ],
    [
      "opencode, remote",
      "opencode.jsonc",
      { mcp: { s: { type: "remote", url: "https://a.example/mcp" } } },
      { url: "https://a.example/mcp", transport: "http" },
    ],
    [
      "opencode, a server of VS Code's key",
      "opencode.json",
      {
        mcp: {
          servers: { type: "local", command: ["node", "a.mjs"] },
          s: { type: "local", command: ["node", "a.mjs"] },
        },
      },
      program,
    ],
    ["Zed", ".zed/settings.json", { context_servers: { s: { source: "custom", ...program } } }, program],
    [
      "Zed, before",
      ".zed/settings.json",
      { context_servers: { s: { command: { path: "node", args: ["a.mjs"] }, settings: {} } } },
      program,
    ],
    [
      "goose, a program",
      "goose/config.yaml",
      "extensions:\n  s: { type: stdio, cmd: node, args: [a.mjs], envs: { K: v }, env_keys: [TOKEN], timeout: 300, enabled: true, available_tools: [] }\n",
      { ...program, env: { K: "v", TOKEN: "t0ken" } },
    ],
    [
      "goose, a URL",
      "goose/config.yaml",
      "extensions:\n  s: { type: streamable_http, uri: 'https://a.example/mcp', available_tools: [a] }\n",
      { url: "https://a.example/mcp", transport: "http", listed: { only: ["a"] } },
    ],
    [
      "Continue",
      ".continue/config.yaml",
      `mcpServers:\n  - name: other\n    command: x\n  - name: s\n    type: sse\n    url: https://a.example/sse\n    requestOptions: { headers: { K: '\${{ secrets.TOKEN }}' } }\n`,
      { url: "https://a.example/sse", transport: "sse", headers: { K: "t0ken" } },
    ],
    [
      "Windsurf",
      "mcp_config.json",
      { mcpServers: { s: { serverUrl: "https://a.example/mcp", disabledTools: ["x"] } } },
      { url: "https://a.example/mcp", transport: "http", listed: { except: ["x"] } },
    ],
    [
      "Copilot CLI",
      ".copilot/mcp-config.json",
      { mcpServers: { s: { type: "local", ...program, env: { K: "$TOKEN" }, tools: ["*"] } } },
      { ...program, env: { K: "t0ken" } },
    ],
    [
      "Cline and Roo Code",
      ".roo/mcp.json",
      {
        mcpServers: {
          s: { type: "streamable-http", url: "https://a.example/mcp", alwaysAllow: ["x"], disabled: false },
        },
      },
      { url: "https://a.example/mcp", transport: "http" },
    ],
  ])("%s is read as what the host starts", async (_, file, content, spec) => {
    write(".env", "FROM_FILE=1\n# no\nLEVEL=other\n");
    const resolved = await resolveIn(file, content);
    const project = dir.split("/").at(-1) ?? "";
    expect(JSON.parse(JSON.stringify(resolved).replaceAll(project, "PROJECT"))).toEqual({
      spec,
      dir: expect.any(String),
      warnings: [],
    });
  });

  it("in a folder of a host is started in the folder of the project", async () => {
    for (const file of [".vscode/mcp.json", ".kiro/settings/mcp.json", ".codex/config.toml"]) {
      const content = file.endsWith("toml") ? '[mcp_servers.s]\ncommand = "x"' : { mcpServers: { s: program } };
      expect((await resolveIn(file, content)).dir).toBe("DIR");
    }
  });

  it("names what is not supported, and passes on no text of it", async () => {
    const servers = {
      input: { ...program, env: { K: `\${input:api-key}` } },
      helper: { url: "https://a.example/mcp", headersHelper: "./headers.sh", oauth: { clientId: "x" } },
    };
    const inputs = [{ id: "api-key", description: "Key of the service" }];
    expect(await resolveIn(".vscode/mcp.json", { inputs, servers }, "input")).toEqual({
      spec: { ...program, env: {} },
      dir: "DIR",
      warnings: [
        'Server "input" uses the input "api-key" (Key of the service) that its host asks for. Set it as API_KEY.',
      ],
    });
    expect((await resolveIn(".mcp.json", { mcpServers: servers }, "helper")).warnings).toEqual([
      'Server "helper": "headersHelper" is not supported, and is ignored.',
      'Server "helper": "oauth" is not supported, and is ignored.',
    ]);
  });

  it.each([
    [
      ".vscode/mcp.json",
      { servers: { s: { command: `\${command:pick}` } } },
      `uses \${command:pick}, which only its host can fill in`,
    ],
    [
      "opencode.json",
      { mcp: { s: { type: "remote", url: "https://a.example", headers: { K: "{file:~/key}" } } } },
      "uses {file:~/key}",
    ],
    ["goose/config.yaml", "extensions:\n  s: { type: builtin, name: developer }\n", 'Server "s" is malformed'],
  ])("that only its host can use is refused: %s", async (file, content, message) => {
    await expect(resolveIn(file, content)).rejects.toThrow(message);
  });

  it("of a TOML file with an error is refused at its line", async () => {
    write("config.toml", '[mcp_servers.s]\ncommand = "x\n');
    const error = await readHostFile("config.toml", dir, "config.toml").catch((one) => one);
    expect(error).toBeInstanceOf(EvalsError);
    expect(error.message).toMatch(/^config\.toml:2:\d+: error: .*Invalid TOML document/);
  });
});

describe("the servers that Claude Code keeps for projects", () => {
  const [here, below, outside] = [join(dir, "here"), join(dir, "here/deep/er"), join(dir, "outside")];
  const read = (content: object, from: string) =>
    readHostFile(write("home/.claude.json", content), from, "claude.json");
  const listIn = async (content: object, from: string) =>
    [...(await read(content, from)).entries].map(([name, one]) => [name, one.entry, one.dir]);
  const [mine, other] = [
    { ...program, env: {} },
    { command: "other", args: [] },
  ];
  const content = {
    mcpServers: { user: other, mine: other },
    projects: { [here]: { mcpServers: { mine } }, [dir]: { mcpServers: { far: other } }, [outside]: { history: [] } },
  };

  it("are those of the nearest folder, before those of the user, and start there", async () => {
    const user = ["user", other, join(dir, "home")];
    for (const from of [here, below]) expect(await listIn(content, from)).toEqual([user, ["mine", mine, here]]);
    expect(await listIn(content, join(dir, "hereafter"))).toContainEqual(["far", other, dir]);
    expect(await listIn(content, outside)).toEqual([user, ["mine", other, join(dir, "home")]]);
  });

  it("have their place in the file", async () => {
    const error = await resolveServer(
      { config: write("c.json", { projects: { [dir]: { mcpServers: { s: 5 } } } }), name: "s" },
      "s",
      dir,
      { env },
    ).catch((one) => one);
    expect(error.message).toMatch(/c\.json:1:\d\d+: error: Server "s" is malformed/);
  });

  it("of other projects are named where they are asked for, or nothing else is there", async () => {
    const { projects } = content;
    expect(isHostFile({ projects })).toBe(true);
    expect(isHostFile({ projects: { [outside]: {}, x: null, y: [1] } })).toBe(false);
    const only = await read({ mcpServers: {}, projects }, "/elsewhere").catch((one) => one);
    expect(only.message).toContain(`The file registers servers for other projects only: ${here}, ${dir}.`);
    const found = await read(content, outside);
    expect(() => findEntry(found, "far")).toThrow(
      `It is registered for another project: ${dir}. Registered: user, mine.`,
    );
  });
});

// As Claude Code 2.1.330 and Gemini CLI 0.61.0 do, where they are started in a folder with these files.
describe("the servers that a user turned off by name", () => {
  const [a, b, c] = [program, program, program];
  const enabledOf = async (file: string, content: object) =>
    listEnabled(await readHostFile(write(file, content), join(dir, "off")));

  it("are off in the project for which Claude Code keeps them, whoever registered them", async () => {
    const projects = {
      [join(dir, "off")]: { mcpServers: { b, c }, disabledMcpServers: ["a", "c", "gone", 5] },
      [dir]: { disabledMcpServers: ["b"] },
    };
    expect(await enabledOf("home/.claude.json", { mcpServers: { a, d: a }, projects })).toEqual(["d", "b"]);
    projects[join(dir, "off")] = { mcpServers: { b, c }, disabledMcpServers: "b" as never };
    expect(await enabledOf("home/.claude.json", { mcpServers: { a }, projects })).toEqual(["a", "b", "c"]);
  });

  it("are off in .mcp.json by the settings that the project commits, and can be named nevertheless", async () => {
    write("off/.claude/settings.json", { disabledMcpjsonServers: ["b"], enabledMcpjsonServers: ["a"] });
    write("off/.claude/settings.local.json", { disabledMcpjsonServers: ["a"] });
    const content = { mcpServers: { a, b, c } };
    expect(await enabledOf("off/.mcp.json", content)).toEqual(["a", "c"]);
    expect(await enabledOf("off/.cursor/mcp.json", content)).toEqual(["a", "b", "c"]);
    expect((await resolveIn("off/.mcp.json", content, "b")).spec).toEqual(program);
    write("off/.claude/settings.json", "{ oops");
    expect(await enabledOf("off/.mcp.json", content)).toEqual(["a", "b", "c"]);
  });

  it.each([
    [{ excluded: ["b"] }, ["a", "c"]],
    [{ allowed: ["a", "b"], excluded: ["b"] }, ["a"]],
    [{ allowed: "a" }, ["a", "b", "c"]],
  ])("are off by %j of Gemini CLI", async (mcp, enabled) => {
    expect(await enabledOf("off/.gemini/settings.json", { mcpServers: { a, b, c }, mcp })).toEqual(enabled);
  });
});

it("the documentation names each host whose files are read", () => {
  const page = readFileSync(new URL("../../docs/suites.md", import.meta.url), "utf8");
  expect(hostFileTitles.filter((title) => !page.includes(title))).toEqual([]);
});
