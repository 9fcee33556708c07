import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { protocols } from "../../../../src/evals/asking/hosts/passThrough.ts";
import { capture, list, prepare } from "../skillLists.ts";
import { needsHost } from "../support.ts";

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

const { gemini } = await import(new URL("../../../../scripts/geminiProtocol.mjs", import.meta.url).href);
protocols.push(gemini);

describe.each(["copilot", "goose", "gemini-cli"] as const)("evals tools --skills --host %s", (host) => {
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
