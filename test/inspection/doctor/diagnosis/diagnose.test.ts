import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { CallOutcome } from "../../../../src/evals/base/types/tool.ts";
import { diagnose, type ServerFacts } from "../../../../src/evals/inspection/doctor/diagnosis/diagnose.ts";
import { findRunner, type LocalStart } from "../../../../src/evals/servers/diagnosis/start.ts";

const started: LocalStart = {
  command: "node",
  program: { kind: "found" },
  folder: { path: "/srv", exists: true },
  answered: true,
  ms: 80,
  stderr: [],
  noise: [],
  notPassedOn: new Set(["HOME_OF_KEYS", "API_KEY"]),
  given: new Set(["GIVEN_KEY"]),
};
const show: ServerFacts["show"] = {
  direct: "cd /srv && node server.js",
  lint: "evals lint",
  call: (tool) => `evals probe ${tool}`,
};
const tool = { name: "get_weather", inputSchema: { type: "object" } };
const working: ServerFacts = {
  show,
  entry: [],
  start: started,
  connected: { kind: "yes" },
  listed: { kind: "yes", tools: [tool] },
  calls: [],
};

/** The diagnoses of these facts: `severity id: what is wrong | evidence -> remedy`. */
function summarize(facts: Partial<ServerFacts>): string[] {
  return diagnose({ show, entry: [], calls: [], ...facts }).map(
    ({ severity, rule, message, evidence = [], fix }) =>
      `${severity} ${rule}: ${message} | ${evidence.join(" | ")} -> ${fix}`,
  );
}

const local = (changes: Partial<LocalStart>, command = "node") =>
  summarize({ start: { ...started, command, answered: false, ...changes } });
const ended = (...stderr: string[]) => local({ ended: "exited with code 1", stderr })[0]?.split(" | ")[0];

test("a working server has no diagnoses", () => {
  expect(summarize(working)).toEqual([]);
});

test("why a local server does not start", async () => {
  await expect(
    [
      ...local({ folder: { path: "/no/such", exists: false } }),
      ...local({ program: { kind: "missing", searched: ["/bin", "/usr/bin"], instead: "python3" } }, "python"),
      ...local({ program: { kind: "missing", searched: ["/bin"] } }, "uvx"),
      ...local({ program: { kind: "missing", searched: ["/srv/run.sh"] } }, "./run.sh"),
      ...local({ program: { kind: "not executable", path: "/srv/run.sh" } }, "./run.sh"),
      ...local({ script: { given: "a.js", path: "/srv/a.js", relative: true, exists: false }, ended: "exited" }),
      ...local({ script: { given: "/a.js", path: "/a.js", relative: false, exists: false }, ended: "exited" }),
      ...local({ ended: "was killed by SIGKILL" }),
      ...local({ ended: "exited with code 1", stderr: ["It broke"] }),
      ...local({ ended: "exited with code 1", stderr: ["API_KEY is required"], noise: ["Hello"] }),
      ...local({ ended: "exited with code 1", stderr: ["MY_API_KEY is required"] }),
      ...local({ ended: "exited with code 1", stderr: ["GIVEN_KEY is required"] }),
      ...local({ ended: "exited with code 1", stderr: ["API_KEY and MY_API_KEY are required"] }),
      ...local({ program: { kind: "missing", searched: ["/bin"] } }, `\${BIN}/run`),
      ...local({
        script: { given: `\${env:DIST}/a.js`, path: `/srv/\${env:DIST}/a.js`, relative: true, exists: false },
        ended: "exited",
      }),
      ...local({ fault: 'sent a message that JSON-RPC does not permit: "jsonrpc" must be "2.0"' }),
      ...local({ ms: 30_000 }),
      ...local({ ms: 30_000, noise: ["Welcome!"] }),
      ...local({ ms: 30_000, stderr: ["Server running on http://localhost:3000"] }),
    ].join("\n"),
  ).toMatchFileSnapshot("snapshots/local.txt");
});

