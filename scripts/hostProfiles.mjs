// node scripts/hostProfiles.mjs [--write] [host...]: what the pinned hosts show to their models, captured from their
// requests to a provider on this machine, after `npm run build`. Prints the profiles as JSON. With --write, it renews
// hostProfiles.json, what the program needs of it (src/evals/servers/hostProfiles.ts) and the tables in docs/hosts.md. Only
// names, counts and sizes are kept: the prompts belong to the makers of the hosts.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findProtocol } from "../build/evals/asking/hosts/passThrough.js";
import { startLoopback } from "../build/evals/base/network.js";
import { openModel } from "../build/evals/experiments/workspace/models.js";
import { parseSkill } from "../build/evals/input/skills/package.js";
import { hostNames } from "../build/evals/servers/host.js";
import { openGeminiCli } from "./geminiCli.mjs";
import committed from "./hostProfiles.json" with { type: "json" };
import { fitNameForm, listProbes } from "./nameForms.mjs";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "evals-profiles-"));

/** The ways in which each host shows tools: by model or setting. */
const hosts = {
  "claude-code": {
    title: "Claude Code",
    ways: [{ name: "every model", id: "claude-code:claude-sonnet-5-5" }],
  },
  codex: {
    title: "Codex",
    ways: [
      { name: "gpt-5.6 and newer", id: "codex:gpt-6.1-sol" },
      { name: "gpt-5.5", id: "codex:gpt-5.5" },
      { name: "models that it does not know", id: "codex:another-model" },
    ],
  },
  copilot: {
    title: "Copilot CLI",
    ways: [
      { name: "Claude models", id: "copilot:claude-sonnet-5-5" },
      { name: "gpt-5 and newer", id: "copilot:gpt-5.4" },
      { name: "others", id: "copilot:another-model" },
    ],
  },
  goose: {
    title: "goose",
    ways: [{ name: "every model", id: "goose:anthropic/claude-sonnet-5-5" }],
  },
  "gemini-cli": {
    title: "Gemini CLI",
    ways: [{ name: "every model", id: "gemini-cli:gemini-2.5-pro" }],
    open: openGeminiCli,
  },
};

const counts = [5, 50, 200];
const never = new AbortController().signal;

function listTools(count) {
  return Array.from({ length: count }, (_, i) => ({
    name: `do_thing_${i}`,
    description: `Does the thing number ${i} in the back office, and returns it as it is afterwards, with its history.`,
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
    server: "works",
    origin: "server",
  }));
}

/** 100 skills with descriptions of about 530 characters, the length at which hosts were first compared. */
function listSkills() {
  return Array.from({ length: 100 }, (_, i) => {
    const name = `trick-${String(i).padStart(3, "0")}`;
    const description = `Trick ${i}: ${"use it when the words of a request ask for it. ".repeat(11)}`.trim();
    const dir = join(scratch, "skills", name);
    const text = `---\nname: ${name}\ndescription: "${description}"\n---\n# Body\n`;
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "SKILL.md"), text);
    return { ...parseSkill(text, { folder: name, file: "SKILL.md" }), folder: name, dir, level: "named", hash: "" };
  });
}

/** The characters of the descriptions of these skills in a prompt, each up to where it is cut. */
function countListed(skills, prompt) {
  return skills.reduce((sum, { description }) => {
    let length = description.length;
    while (length > 0 && !prompt.includes(description.slice(0, length))) length--;
    return sum + (length > 20 ? length : 0);
  }, 0);
}

const refusal = "only the request was wanted";

