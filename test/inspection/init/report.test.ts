import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import { findLocalModels, offerProviders } from "../../../src/evals/experiments/workspace/models.ts";
import {
  describeEffects,
  describeSize,
  listFindings,
  listMixedUp,
  listNext,
} from "../../../src/evals/inspection/init/report.ts";
import { draftSkillCases } from "../../../src/evals/inspection/init/skills.ts";
import { heading, text } from "../../../src/evals/reports/document.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { aSkill } from "../../fakes/skill.ts";

const tool = (name: string, description: string, isReading = true): Tool => ({
  ...{ name, description, inputSchema: { type: "object", properties: { path: { type: "string" } } } },
  ...(isReading && { annotations: { readOnlyHint: true } }),
});
const tools = [
  tool("read_file", "Read the text of one file. Deprecated."),
  tool("read_text_file", "Read the text of one file as it is."),
  tool("list_folder", "List the names in a folder of the project."),
  tool("list_folder_sizes", "List the names in a folder of the project with sizes."),
  tool("remove", "Remove one file for ever.", false),
];
const finding = (rule: string, severity: "error" | "warning" | "info") => {
  return { rule, severity, message: `The ${rule} is wrong.`, fix: "Fix it.", location: {} };
};

it("shows what is known without a model on one screen", async () => {
  const findings = [finding("a", "warning"), finding("b", "error"), finding("b", "error"), finding("c", "info")];
  const run = { trials: 100, listTokens: 500 };
  const blocks = [
    heading(1, `files 1.0.0 · ${describeSize(tools)}`),
    describeEffects(tools),
    ...listMixedUp(tools, "evals lint x"),
    ...listFindings(findings, "evals lint x"),
    ...listNext("npx evals run evals/files.yaml", [], offerProviders(run, {})),
  ];
  const shown = renderTerminal(blocks, { color: false, width: 80, unicode: true });
  await expect(shown).toMatchFileSnapshot("snapshots/drafted.txt");
});

it("names the hosts with a tool of the same name, and the command that lists every pair", () => {
  const shown = renderTerminal(
    [
      describeEffects(["web_search", "bash", "Shell", "run_bash"].map((name) => tool(name, `Do ${name}.`))),
      ...listMixedUp(
        ["a", "b", "c", "d"].map((name) => tool(`list_folder_${name}`, "List a folder.")),
        "evals lint x",
      ),
    ],
    { color: false, width: 250, unicode: true },
  );
  expect(shown).toContain(
    "Hosts have tools of the same name: web_search (Claude Code, Codex); bash (Claude Code, Copilot CLI); Shell (goose). They list both, yours with the server's name in front, and a model may call either.",
  );
  expect(shown).toMatch(/… and 3 more pairs\n\n? +All, less likely ones too:\n +\$ evals lint x --confusable\n/);
});

it("offers the models whose keys are set, and a local server that answers, but none that only embeds", async () => {
  const lists = [[{ id: "nomic-embed-text" }, { id: "qwen3:1.5b" }], [{ id: 7 }], "no list"];
  const servers = lists.map((data) => createServer((_, response) => response.end(JSON.stringify({ data }))).listen(0));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  const local = {
    ollama: { name: "Ollama", port: ports[0] as number },
    lmstudio: { name: "LM Studio", port: ports[1] as number },
    llamacpp: { name: "llama.cpp", port: ports[2] as number },
    vllm: { name: "vLLM", port: 1 },
  };
  const found = await findLocalModels(new AbortController().signal, local, 60_000);
  for (const server of servers) server.close();
  expect(found).toEqual([{ flags: "-m ollama:qwen3:1.5b", reason: "Ollama runs on this machine", costUsd: 0 }]);
  const offered = offerProviders({ trials: 10, listTokens: 900 }, { OPENAI_API_KEY: "x" });
  expect(offered).toMatchObject([
    {
      flags: "-m anthropic:claude-haiku-5-5",
      isSet: false,
      costUsd: expect.closeTo(10 * (1000 * 1e-7 + 150 * 5e-7), 9),
    },
    { flags: "-m openai:gpt-5", isSet: true, costUsd: "unknown" },
  ]);
});

it("drafts queries that a skill is for, and near misses of it", () => {
  const description = 'Writes release notes. Use when the user asks for a changelog, or says "what is new?".';
  const [notes, mail] = [
    aSkill("release-notes", { description }),
    aSkill("mail", { description: "Sends e-mails to people." }),
  ];
  const drafted = draftSkillCases(notes, [notes, mail]);
  expect(drafted.map(({ id, input, tool: loaded, avoid }) => [id, input, loaded, avoid?.tool])).toEqual([
    ["release-notes-1", "what is new?", "release-notes", undefined],
    ["release-notes-2", "I need a changelog", "release-notes", undefined],
    ["release-notes-3", "Please write release notes", "release-notes", undefined],
    ["release-notes-near-miss-1", "Please send e-mails to people", "mail", "release-notes"],
    ["release-notes-near-miss-2", "Who invented release notes?", undefined, undefined],
    ["release-notes-near-miss-3", "What is another word for release notes?", undefined, undefined],
  ]);
  expect(new Set(drafted.map(({ skill }) => skill))).toEqual(new Set(["release-notes"]));
});

it("leaves out a pair of which one tool reads and the other changes something", () => {
  const alike = (...names: string[]) =>
    listMixedUp(
      names.map((name) => tool(name, "The orientation of the screen.")),
      "evals lint x",
    );
  expect(alike("get_orientation", "set_orientation")).toEqual([text("No two tools are alike.")]);
  expect(alike("get_orientation")).toEqual([text(undefined)]);
  expect(alike("get_orientation", "read_orientation")).toHaveLength(2);
});