// What servers from npm print without a key.
test.each([
  [
    "Error: A Brave API key is required via --brave-api-key, BRAVE_API_KEY, or BRAVE_API_KEY_FILE.\nInvalid configuration",
    "variable-missing: The server needs the environment variable BRAVE_API_KEY.",
  ],
  [
    "/srv/stripe/cli.js:34\n  throw new Error('Stripe API key not provided. Pass --api-key=$KEY or set the STRIPE_SECRET_KEY environment variable.');\n    at Module._load (node:internal/modules/cjs/loader:1091:12)",
    "variable-missing: The server needs the environment variable STRIPE_SECRET_KEY.",
  ],
  [
    "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables",
    "variable-missing: The server needs the environment variables SLACK_BOT_TOKEN and SLACK_TEAM_ID.",
  ],
  [
    "Error: No access token was provided.\nRun `sentry-mcp auth login` first, or pass `--access-token` / `SENTRY_ACCESS_TOKEN`.\nUsage: sentry-mcp",
    "variable-missing: The server needs the environment variable SENTRY_ACCESS_TOKEN.",
  ],
  ["KeyError: 'WEATHER_API_KEY'", "variable-missing: The server needs the environment variable WEATHER_API_KEY."],
  ["Error: 401 Unauthorized", "credentials: The server has no valid API key or token."],
  // Only a notice: the server goes on without the key.
  [
    "No FIRECRAWL_API_KEY set — running in keyless mode.\nError: listen EADDRINUSE",
    "port-in-use: The port of the server is already in use.",
  ],
  [
    "Please provide a database URL as a command-line argument",
    "arguments: The server was started with the wrong arguments.",
  ],
  // The server goes on without the module. What it says of its end has no known form, so it is only quoted.
  [
    "[WARN] Failed to initialize encryption: Error: Cannot find module '../build/Release/keytar.node'\nRequire stack:\nError: appId and appSecret are required",
    "exits: The server exits before it answers.",
  ],
  [
    "[WARN] Cannot find module 'keytar'\nError: Cannot find module '/srv/a.js'",
    "module-missing: The server cannot load /srv/a.js.",
  ],
])("stderr of a server without its key: %s", (text, expected) => {
  expect(ended(...text.split("\n"))).toBe(`error ${expected}`);
});

test.each([
  [["npx", "-y", "@scope/server"], "npx"],
  [["/usr/local/bin/npx", "server"], "npx"],
  [["C:\\node\\npx.cmd", "-y", "server"], "npx"],
  [["cmd", "/c", "npx", "-y", "server"], "npx"],
  [["npm", "--silent", "exec", "server"], "npm exec"],
  [["pnpm", "dlx", "server"], "pnpm dlx"],
  [["bunx", "server"], "bunx"],
  [["bun", "x", "server"], "bun x"],
  [["uvx", "--from", "git+https://example.com/a", "server"], "uvx"],
  [["uv", "tool", "run", "server"], "uv tool"],
  [["pipx", "run", "server"], "pipx run"],
  [["docker", "run", "-i", "--rm", "mcp/git"], "docker run"],
  [["go", "run", "example.com/server@latest"], "go run"],
  [["npm", "start"], undefined],
  [["docker-server", "run"], undefined],
  [["bun", "server.ts"], undefined],
  [["node", "npx.js"], undefined],
])("what fetches the server of %j", ([command = "", ...args], runner) => {
  expect(findRunner({ command, args })).toBe(runner);
});

test("a silent server that may still be fetched", () => {
  expect(local({ ms: 120_000, runner: "uvx" })[0]).toContain(
    "-> uvx may still be fetching the server: run the command once in a terminal until it waits for input,",
  );
});

test("a silent server whose stderr names the cause", () => {
  const ofSilent = (...stderr: string[]) => local({ ms: 30_000, stderr })[0];
  expect(ofSilent("TypeError: fetch failed")).toContain(
    "error service-unreachable: The server cannot reach a service that it needs to start. The server is running, but",
  );
  expect(ofSilent("no TAVILY_API_KEY set; running in keyless mode")).toContain("error silent:");
});