async function capture(id, program, trial, isWhole = true) {
  const bodies = [];
  const provider = await startLoopback(async (request, response) => {
    const body = await text(request);
    if (findProtocol(request.url.split("?", 1)[0])) bodies.push(body);
    const error = { code: 400, message: refusal, status: "INVALID_ARGUMENT" };
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
  });
  const [host] = id.split(":");
  const env = {
    PATH: process.env.PATH,
    // Where the Copilot CLI unpacks itself, once.
    XDG_CACHE_HOME: join(root, "node_modules/.cache/tool-evals"),
    [`${host.toUpperCase().replaceAll("-", "_")}_PATH`]: program,
    ANTHROPIC_API_KEY: "offline-key",
    OPENAI_API_KEY: "offline-key",
    GEMINI_API_KEY: "offline-key",
    ANTHROPIC_BASE_URL: provider.url,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    GOOGLE_GEMINI_BASE_URL: provider.url,
  };
  const { open } = hosts[host];
  const model = open ? await open(id, program, { env }) : await openModel(id, { env });
  const { outcome, shown } = await model.converse(
    {
      cell: { suite: "profile", case: "profile", arm: "head", model: id, trial: 1 },
      messages: [{ role: "user", content: "Please do it." }],
      exposure: "host",
      tools: [],
      skills: [],
      instructions: [],
      files: [],
      maxTurns: 1,
      execute: async () => ({ status: "skipped", reason: "profile" }),
      ...trial,
    },
    never,
  );
  provider.http.closeAllConnections();
  provider.http.close();
  if ((isWhole && !outcome.message.includes(refusal)) || !shown) throw new Error(`${id}: ${JSON.stringify(outcome)}`);
  return { settings: model.settings, shown, prompt: bodies[0] };
}

/** The names of tools as the host shows them, where their names do not end the trial: by the number in each. */
async function captureNames(host, id, program) {
  const probes = listProbes();
  const shownNames = new Map();
  for (const group of Object.values(probes)) {
    const tools = group.map(({ server, name }) => ({ ...listTools(1)[0], server, name }));
    const { shown } = await capture(id, program, { tools, exposure: "all" }, false);
    const missed = shown.builtIns.flatMap((name) => [...name.matchAll(/q\d{3}/g)].map(([key]) => [key, name]));
    const known = new Set(Object.values(shown.tools).flatMap((list, at) => (at < 3 ? list : [])));
    for (const { server, name } of group) {
      if (known.has(name)) shownNames.set(name.slice(0, 4), hostNames[host](server, name));
    }
    for (const [key, name] of missed) shownNames.set(key, name);
  }
  return fitNameForm(probes, shownNames);
}

async function profile(name) {
  const { title, ways } = hosts[name];
  const installer = join(root, "scripts/installHost.mjs");
  const program = execFileSync(process.execPath, [installer, name], { encoding: "utf8" }).trim();
  const rows = [];
  for (const { name: way, id } of ways) {
    const tools = {};
    let last;
    for (const count of counts) {
      const instructions = [{ server: "works", text: "Ask the works council before anything else." }];
      last = await capture(id, program, { tools: listTools(count), instructions });
      const [level, ...others] = Object.entries(last.shown.tools).filter(([, list]) => list.length > 0);
      tools[count] = [level, ...others]
        .map(([word, list]) => (others.length > 0 ? `${word} ${list.length}` : word))
        .join(", ");
    }
    const empty = await capture(id, program, {});
    const builtIns = empty.shown.builtIns.toSorted();
    // Without a search tool, code can still list the tools.
    const search =
      last.shown.search ?? (last.shown.tools.hidden.length > 0 ? builtIns.find((one) => one === "exec") : undefined);
    rows.push({
      way,
      model: id,
      tools,
      ...(search !== undefined && { search }),
      instructions: last.shown.instructions,
      kilobytes: { 0: kilo(empty), 200: kilo(last) },
      builtIns,
    });
  }
  const skills = listSkills();
  const listing = await capture(ways[0].id, program, { skills });
  const tool = listing.shown.builtIns.find((one) => /skill/i.test(one));
  const listed = Object.fromEntries(Object.entries(listing.shown.skills).map(([level, list]) => [level, list.length]));
  const { claudeCode, codex, copilot, goose, geminiCli } = listing.settings;
  return {
    title,
    version: claudeCode ?? codex ?? copilot ?? goose ?? geminiCli,
    captured: new Date().toISOString().slice(0, 10),
    names: await captureNames(name, ways[0].id, program),
    ways: rows,
    skills: { ...listed, characters: countListed(skills, listing.prompt), ...(tool !== undefined && { tool }) },
  };
}

const kilo = ({ shown }) => Math.round(shown.firstRequestBytes / 1000);

const levels = { full: "in full", deferred: "deferred", named: "by name only", hidden: "not at all" };

const cuts = {
  end: "are cut",
  middle: "lose their middle",
  hash: "end with a hash",
  omitted: "are left out, with their tools",
};

