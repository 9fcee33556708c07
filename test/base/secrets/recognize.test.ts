import { describe, expect, it } from "vitest";
import { isSecretName, looksRandom, looksSecret } from "../../../src/evals/base/secrets/recognize.ts";
import { createSecrets, knownSecrets } from "../../../src/evals/base/secrets/secrets.ts";
import { expandVariables, resolveServer } from "../../../src/evals/servers/spec.ts";

const V = "Xk29fLq7-canary/Value+03";
const W = "w8Rz51Qm-second.Value~04";
const zapier = "NDk3MTg2MjAtYjE0Mi00ZTBhLTk5ZDE6c2VjcmV0";

/** Variables of the environment of the program, with the secrets in them. */
const variables: [string, string, string[]][] = [
  ["GITHUB_TOKEN", V, [V]],
  ["GITHUB_TOKEN", `${V}\n`, [V]],
  ["GITHUB_TOKEN", ` "${V}" `, [V]],
  ["API_AUTHORIZATION", `Bearer ${V}`, [V]],
  ["X_API_KEY", `Token ${V}`, [V]],
  ["OPENAI_API_KEYS", `${V},${W}`, [V, W]],
  ["OPENAI_API_KEYS", `${V}\n${W}\n`, [V, W]],
  ["BOT_TOKENS", `one:${V};two:${W}`, [V, W]],
  ["PGPASSWORD", V, [V]],
  ["SSHPASS", V, [V]],
  ["MYSQL_PWD", V, [V]],
  ["REDISCLI_AUTH", V, [V]],
  ["GH_PATS", V, [V]],
  ["SESSION_COOKIE", V, [V]],
  ["DB_CREDENTIALS", JSON.stringify({ user: "app", password: V }), [V]],
  ["OPENAPI_MCP_HEADERS", JSON.stringify({ Authorization: `Bearer ${V}`, "Notion-Version": "2022-06-28" }), [V]],
  ["MCP_HEADERS", `Authorization: Bearer ${V}, X-Api-Key: ${W}`, [V, W]],
  ["OTEL_EXPORTER_OTLP_HEADERS", `api-key=${V}`, [V]],
  ["CONNECTION", `Server=tcp:db,1433;User ID=app;Password=${V};Encrypt=true`, [V]],
  ["NPMRC", `//registry.npmjs.org/:_authToken=${V}`, [V]],
  ["MONGO", `mongodb+srv://u:${encodeURIComponent(V)}@cluster.example.net/db?retryWrites=true`, [V]],
  ["MONGO", `mongodb://u:${encodeURIComponent(V)}@h1:27017,h2:27017/db`, [V]],
  ["DATABASE", `postgresql+psycopg://u:${V}@h/db`, [V]],
  [
    "SENTRY_DSN",
    "https://a3f09b61c47d4e58b2d7016fe94c83ba@o1.ingest.sentry.io/2",
    ["a3f09b61c47d4e58b2d7016fe94c83ba"],
  ],
  [
    "SLACK_WEBHOOK_URL",
    `https://hooks.slack.com/services/T00000000/B00000000/${zapier.slice(0, 24)}`,
    [zapier.slice(0, 24)],
  ],
  ["CALLBACK", `https://h/cb#access_token=${zapier}`, [zapier]],
];

/** Servers as suites and host files name them. */
const servers: [string, Parameters<typeof expandVariables>[0], string[]][] = [
  ["a token in the path", { url: `https://mcp.zapier.com/api/mcp/s/${zapier}/mcp` }, [zapier]],
  [
    "a UUID in the path",
    { url: "https://eu2.make.com/mcp/api/v1/u/1b4e28ba-2fa1-4d2e-883f-0016d3cca427/sse" },
    ["1b4e28ba-2fa1-4d2e-883f-0016d3cca427"],
  ],
  ["a parameter", { url: `https://server.smithery.ai/x/mcp?api_key=${V.slice(0, 8)}&profile=plain` }, [V.slice(0, 8)]],
  ["a header", { url: "https://h/mcp", headers: { Authorization: `Bearer ${V}` } }, [V]],
  ["a header of its own name", { url: "https://h/mcp", headers: { "X-Custom": V } }, [V]],
  ["a flag", { command: "s", args: ["--bearer", V] }, [V]],
  ["a flag with =", { command: "s", args: [`--api-key=${V}`] }, [V]],
  ["an argument", { command: "s", args: ["serve", zapier] }, [zapier]],
  ["an argument of a known kind", { command: "s", args: ["ghp_abcdefghijklmnop"] }, ["ghp_abcdefghijklmnop"]],
  [
    "a header of mcp-remote",
    { command: "npx", args: ["mcp-remote", "https://h/sse", "--header", `X-Custom:${V}`] },
    [V],
  ],
  [
    "a header in one word",
    { command: "npx", args: ["mcp-remote", "https://h/sse", "--header", `Authorization: Bearer ${V}`] },
    [V],
  ],
  [
    "the URL of mcp-remote",
    { command: "npx", args: ["-y", "mcp-remote", `https://mcp.zapier.com/api/mcp/s/${zapier}/mcp`] },
    [zapier],
  ],
  ["a connection", { command: "npx", args: ["server-postgres", `postgresql://u:${encodeURIComponent(V)}@h/db`] }, [V]],
  ["docker's -e", { command: "docker", args: ["run", "-e", `API_TOKEN=${V}`, "img"] }, [V]],
  ["a variable", { command: "s", env: { ACCESS_TOKEN: V } }, [V]],
  [
    "a variable of headers",
    { command: "s", env: { OPENAPI_MCP_HEADERS: JSON.stringify({ Authorization: `Bearer ${V}` }) } },
    [V],
  ],
  ["a variable of any name", { command: "s", env: { LINEAR: zapier } }, [zapier]],
];

