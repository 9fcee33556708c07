import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { findProtocol } from "../../../src/evals/asking/hosts/passThrough.ts";
import { startLoopback } from "../../../src/evals/base/network.ts";
import type { SkillListing } from "../../../src/evals/inspection/tools.ts";
import { writeIn } from "../../fakes/folder.ts";
import { evals } from "../evals.ts";

/** Folders that some host reads, and pairs of which one precedes the other in some host. */
const locations = [
  ...[".claude", ".agents", ".codex", ".github", ".copilot", ".gemini", ".goose"],
  ...[".config/goose", ".config/agents"],
];
const pairs = [
  ...[".claude", ".github", ".copilot", ".gemini", ".goose", ".config/goose"].map((other) => [".agents", other]),
  ...[".goose", ".config/goose", ".config/agents"].map((other) => [".claude", other]),
];

/** A home and a workspace, with packages in all places and of all forms that hosts treat in different ways. */
export function prepare() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "evals-skill-lists-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const write = (path: string, content: unknown) => writeIn(root, path, content);
  const skill = (path: string, lines: string, body = "# Body of it\n\nDo it.\n") =>
    write(`${path}/SKILL.md`, `---\n${lines}\n---\n\n${body}`);
  const named = (path: string, description: string, more = "") =>
    skill(path, `name: ${path.split("/").at(-1)}\ndescription: ${description}${more}`);
  mkdirSync(join(root, "ws"));
  execFileSync("git", ["init", "--quiet"], { cwd: join(root, "ws") });
  mkdirSync(join(root, "home/.codex"), { recursive: true });
  for (const host of locations) {
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
  const plugins = "home/.claude/plugins";
  const cached = (market: string, name: string) => `${plugins}/cache/${market}/${name}/1.0.0`;
  const where = { kit: cached("shop", "kit"), off: cached("shop", "off"), here: `market/plugins/here` };
  for (const [name, dir] of Object.entries({ ...where, solo: cached("shop", "solo") }))
    write(`${dir}/.claude-plugin/plugin.json`, {
      name,
      version: "1.0.0",
      ...(name === "kit" && { skills: "./extra" }),
    });
  named(`${where.kit}/skills/tool`, "Is in a plugin.");
  skill(`${where.kit}/skills/tool-folder`, "name: tool-name\ndescription: Has another name than its folder.");
  skill(`${where.kit}/skills/no-text`, "name: no-text");
  named(`${where.kit}/skills/disabled`, "Is for users.", "\ndisable-model-invocation: true");
  named(`${where.kit}/extra/more`, "Is in a folder that the plugin names.");
  named(`${where.off}/skills/unseen`, "Is in a plugin that is off.");
  named(`${where.here}/skills/local`, "Is in a plugin of a folder.");
  skill(cached("shop", "solo"), "name: alone\ndescription: The plugin is the package.");
  write("market/.claude-plugin/marketplace.json", {
    ...{ name: "near", owner: { name: "Me" } },
    plugins: [{ name: "here", source: "./plugins/here", description: "Here." }],
  });
  const offers = (name: string) => ({
    name,
    source: { source: "url", url: "https://plugins.test" },
    description: name,
  });
  write("shop/.claude-plugin/marketplace.json", {
    ...{ name: "shop", owner: { name: "Me" }, plugins: ["kit", "off", "solo"].map(offers) },
  });
  const dated = { lastUpdated: "2026-01-01T00:00:00.000Z" };
  write(`${plugins}/known_marketplaces.json`, {
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
  write(`${plugins}/installed_plugins.json`, {
    version: 2,
    plugins: {
      "kit@shop": install(where.kit),
      "off@shop": install(where.off),
      "solo@shop": install(cached("shop", "solo")),
      "here@near": install(cached("near", "here")),
      "unlisted@shop": install(where.kit),
    },
  });
  write("home/.claude/settings.json", {
    enabledPlugins: { "kit@shop": true, "off@shop": true, "solo@shop": true, "here@near": true, "unlisted@shop": true },
    skillOverrides: { "turned-off": "on", "user-only": "on" },
  });
  write("ws/.claude/settings.json", {
    enabledPlugins: { "off@shop": false },
    skillOverrides: { "turned-off": "off", "project-only": "off", "name-only": "name-only" },
  });
  write("ws/.claude/settings.local.json", { skillOverrides: { "project-only": "on" } });
  return root;
}

/** The lines by which `evals tools --skills` says that a host names and describes skills. */
export async function list(host: string, root: string, cwd: string): Promise<string[]> {
  const { out, code } = await evals(["tools", "--skills", "--host", host, "--json"], {
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
export async function capture(
  root: string,
  cwd: string,
  open: (url: string) => { program: string; args: string[]; env: Record<string, string> },
): Promise<string> {
  const bodies: string[] = [];
  const { http, url } = await startLoopback(async (request, response) => {
    const body = await text(request);
    if (findProtocol((request.url ?? "").split("?", 1)[0] ?? "")) bodies.push(body);
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no model is asked"}}');
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { program, args, env } = open(url);
  const child = spawn(program, args, {
    cwd: join(root, cwd),
    env: { PATH: process.env.PATH, HOME: join(root, "home"), ...env },
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stdin.end("Please do it.");
  const [errors] = await Promise.all([text(child.stderr), once(child, "close")]);
  const [body] = bodies;
  if (body === undefined) throw new Error(`it asked for nothing: ${errors}`);
  return body.replaceAll("\\n", "\n").replaceAll('\\"', '"');
}
