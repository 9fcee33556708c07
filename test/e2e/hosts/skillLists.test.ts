import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { startOfflineProvider } from "../../../src/evals/asking/hosts/offline.ts";
import type { SkillListing } from "../../../src/evals/inspection/skillsReport.ts";
import { evals } from "../evals.ts";
import { needsHost } from "./support.ts";

/** Folders that some host reads, and pairs of which one precedes the other in some host. */
const places = [
  ...[".claude", ".agents", ".codex", ".github", ".copilot", ".gemini", ".goose"],
  ...[".config/goose", ".config/agents"],
];
const pairs = [
  ...[".claude", ".github", ".copilot", ".gemini", ".goose", ".config/goose"].map((other) => [".agents", other]),
  ...[".goose", ".config/goose", ".config/agents"].map((other) => [".claude", other]),
];

/** A home and a workspace, with packages in all places and of all forms that hosts treat in different ways. */
function prepare() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "evals-skill-lists-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  const skill = (path: string, lines: string, body = "# Body of it\n\nDo it.\n") =>
    write(`${path}/SKILL.md`, `---\n${lines}\n---\n\n${body}`);
  const named = (path: string, description: string, more = "") =>
    skill(path, `name: ${path.split("/").at(-1)}\ndescription: ${description}${more}`);
  mkdirSync(join(root, "ws"));
  execFileSync("git", ["init", "--quiet"], { cwd: join(root, "ws") });
  mkdirSync(join(root, "home/.codex"), { recursive: true });
  for (const host of places) {
    const [user, project] = [`home/${host}/skills`, `ws/${host}/skills`];
    const own = host.replaceAll(/[./]/g, "-");
    named(`${user}/of-user${own}`, "In the home folder.");
    named(`${project}/of-project${own}`, "In the project.");
    named(`ws/packages/app/${host}/skills/of-folder${own}`, "In a folder of the project.");
    for (let depth = 2; depth < 9; depth++) named(`${user}/${"d/".repeat(depth - 1)}depth-${depth}`, "Is deep.");
    for (const [at, pair] of pairs.entries())
      if (pair.includes(host))
        for (const folder of [user, project])
          named(`${folder}/${folder === user ? "user" : "project"}-pair-${at}`, `In ${folder}.`);
    named(`${user}/user-only`, "In the home folder.");
    named(`${user}/both`, "The copy of the user.");
    named(`${project}/both`, "The copy of the project.");
    named(`${project}/project-only`, "In the project.");
    skill(`${project}/folder-name`, "name: other-name\ndescription: Has another name than its folder.");
    skill(`${project}/no-name`, "description: Has no name.");
    skill(`${project}/number-name`, "name: 42\ndescription: Has a number as name.");
    skill(`${project}/number-text`, "name: number-text\ndescription: 42");
    skill(`${project}/no-text`, "name: no-text");
    skill(`${project}/null-text`, "name: null-text\ndescription:", "\nFirst line.\nSecond line.\n");
    skill(`${project}/no-words`, "name: no-words", "");
    skill(`${project}/long-body`, "name: long-body", "word ".repeat(100));
    skill(`${project}/list-text`, "name: list-text\ndescription: [a, b]");
    named(`${project}/colon`, "Use when: it has a colon.");
    named(`${project}/bracket`, "[not closed");
    skill(`${project}/lines`, "name: lines\ndescription: |\n  Two lines\n  of text.");
    write(`${project}/no-front/SKILL.md`, "# A heading\n\nText.\n");
    write(`${project}/open-front/SKILL.md`, "---\nname: open-front\ndescription: Not closed.\n# Body\n");
    write(`${project}/mark/SKILL.md`, "\uFEFF---\nname: mark\ndescription: Has a byte order mark.\n---\n");
    write(`${project}/returns/SKILL.md`, "---\r\nname: returns\r\ndescription: Has carriage returns.\r\n---\r\n");
    write(`${project}/lower/skill.md`, "---\nname: lower\ndescription: The file's name is in lower case.\n---\n");
    write(`${project}/flat.md`, "---\nname: flat\ndescription: Has no folder.\n---\n");
    named(`${project}/.dotted`, "Is in a folder with a dot.");
    named(`${project}/node_modules`, "Is in a folder of packages.");
    named(`${project}/group/in-group`, "Is in a folder of folders.");
    named(`${project}/disabled`, "Is for users.", "\ndisable-model-invocation: true");
    named(`${project}/disabled-yes`, "Is for users.", "\ndisable-model-invocation: yes");
    named(`${project}/enabled`, "Is for all.", "\ndisable-model-invocation: no");
    named(`${project}/not-for-users`, "Is for models.", "\nuser-invocable: false");
    named(`${project}/situation`, "Does it.", "\nwhen_to_use: When it is asked for.");
    named(`${project}/for-files`, "Is for some files.", "\npaths: src/**");
    named(`${project}/for-all-files`, "Is for all files.", '\npaths: ["**"]');
    named(`${project}/turned-off`, "Is turned off.");
    named(`${project}/name-only`, "Is shown by name.");
    named(`${project}/no-policy`, "Has an agent file.");
    write(`${project}/no-policy/agents/openai.yaml`, "policy:\n  allow_implicit_invocation: true\n");
    named(`${project}/policy`, "Is closed by an agent file.");
    write(`${project}/policy/agents/openai.yaml`, "policy:\n  allow_implicit_invocation: false\n");
    named(`elsewhere/${host}/linked`, "Is elsewhere.");
    symlinkSync(join(root, `elsewhere/${host}/linked`), join(root, project, "linked"));
    symlinkSync(join(root, "nowhere"), join(root, project, "dangling"));
    named(`ws/packages/app/${host}/skills/nested`, "In a folder of the project.");
    named(`ws/packages/app/${host}/skills/project-only`, "The copy of the nested folder.");
    named(`${host}/skills/above`, "Above the repository.");
  }
  for (const at of ["home", "ws", "ws/packages/app"]) named(`${at}/.codex/skills/codex-${at.length}`, "Is for Codex.");
  const json = (path: string, value: unknown) => write(path, JSON.stringify(value));
  const plugins = "home/.claude/plugins";
  const cached = (market: string, name: string) => `${plugins}/cache/${market}/${name}/1.0.0`;
  const where = { kit: cached("shop", "kit"), off: cached("shop", "off"), here: `market/plugins/here` };
  for (const [name, dir] of Object.entries({ ...where, solo: cached("shop", "solo") }))
    json(`${dir}/.claude-plugin/plugin.json`, { name, version: "1.0.0", ...(name === "kit" && { skills: "./extra" }) });
  named(`${where.kit}/skills/tool`, "Is in a plugin.");
  skill(`${where.kit}/skills/tool-folder`, "name: tool-name\ndescription: Has another name than its folder.");
  skill(`${where.kit}/skills/no-text`, "name: no-text");
  named(`${where.kit}/skills/disabled`, "Is for users.", "\ndisable-model-invocation: true");
  named(`${where.kit}/extra/more`, "Is in a folder that the plugin names.");
  named(`${where.off}/skills/unseen`, "Is in a plugin that is off.");
  named(`${where.here}/skills/local`, "Is in a plugin of a folder.");
  skill(cached("shop", "solo"), "name: alone\ndescription: The plugin is the package.");
  json("market/.claude-plugin/marketplace.json", {
    ...{ name: "near", owner: { name: "Me" } },
    plugins: [{ name: "here", source: "./plugins/here", description: "Here." }],
  });
  const offers = (name: string) => ({
    name,
    source: { source: "url", url: "https://plugins.test" },
    description: name,
  });
  json("shop/.claude-plugin/marketplace.json", {
    ...{ name: "shop", owner: { name: "Me" }, plugins: ["kit", "off", "solo"].map(offers) },
  });
  const dated = { lastUpdated: "2026-01-01T00:00:00.000Z" };
  json(`${plugins}/known_marketplaces.json`, {
    shop: { ...dated, source: { source: "github", repo: "x/y" }, installLocation: join(root, "shop") },
    near: {
      ...dated,
      source: { source: "directory", path: join(root, "market") },
      installLocation: join(root, "market"),
    },
  });
  const install = (path: string) => {
    return [
      { ...dated, scope: "user", installPath: join(root, path), version: "1.0.0", installedAt: dated.lastUpdated },
    ];
  };
  json(`${plugins}/installed_plugins.json`, {
    version: 2,
    plugins: {
      "kit@shop": install(where.kit),
      "off@shop": install(where.off),
      "solo@shop": install(cached("shop", "solo")),
      "here@near": install(cached("near", "here")),
      "unlisted@shop": install(where.kit),
    },
  });
  json("home/.claude/settings.json", {
    enabledPlugins: { "kit@shop": true, "off@shop": true, "solo@shop": true, "here@near": true, "unlisted@shop": true },
    skillOverrides: { "turned-off": "on", "user-only": "on" },
  });
  json("ws/.claude/settings.json", {
    enabledPlugins: { "off@shop": false },
    skillOverrides: { "turned-off": "off", "project-only": "off", "name-only": "name-only" },
  });
  json("ws/.claude/settings.local.json", { skillOverrides: { "project-only": "on" } });
  return root;
}

