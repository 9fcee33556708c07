// Gemini CLI behind the contract of a host, to capture what it shows. It is not offered as a model under test: --host
// shows names and skills as it does.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, passEnvironment, readEvents } from "../build/evals/asking/hosts/host.js";
import { createHostModel } from "../build/evals/asking/hosts/model.js";
import { protocols } from "../build/evals/asking/hosts/passThrough.js";
import { resolveEndpoint } from "../build/evals/base/types/endpoint.js";
import { hostNames } from "../build/evals/servers/host.js";
import { gemini } from "./geminiProtocol.mjs";

protocols.push(gemini);

const program = { name: "Gemini CLI", pattern: /^(\d+\.\d+\.\d+\S*)/, install: "" };
const provider = {
  name: "Gemini CLI",
  keyVariable: "GEMINI_API_KEY",
  baseUrlVariable: "GOOGLE_GEMINI_BASE_URL",
  baseUrl: "https://generativelanguage.googleapis.com",
  efforts: [],
  maxTokensLimit: 128_000,
};

/** Gemini CLI at this path, as a model under test. */
export async function openGeminiCli(id, path, options) {
  const endpoint = resolveEndpoint({ timeoutMs: 120_000, ...options }, provider);
  const env = { ...passEnvironment(options.env), GEMINI_API_KEY: endpoint.apiKey };
  const { command, version } = await findProgram(path, program, env);
  const model = id.slice(id.indexOf(":") + 1);
  const host = {
    name: "Gemini CLI",
    wording: { searchTools: new Set(), skillTools: new Set(["activate_skill"]), readRefusal: () => undefined },
    // It leaves out servers with other names.
    toServerName: (server) => server.replace(/[^a-zA-Z0-9_.:-]/g, "_"),
    toShownName: hostNames["gemini-cli"],
    skillFolder: ".agents/skills",
    configFolders: /^\.(gemini|agents)$/i,
    hidesTools: false,
    ownPromptTokens: 30_000,
    processBytes: 300 * 1024 * 1024,
    configure: (launch) => configure(launch, model),
    readFailure: (output) => readEvents(output).findLast(({ type }) => type === "error")?.message,
  };
  const facts = { id, host, command, model, version: { geminiCli: version }, endpoint, env };
  return createHostModel(facts, options);
}

async function configure({ folder, servers, baseUrl }, model) {
  const home = join(folder.home, ".gemini");
  mkdirSync(home, { recursive: true });
  const settings = {
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    skills: { enabled: true },
    mcpServers: Object.fromEntries([...servers].map(([name, url]) => [name, { httpUrl: url, trust: true }])),
  };
  writeFileSync(join(home, "settings.json"), JSON.stringify(settings), { mode: 0o600 });
  return {
    // In other modes it leaves out its own tools that would ask. Nothing is executed: the model on this machine calls none.
    args: ["-m", model, "-o", "stream-json", "--approval-mode", "yolo"],
    env: {
      GEMINI_CLI_HOME: folder.home,
      GOOGLE_GEMINI_BASE_URL: baseUrl,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_CLI_NO_RELAUNCH: "true",
      NO_BROWSER: "1",
      CI: "1",
    },
  };
}