// Lines of servers that work, and answers that name no cause outside of the tool: none is a complaint.
test.each([
  "GITHUB_TOKEN is set",
  "Using the provided API key",
  "API key set, 12 tools enabled",
  "Auth: no API key required",
  "No OAuth token needed for local use",
  "OPENAI_API_KEY loaded; retries must be below 5",
  "No GITHUB_TOKEN is required for public repositories",
  "Reading credentials from /home/ada/.config",
  "Note STATUS_REPORT_2024 not found",
  "Permission denied for project 12: set PROJECT_ID",
  "Set LOG_LEVEL to debug for more output",
  "401 tools were registered, 403 resources",
  "Retrying after connection refused",
  "Usage statistics: 12 calls",
  "Checked the syntax of 3 files: no SyntaxError",
  "LOG_LEVEL is not set, defaulting to info",
  "PORT_NUMBER environment variable not set, using 3000",
  "CACHE_DIR is not set; using /tmp/cache instead",
  "Sentry disabled: SENTRY_DSN is not set",
  "REDIS_URL not configured, falling back to in-memory sessions",
  "[info] OTEL_EXPORTER_OTLP_ENDPOINT not set, telemetry disabled",
  "If ACME_API_KEY is missing, requests are anonymous",
  "ACME_API_KEY is only required for private projects",
  "Optional: set the ACME_REGION environment variable",
  "Set ACME_API_KEY environment variable to enable private projects",
  "Set the DEBUG_MODE environment variable for verbose output",
  "Checks whether DATABASE_URL is set",
  "ACME_API_KEY is not required when using a local model",
  "No credentials are needed",
  "API key validated (acme_...4f2a)",
  "Loaded credentials for 2 accounts",
  "OAuth token refreshed, expires in 3600 s",
  "Token usage: 1200 of 8000 tokens",
  "ECONNREFUSED once, retrying in 2 s",
  "Optional module 'keytar' skipped: Cannot find module 'keytar'",
  "WARNING: EACCES: cannot write /var/log/acme.log, continuing without it",
  "No solution found for the puzzle",
  "Usage limits: 100 requests a day",
  "Serving 403 Forbidden pages from ./errors is disabled",
  "(node:4242) ExperimentalWarning: SQLite is an experimental feature",
  "Found 3 config files, 0 missing",
  "Connected to Acme API v2 with token auth",
])("says nothing of %s", (line) => {
  expect(summarize({ ...working, start: { ...started, stderr: [line] } })).toEqual([]);
  expect(ended(line)).toBe("error exits: The server exits before it answers.");
  expect(calling(answer(line))[0]).toMatch(/^(?:warning|error) call-fails:/);
});

// Ids and names of parameters in answers of tools are no variables of the server.
test.each([
  "TASK_ID_42 is missing",
  "PROJECT_ID is required",
  "Issue WEB_1234 was not found: set a status first",
  "STATUS_OPEN must be set before STATUS_CLOSED",
  "No ACTIVE_SPRINT found",
])("an answer that says %s names no variable", (text) => {
  expect(calling(answer(text))[0]).toMatch(/^(?:warning|error) call-fails:/);
});

test("no call that succeeds, and only empty answers, are errors of a server that otherwise works", () => {
  const callAll = (...outcomes: CallOutcome[]) =>
    summarize({ ...working, calls: outcomes.map((outcome, at) => ({ tool: `get_${at}`, outcome })) });
  const empty: CallOutcome = { kind: "result", result: { isError: false, content: [{ type: "text", text: " " }] } };
  const image: CallOutcome = { kind: "result", result: { isError: false, content: [{ type: "image", bytes: 5 }] } };
  expect([
    callAll(answer("Log in first."), answer("No project.")).at(-1),
    callAll(answer("Log in first."), answer("fine", false)).at(-1),
    callAll(empty, empty).at(-1),
    callAll(empty),
    callAll(empty, image),
    callAll(empty, answer("fine", false)),
  ]).toMatchSnapshot();
});