const hides = (redact: (text: string) => string, secret: string) => {
  const redacted = redact(`It is ${secret}, and ${encodeURIComponent(secret)}.`);
  expect(redacted).not.toContain(secret.slice(0, 6));
  expect(redacted).toMatch(/^It is \[redacted: [^\]]+\], and \[redacted: [^\]]+\]\.$/);
};

describe("a secret is known", () => {
  it.each(variables)("of %s=%s", (name, value, secrets) => {
    const { redact } = knownSecrets({ [name]: value });
    for (const secret of secrets) hides(redact, secret);
  });

  it.each(servers)("of a server with %s", (_, spec, secrets) => {
    const env = {};
    expandVariables(spec, env, "server");
    for (const secret of secrets) hides(knownSecrets(env).redact, secret);
  });

  it("of a server that a flag gives a variable", async () => {
    const env = {};
    const server = { command: "s", args: [`--key=\${OWN_KEY}`] };
    const { spec } = await resolveServer(server, "server", ".", { env, serverEnv: { OWN_KEY: V } });
    expect(spec).toMatchObject({ args: [`--key=${V}`], env: { OWN_KEY: V } });
    hides(knownSecrets(env).redact, V);
  });

  it.each([
    [`run --base-url htp://u:${V.replace("/", "")}@h`, V.replace("/", "")],
    [`init --server "node s.js --token ${V}"`, V],
    [`doctor --url https://h/mcp?api_key=${W}`, W],
    [`probe --call {"tool":"t","arguments":{"apiToken":"${W}"}}`, W],
  ])("of the command line %s", (line, secret) => {
    const secrets = createSecrets();
    const [word = "", flag = "", ...rest] = line.split(" ");
    secrets.addCommandLine([word, flag, rest.join(" ").replace(/^"|"$/g, "")]);
    hides(secrets.redact, secret);
  });
});

/** What variables, arguments and headers are, and what texts are about. */
const harmless = [
  ...["production", "us-east-1", "eu-central-1", "gpt-4o-mini-2024-07-18", "claude-haiku-4-5-20251001", "llama3.1:70b"],
  ...[
    "application/json",
    "text/event-stream",
    "utf-8",
    "en_US.UTF-8",
    "Europe/Berlin",
    "2025-06-18",
    "20251001T120000Z",
  ],
  ...["v1.2.3-beta.4", "^20.19.0", "@modelcontextprotocol/server-filesystem", "server-postgres@0.6.2", "node_modules"],
  ...[
    "my_database",
    "read-only",
    "feature/add-login",
    "localhost:3000",
    "127.0.0.1:8080",
    "*.example.com",
    "info,debug",
  ],
  ...[
    "http://localhost:3000/mcp",
    "https://api.example.com/v1/models",
    "sqlite:///data/app.db",
    "/usr/local/share/data",
  ],
  ...[
    "./dist/server.js",
    "C:\\Users\\me\\server.py",
    "--max-old-space-size=4096",
    "camelCaseWordsInAName",
    "ListOrders",
  ],
  ...["snake_case_tool_name", "123456789", "3.14159265", "true", "anonymous", "someone@example.com", "i18next-http"],
  ...["postgres", "sha256", "base64url", "Content-Type", `\${API_TOKEN}`, "<your-api-key>"],
];

describe("no secret is", () => {
  it.each(harmless)("%s", (text) => {
    const env = { SETTING: text };
    const about = `It is about ${text}.`;
    expandVariables({ command: "s", args: ["--setting", text, text], env: { SETTING: text } }, env, "server");
    expandVariables(
      {
        url: `https://h/${encodeURIComponent(text)}/mcp?setting=${encodeURIComponent(text)}`,
        headers: { Accept: text },
      },
      env,
      "server",
    );
    expect(knownSecrets(env).redact(about)).toBe(about);
  });

  it("a word that a secret is made of when spaces are left out", () => {
    const secrets = createSecrets();
    secrets.add("ONE", "changeme");
    secrets.add("TWO", "a pass phrase");
    expect(secrets.redact("change me, a  pass\nphrase, chan\n  geme")).toBe(
      "change me, [redacted: TWO], [redacted: ONE]",
    );
  });
});

it.each([
  ["OPENAI_API_KEY", true],
  ["apikey", true],
  ["DB_PASSWORD", true],
  ["Authorization", true],
  ["KEYBOARD", false],
  ["TOKENIZER", false],
  ["SSL_KEY_FILE", false],
  ["PWD", false],
  ["DB_PWD", true],
  ["DB_PASS", true],
  ["BYPASS_CACHE", false],
  ["accessToken", true],
  ["--api-key", true],
  ["TOKENS", true],
  ["--bearer", true],
  ["AUTH_TYPE", false],
  ["API_KEY_HEADER", false],
])("%s is named like a secret: %s", (name, expected) => {
  expect(isSecretName(name)).toBe(expected);
});

it.each([
  ["canary-env-value", true],
  ["production", false],
  ["/usr/share/data", false],
  ["127.0.0.1:8080", false],
  ["debug", false],
  ["a sentence of words", false],
  [`\${API_TOKEN}`, false],
])("%s looks like the value of a secret: %s", (value, expected) => {
  expect(looksSecret(value)).toBe(expected);
});

it.each([V, zapier, "hunter2-p4ssw0rd", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U"])(
  "%s looks random",
  (value) => {
    expect(looksRandom(value)).toBe(true);
  },
);
