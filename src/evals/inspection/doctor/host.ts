import { text } from "node:stream/consumers";
import { findProtocol } from "../../asking/protocols/index.ts";
import { startLoopback } from "../../base/network/loopback.ts";
import { EvalsError, messageOf, usageError } from "../../base/types/errors.ts";
import { hostProfiles } from "../../base/types/hostProfiles.ts";
import type { Io } from "../../base/types/io.ts";
import type { HostModel } from "../../base/types/model.ts";
import type { OfferedTool, Tool } from "../../base/types/tool.ts";
import { openModel } from "../../experiments/workspace/models.ts";
import type { ExaminedHost } from "./report.ts";

const claudeKeys = ["ANTHROPIC_API_KEY"];
const openaiKeys = ["OPENAI_API_KEY"];

/** A host that can be examined: the id of a model in it, and the variables of which a model needs one. */
type KnownHost = { name: string; example: string; keys(id: string): readonly string[] };

const hosts: Record<"claude-code" | "codex" | "copilot" | "goose", KnownHost> = {
  "claude-code": {
    name: "Claude Code",
    example: "claude-code:claude-sonnet-5-5",
    keys: () => [...claudeKeys, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
  },
  codex: { name: "Codex", example: "codex:gpt-6.1-sol", keys: () => openaiKeys },
  copilot: {
    name: "Copilot CLI",
    example: "copilot:claude-sonnet-5-5",
    keys: (id) => (/^copilot:claude-/.test(id) ? claudeKeys : openaiKeys),
  },
  goose: {
    name: "goose",
    example: "goose:anthropic/claude-sonnet-5-5",
    keys: (id) => (/^goose:openai\//.test(id) ? openaiKeys : claudeKeys),
  },
};

/** The tools and instructions of a server that could be listed. */
export type ListedServer = { name: string; tools: readonly Tool[]; instructions: string | undefined };

/**
 * Examines a host: whether it is installed and has credentials, whether it uses these servers, and what it shows of their
 * tools. It asks a provider on this machine, so nothing is spent. `asked` is a host or the id of a model in it. Throws a
 * usage error for an unknown host.
 */
export async function examineHost(asked: string, servers: readonly ListedServer[], io: Io): Promise<ExaminedHost> {
  const key = asked.split(":", 1)[0] as keyof typeof hosts;
  if (!Object.hasOwn(hosts, key)) {
    throw usageError(`Unknown host "${asked}".`, `Use one of: ${Object.keys(hosts).join(", ")}.`);
  }
  const { name, example, keys: listKeys } = hosts[key];
  const id = asked.includes(":") ? asked : example;
  const keys = listKeys(id);
  const used = keys.find((variable) => io.env[variable]);
  const findings: ExaminedHost["findings"] = [];
  const report = (rule: string, message: string, fix: string) =>
    findings.push({ rule, severity: "error", message, fix, location: {} });
  if (used === undefined) {
    const names = keys.length > 1 ? "no credentials are set" : `${keys[0]} is not set`;
    report("host-not-signed-in", `${name} cannot reach its provider: ${names}.`, `Set ${keys.join(" or ")}.`);
  }
  const facts = { name, model: id, ...(used !== undefined && { credentials: used }) };
  const provider = await startOfflineProvider();
  try {
    const model = await openOffline(id, provider.url, io);
    const { claudeCode, codex, copilot, goose } = model.settings;
    const version = String(claudeCode ?? codex ?? copilot ?? goose);
    const tools = servers.flatMap(({ name, tools }) =>
      tools.map((tool): OfferedTool => ({ ...tool, server: name, origin: "server" })),
    );
    const instructions = servers.flatMap(({ name, instructions: text }) =>
      text === undefined ? [] : [{ server: name, text }],
    );
    const { outcome, shown } = await model.converse(
      {
        cell: { suite: "doctor", case: "doctor", arm: "head", model: id, trial: 1 },
        messages: [{ role: "user", content: "Say hello." }],
        exposure: "host",
        tools,
        instructions,
        skills: [],
        files: [],
        maxTurns: 1,
        execute: async () => ({ status: "skipped", reason: "no call is executed" }),
      },
      io.signal,
    );
    if (outcome.kind === "broken") {
      report("host-fails", `${outcome.message}.`, "Run the host by hand, or use the version that is documented.");
    }
    const { version: pinned } = hostProfiles[key];
    return { ...facts, version, pinned, healthy: findings.length === 0, ...(shown && { shown }), findings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    const [{ message, hint = "" } = { message: messageOf(error) }] = error.problems;
    report("host-unusable", message, hint);
    return { ...facts, healthy: false, findings };
  } finally {
    await provider.close();
  }
}

/** The host with the provider on this machine. It does not get the credentials of the user. */
async function openOffline(id: string, url: string, { env }: Io): Promise<HostModel> {
  const paths = Object.entries(env).filter(([name]) =>
    /^(PATH|HOME|XDG_CACHE_HOME|COPILOT_\w*CACHE_HOME|[A-Z_]+_PATH)$/.test(name),
  );
  const offline = {
    ...Object.fromEntries(paths),
    ANTHROPIC_API_KEY: "offline-key",
    OPENAI_API_KEY: "offline-key",
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
  };
  const model = await openModel(id, { env: offline });
  if ("converse" in model) return model;
  throw usageError(`"${id}" is not a host.`);
}

/** A provider on this machine whose model answers "Done." to everything. `bodies` are the model requests, in order. */
type OfflineProvider = { url: string; bodies: readonly string[]; close(): Promise<void> };

/** Starts a free provider that shows what a host sends. */
export async function startOfflineProvider(): Promise<OfflineProvider> {
  const bodies: string[] = [];
  const { http, url } = await startLoopback(async (request, response) => {
    const body = await text(request);
    const protocol = findProtocol((request.url ?? "").split("?", 1)[0] ?? "");
    if (!protocol) return void response.writeHead(404).end();
    bodies.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(protocol.writeReply("Done."));
  });
  return {
    url,
    bodies,
    async close() {
      http.closeAllConnections();
      await new Promise((done) => http.close(done));
    },
  };
}