// Codes of errors are written like variables.
test.each([
  ["API request failed with status undefined: getaddrinfo EAI_AGAIN api.example.com", "warning service-unreachable"],
  ["VALIDATION_ERROR: provide a name", "warning call-fails"],
  ["9 FAILED_PRECONDITION: the project must be set", "warning call-fails"],
  ["INVALID_ARGUMENT: the parent was not found", "warning call-fails"],
  ["DATABASE_URL is not set", "error variable-missing"],
  ["Request failed with status code 403", "error credentials"],
  ["403 Client Error: Forbidden for url: https://api.example.com/v1/items", "error credentials"],
  ["HTTP Error 403: Forbidden", "error credentials"],
  ['{"status":403,"message":"Resource not accessible"}', "error credentials"],
  ["Forbidden", "error credentials"],
  ["HTTP error! status: 401", "error credentials"],
  ["Error: 403 items are too many", "warning call-fails"],
  ["The name has forbidden characters", "warning call-fails"],
])("a call that answers %s", (text, expected) => {
  expect(calling(answer(text))[0]).toContain(`${expected}:`);
});

test("tools that fail with the same answer are one diagnosis", () => {
  const calls = Object.entries({ a: "No project is open.", b: "Not found.", c: "No project is open." });
  expect(
    summarize({ ...working, calls: calls.map(([tool, text]) => ({ tool, outcome: answer(text) })) }),
  ).toMatchSnapshot();
});

test("a notice of a missing key is the first diagnosis of a server that starts", () => {
  const notice = { ...started, stderr: ["no TAVILY_API_KEY set; running in keyless mode"] };
  const refusal = answer("search error (401): API key must be provided as an environment variable (TAVILY_API_KEY)");
  expect([
    ...summarize({ ...working, start: { ...notice, noise: ["Welcome!"] } }),
    ...summarize({ ...working, start: notice, calls: [{ tool: "get_weather", outcome: refusal }] }),
    ...summarize({
      ...working,
      calls: ["a", "b"].map((tool) => ({ tool, outcome: answer("connect ECONNREFUSED 127.0.0.1:5432") })),
    }),
    ...calling(answer("MCP error -32602: Invalid arguments: access token is required")),
    ...calling(answer('{"success":false,"error":"no API key","retry_hint":"set it"}')),
  ]).toMatchSnapshot();
});

const nativeModule =
  "native-module: The native code of a dependency is missing, or was built for another Node.js or system.";
test.each([
  [
    "Error: Could not locate the bindings file. Tried:\n → /srv/node_modules/better-sqlite3/build/better_sqlite3.node",
    nativeModule,
  ],
  [
    "Error: The module '/srv/a.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 108. This version of Node.js requires",
    nativeModule,
  ],
  ["Error: No native build was found for platform=linux arch=x64 runtime=node abi=115", nativeModule],
  ["Error: Cannot find module '../build/Release/canvas.node'", nativeModule],
  ['Error: Could not load the "sharp" module using the linux-x64 runtime', nativeModule],
  ["Error: /srv/node_modules/a/build/Release/a.node: invalid ELF header", nativeModule],
  ["Error: Cannot find native binding. npm has a bug related to optional dependencies", nativeModule],
  ["Error: Cannot find module '/srv/dist/a.js'", "module-missing: The server cannot load /srv/dist/a.js."],
  ["ModuleNotFoundError: No module named 'mcp.server'", "module-missing: The server cannot load mcp.server."],
  ["python3: can't open file '/srv/a.py': [Errno 2]", "module-missing: The server cannot load /srv/a.py."],
  ["  code: 'ERR_MODULE_NOT_FOUND'", "module-missing: The server cannot load a module."],
  ["npm error code E404", "package-missing: The package of the server was not found in the registry."],
  ["SyntaxError: Unexpected token ':'", "syntax: The interpreter cannot parse the code of the server."],
  ["GITHUB_TOKEN is not set", "variable-missing: The server needs the environment variable GITHUB_TOKEN."],
  ["Missing GITHUB_TOKEN", "variable-missing: The server needs the environment variable GITHUB_TOKEN."],
  [
    "EACCES: permission denied, open '/x'",
    "permission: The server does not have permission to open a file or port that it needs.",
  ],
  [
    "connect ECONNREFUSED 127.0.0.1:5432",
    "service-unreachable: The server cannot reach a service that it needs to start.",
  ],
  ["Usage: server <folder>", "arguments: The server was started with the wrong arguments."],
  ["ValueError: boom", "exits: The server exits before it answers."],
])("stderr that shows %s", (line, expected) => {
  expect(ended(line)).toBe(`error ${expected}`);
});