/** The lines by which `evals skills list` says that a host names and describes skills. */
async function list(host: string, root: string, cwd: string): Promise<string[]> {
  const { out, code } = await evals(["skills", "list", "--host", host, "--json"], {
    cwd: join(root, cwd),
    env: { HOME: join(root, "home") },
  });
  expect(code).toBe(0);
  const { skills } = JSON.parse(out) as SkillListing;
  const label = ({ name, declared }: SkillListing["skills"][number]) =>
    declared === undefined ? name : `${name} (${declared})`;
  return skills.map((one) => (one.description === "" ? label(one) : `${label(one)}: ${one.description}`)).sort();
}

/** The prompt that a program sends to its provider. */
async function capture(
  root: string,
  cwd: string,
  open: (url: string) => { program: string; args: string[]; env: Record<string, string> },
): Promise<string> {
  const provider = await startOfflineProvider();
  onTestFinished(() => provider.close());
  const { program, args, env } = open(provider.url);
  const child = spawn(program, args, {
    cwd: join(root, cwd),
    env: { PATH: process.env.PATH, HOME: join(root, "home"), ...env },
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stdin.end("Please do it.");
  const [errors] = await Promise.all([text(child.stderr), once(child, "close")]);
  const [body] = provider.bodies;
  if (body === undefined) throw new Error(`it asked for nothing: ${errors}`);
  return body.replaceAll("\\n", "\n").replaceAll('\\"', '"');
}

const folders = ["ws", "ws/packages/app", "home"];

describe("evals skills list --host claude-code", () => {
  const program = needsHost("claude-code");

  it.each(folders)("lists what Claude Code shows to its model in %s", async (cwd) => {
    const root = prepare();
    const prompt = await capture(root, cwd, (url) => ({
      program: program(),
      args: ["-p", "--output-format", "json", "--model", "claude-sonnet-5-5"],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "offline-key",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
        DISABLE_AUTOUPDATER: "1",
        // All descriptions in full: the limit of the whole list is measured elsewhere.
        SLASH_COMMAND_TOOL_CHAR_BUDGET: "1000000",
      },
    }));
    const [, shown = ""] = /skills are available for use with the Skill tool:\n\n([\s\S]*?)\n\n/.exec(prompt) ?? [];
    const lines = shown.split("\n").map((line) => line.replace(/^- /, ""));
    // The only skill that it brings along and cannot be turned off.
    expect(lines.filter((line) => !line.startsWith("plugin-authoring: ")).sort()).toEqual(
      await list("claude-code", root, cwd),
    );
    expect(lines.length).toBeGreaterThan(cwd === "home" ? 5 : 30);
  });
});

describe("evals skills list --host codex", () => {
  const program = needsHost("codex");

  it.each(folders)("lists what Codex shows to its model in %s", async (cwd) => {
    const root = prepare();
    const prompt = await capture(root, cwd, (url) => {
      const config = [
        ...['model = "gpt-5.5"', 'model_provider = "offline"', "check_for_update_on_startup = false"],
        ...["[analytics]", "enabled = false", "[features]", "plugins = false", "[model_providers.offline]"],
        ...['name = "OpenAI"', `base_url = "${url}/v1"`, 'env_key = "OPENAI_API_KEY"', 'wire_api = "responses"'],
        ...[`[projects."${join(root, "ws")}"]`, 'trust_level = "trusted"'],
      ];
      writeFileSync(join(root, "home/.codex/config.toml"), config.join("\n"));
      return {
        program: program(),
        args: ["exec", "--json", "--skip-git-repo-check", "-"],
        env: { OPENAI_API_KEY: "offline-key" },
      };
    });
    const [, shown = ""] = /### Available skills\n([\s\S]*?)\n###/.exec(prompt) ?? [];
    const [, system] = /`(r\d+)` = `[^`]*\/\.system`/.exec(prompt) ?? [];
    const lines = shown.split("\n").flatMap((line) => {
      const [, label, place] = /^- (.*) \(file: (r\d+)\/[^)]*\)$/.exec(line) ?? [];
      return label === undefined || place === system ? [] : [label];
    });
    expect(lines.sort()).toEqual(await list("codex", root, cwd));
    expect(lines.length).toBeGreaterThan(cwd === "home" ? 2 : 20);
  });
});

const others = {
  copilot: {
    args: [
      ...["-p", "Please do it.", "--output-format", "json", "--allow-all-tools", "--no-ask-user"],
      ...["--disable-builtin-mcps", "--no-remote"],
    ],
    env: (url: string) => ({
      ...{ COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false", COPILOT_PROVIDER_BASE_URL: `${url}/v1` },
      ...{ COPILOT_PROVIDER_TYPE: "openai", COPILOT_PROVIDER_WIRE_API: "responses", COPILOT_MODEL: "gpt-5.4" },
      COPILOT_PROVIDER_API_KEY: "sk-offline-0123456789abcdef",
    }),
    listing: /<skill>\s*<name>(.*?)<\/name>\s*<description>([\s\S]*?)<\/description>/g,
    ownSkills: ["customize-cloud-agent", "github-pr-media"],
  },
  goose: {
    args: ["run", "-i", "-", "--output-format", "stream-json", "--no-session"],
    env: (url: string) => ({
      ...{ GOOSE_PROVIDER: "anthropic", GOOSE_MODEL: "claude-sonnet-5-5", GOOSE_MODE: "auto" },
      ...{ ANTHROPIC_HOST: url, ANTHROPIC_API_KEY: "sk-offline-0123456789", GOOSE_TELEMETRY_ENABLED: "false" },
      ...{ GOOSE_DISABLE_KEYRING: "1", GOOSE_DISABLE_SESSION_NAMING: "true" },
    }),
    listing: /^• (.*?) - ([\s\S]*?)(?=\n•|\n#)/gm,
    ownSkills: ["goose-doc-guide", "web-search"],
  },
  "gemini-cli": {
    args: ["-o", "stream-json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro"],
    env: (url: string) => ({
      ...{ GEMINI_API_KEY: "offline-key", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" },
      ...{ GEMINI_CLI_NO_RELAUNCH: "true", NO_BROWSER: "1", CI: "1" },
    }),
    listing: /<skill>\s*<name>(.*?)<\/name>\s*<description>([\s\S]*?)<\/description>/g,
    ownSkills: ["skill-creator", "antigravity-support"],
  },
};

/** Packages outside of the format, which these hosts read each in another way, and `skills list` as the format says. */
const malformed = new Set([
  ...["bracket", "colon", "list-text", "long-body", "mark", "no-name", "no-text", "no-words", "null-text"],
  ...["42", "number-text"],
]);

/** What these hosts unpack at their first start, for all tests here. */
const cache = mkdtempSync(join(tmpdir(), "evals-host-cache-"));
afterAll(() => rmSync(cache, { recursive: true, force: true, maxRetries: 3 }));

describe.each(["copilot", "goose", "gemini-cli"] as const)("evals skills list --host %s", (host) => {
  const program = needsHost(host);

  it.each(["ws", "ws/packages/app"])("lists what it shows to its model in %s", async (cwd) => {
    const root = prepare();
    const { args, env, listing, ownSkills } = others[host];
    const settings = {
      ...{
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        skills: { enabled: true },
      },
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    };
    writeFileSync(join(root, "home/.gemini/settings.json"), JSON.stringify(settings));
    const prompt = await capture(root, cwd, (url) => {
      const isScript = program().endsWith(".js");
      return {
        program: isScript ? process.execPath : program(),
        args: [...(isScript ? [program()] : []), ...args],
        env: { ...env(url), XDG_CACHE_HOME: cache },
      };
    });
    const shown = [...prompt.matchAll(listing)].flatMap(([, name = "", text = ""]) =>
      ownSkills.includes(name) ? [] : [`${name}: ${text.replaceAll(/\s+/g, " ").trim()}`],
    );
    const isCompared = (line: string) => !malformed.has(line.slice(0, line.indexOf(":")));
    expect(shown.filter(isCompared).sort()).toEqual((await list(host, root, cwd)).filter(isCompared));
    expect(shown.length).toBeGreaterThan(10);
  });
});