function describeNames({ prefix, separator, server, tool, limit, cut }) {
  const code = (text) => (text === " " ? "white space" : `\`${text}\``);
  const list = (text) => [...text].map(code).join(", ");
  const describePart = (part) => {
    if (part === "unchanged") return "unchanged";
    const dropped = part.dropped ? `without ${list(part.dropped)}, ` : "";
    return `${part.lowerCase ? "in lower case, " : ""}${dropped}with ${code(part.other)} for all but letters, digits and ${list(part.kept)}`;
  };
  const parts =
    JSON.stringify(server) === JSON.stringify(tool)
      ? `written ${describePart(tool)}`
      : `the server ${describePart(server)}; the tool ${describePart(tool)}`;
  const length = limit === undefined ? "Names have no limit." : `Names of more than ${limit} characters ${cuts[cut]}.`;
  return `Tools are named \`${prefix}<server>${separator}<tool>\`, ${parts}. ${length}`;
}

function renderTables(profiles) {
  const describe = (cell) => cell.replace(/full|deferred|named|hidden/g, (word) => levels[word]);
  return Object.values(profiles)
    .map(({ title, version, captured, names, ways, skills }) => {
      const head = ["", ...ways.map(({ way }) => way)];
      const rows = [
        ...counts.map((count) => [`${count} tools are shown`, ...ways.map(({ tools }) => describe(tools[count]))]),
        ["the model finds the others with", ...ways.map(({ search }) => (search ? `\`${search}\`` : "-"))],
        ["instructions of servers", ...ways.map(({ instructions }) => (instructions ? "shown" : "not shown"))],
        ["first request without tools", ...ways.map(({ kilobytes }) => `${kilobytes[0]} KB`)],
        ["first request with 200 tools", ...ways.map(({ kilobytes }) => `${kilobytes[200]} KB`)],
        [
          "the host's own tools",
          ...ways.map(({ builtIns }) => `${builtIns.length}: ${builtIns.map((one) => `\`${one}\``).join(", ")}`),
        ],
      ];
      const line = (cells) => `| ${cells.join(" | ")} |`;
      const { full, cut, named, hidden, characters, tool } = skills;
      const listing = `Of 100 skills with descriptions of about 530 characters, ${full} are listed in full, ${cut} with the beginning, ${named} by name only and ${hidden} not at all: ${characters.toLocaleString("en")} characters of descriptions in total. A model loads one with ${tool ? `\`${tool}\`` : "a command that reads its file"}.`;
      return [
        `### ${title} ${version}`,
        `Captured ${captured}. ${describeNames(names)}`,
        [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n"),
        listing,
      ].join("\n\n");
    })
    .join("\n\n");
}

const args = process.argv.slice(2);
const asked = args.filter((arg) => arg !== "--write");
const profiles = {};
try {
  for (const name of asked.length > 0 ? asked : Object.keys(hosts)) profiles[name] = await profile(name);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (args.includes("--write")) {
  const all = { ...committed, ...profiles };
  const forms = Object.entries(all).map(([name, { title, version, names, ways }]) => {
    const builtIns = [...new Set(ways.flatMap((way) => way.builtIns))].join(" ");
    return [name, { title, version, names, builtIns }];
  });
  const files = {
    "scripts/hostProfiles.json": JSON.stringify(all),
    "src/evals/servers/hostProfiles.ts": `// Generated by \`node scripts/hostProfiles.mjs --write\`. Do not edit.

/** The pinned version of each host, the form of the names under which it shows tools, and its own tools. */
export const hostProfiles = ${JSON.stringify(Object.fromEntries(forms))} as const;\n`,
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(root, file), content);
  execFileSync("npx", ["biome", "format", "--write", ...Object.keys(files)], { cwd: root, stdio: "ignore" });
  const page = join(root, "docs/hosts.md");
  const text = readFileSync(page, "utf8");
  const [start, end] = ["<!-- profiles -->", "<!-- end of profiles -->"].map((mark) => text.indexOf(mark));
  writeFileSync(page, `${text.slice(0, start)}<!-- profiles -->\n\n${renderTables(all)}\n\n${text.slice(end)}`);
}
process.stdout.write(`${JSON.stringify(profiles, null, 2)}\n`);
process.exit();