test("why a client cannot connect", () => {
  const message = 'Server "a" answers with HTTP 404 at https://example.com/mcp.';
  const failure = { kind: "no" as const, message, hint: "Check the path." };
  expect([
    ...summarize({ connected: { ...failure, rule: "no-endpoint" } }),
    ...summarize({ connected: failure }),
    ...summarize({ start: started, connected: failure }),
  ]).toEqual([
    "error no-endpoint: The server answers with HTTP 404 at https://example.com/mcp. |  -> Check the path.",
    `error no-session: No client can connect to it. | ${message} -> Check the path.`,
    `error no-session: The server starts, but no client can connect to it. | ${message} -> Check the path.`,
  ]);
});

test("a request that the server refuses with 401 or 403, after it answered others", async () => {
  const message = 'Server "a", called for "b", answers with HTTP 403 at https://example.com/mcp.';
  expect([...calling({ kind: "broken", stage: "server", message }), ...listing(message)]).toMatchInlineSnapshot(`
    [
      "error credentials: A call of "get_weather" is refused with HTTP 403. | Server "a", called for "b", answers with HTTP 403 at https://example.com/mcp. -> Give credentials that may call it, under "headers" or with \`evals login\`.",
      "error credentials: The server connects, but answers the request for its tools with HTTP 403. | Server "a", called for "b", answers with HTTP 403 at https://example.com/mcp. -> Fix it.",
    ]
  `);
});

const listing = (message: string) => summarize({ ...working, listed: { kind: "no", message, hint: "Fix it." } });
const answer = (text: string, isError = true): CallOutcome => {
  return { kind: "result", result: { isError, content: [{ type: "text", text }] } };
};
const calling = (outcome: CallOutcome) => summarize({ ...working, calls: [{ tool: "get_weather", outcome }] });

test("a call that fails is an error where the schema of its tool is invalid, and a warning where only the answer is odd", () => {
  const fails = (inputSchema: JsonObject, other: JsonObject = { type: "object" }) =>
    diagnose({
      ...working,
      listed: {
        kind: "yes",
        tools: [
          { ...tool, inputSchema },
          { name: "get_other", inputSchema: other },
        ],
      },
      calls: [{ tool: "get_weather", outcome: answer("Log in first.") }],
    }).flatMap(({ rule, severity }) => (rule === "call-fails" ? [severity] : []));
  const invalid = { type: "object", required: ["city"] };
  expect(fails(invalid)).toEqual(["error"]);
  expect(fails({ type: "object" })).toEqual(["warning"]);
  expect(fails({ type: "object" }, invalid)).toEqual(["warning"]);
});

test("what is wrong with a server that starts", async () => {
  await expect(
    [
      ...summarize({ start: started, connected: { kind: "no", message: "closed the connection", hint: "Fix it." } }),
      ...listing('server "a" lists two tools named "b"'),
      ...listing('server "a": tool "b" (number 2 of its list) is malformed: inputSchema'),
      ...listing('server "a" answered tools/list with an error: no'),
      ...summarize({ ...working, listed: { kind: "yes", tools: [] } }),
      ...summarize({
        ...working,
        listed: { kind: "yes", tools: [{ name: "a", inputSchema: { type: "object", required: "b" } }] },
      }),
      ...calling({ kind: "broken", stage: "server", message: "exited with code 9" }),
      ...calling({ kind: "broken", stage: "timeout", message: "did not answer within 10 s" }),
      ...calling({ kind: "unknown-tool", message: "Unknown tool: get_weather" }),
      ...calling(answer("MCP error -32602: Tool get_weather not found")),
      ...calling(answer("Invalid arguments: city is required")),
      ...calling(answer("Log in first.")),
      ...summarize({ ...working, start: { ...started, ms: 12_300, noise: ["Welcome!"] } }),
    ].join("\n"),
  ).toMatchFileSnapshot("snapshots/starts.txt");
});

test("each diagnosis comes with a command that reproduces it", () => {
  const shown = (facts: Partial<ServerFacts>) => diagnose({ ...working, ...facts }).map((one) => one.command);
  const stopped: LocalStart = { ...started, answered: false, ended: "exited with code 1" };
  const unset = "(unset API_KEY; cd /srv && node server.js)";
  expect(shown({ start: { ...stopped, stderr: ["API_KEY is required"] } })).toEqual([unset]);
  expect(shown({ start: { ...stopped, stderr: ["OTHER_KEY is required"] } })).toEqual(["cd /srv && node server.js"]);
  expect(shown({ listed: { kind: "no", message: "no", hint: "Fix it." } })).toEqual(["evals lint"]);
  expect(shown({ listed: { kind: "yes", tools: [] } })).toEqual(["evals lint"]);
  const calls = [{ tool: "get_weather", outcome: answer("Log in first.") }];
  expect(shown({ calls })).toEqual(["evals probe get_weather"]);
  expect(shown({ show: { direct: "curl", lint: "curl" }, calls })).toEqual(["curl"]);
});

test("a failure that explains how to recover is not a fault", () => {
  expect(calling(answer('{"success":false,"error":"no city","retry_hint":"name one"}'))).toEqual([]);
  expect(calling(answer("fine", false))).toEqual([]);
});

test("faults of an entry are errors unless the server works here, and are not repeated", () => {
  const entry = [
    { rule: "registration-relative-path", severity: "error" as const, message: "It is relative.", fix: "Fix it." },
    { rule: "registration-script-missing", severity: "error" as const, message: "It is not there.", fix: "Fix it." },
    { rule: "registration-name", severity: "info" as const, message: "It is odd.", fix: "Fix it." },
  ];
  const ids = (facts: ServerFacts) => diagnose(facts).map(({ severity, rule }) => `${severity} ${rule}`);
  expect(ids({ show, entry, calls: [] })).toEqual([
    "error registration-relative-path",
    "error registration-script-missing",
  ]);
  expect(ids({ ...working, entry })).toEqual([
    "warning registration-relative-path",
    "warning registration-script-missing",
  ]);
  const script = { given: "a.js", path: "/srv/a.js", relative: true, exists: false };
  expect(ids({ show, entry, calls: [], start: { ...started, answered: false, script } })).toEqual([
    "error script-missing",
    "error registration-relative-path",
  ]);
});

test("quotes a long stderr from both ends, and the line that names the cause in between", () => {
  const noise = (n: number) => Array.from({ length: n }, (_, at) => `step ${at} of the start-up was done`);
  const cause = "Error: ACME_API_KEY is not set";
  const stderr = [...noise(80), cause, ...noise(80)];
  const [found] = diagnose({
    show,
    entry: [],
    calls: [],
    start: { ...started, answered: false, ended: "exited", stderr },
  });
  expect(found).toMatchObject({
    rule: "variable-missing",
    message: "The server needs the environment variable ACME_API_KEY.",
  });
  expect(found?.evidence).toContain(`stderr: ${cause}`);
  expect(found?.evidence?.filter((line) => line.includes("characters left out"))).toHaveLength(1);
  expect(found?.evidence?.join("\n").length).toBeLessThan(3_200);
});
