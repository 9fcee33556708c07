import { expect, test } from "vitest";
import { diagnose } from "../../src/evals/diagnosis/diagnose.ts";
import type { LocalStart, RemoteStart, ServerFacts } from "../../src/evals/diagnosis/facts.ts";
import type { CallOutcome } from "../../src/evals/types/server.ts";

const started: LocalStart = {
  kind: "local",
  program: { kind: "found" },
  folder: { path: "/srv", exists: true },
  answered: true,
  ms: 80,
  stderr: [],
  noise: [],
  notPassedOn: new Set(["HOME_OF_KEYS", "API_KEY"]),
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

/** What is said of these facts: `severity id: what is wrong | evidence -> remedy`. */
function said(facts: Partial<ServerFacts>, command = "node"): string[] {
  return diagnose({ show, entry: [], calls: [], ...facts }, command).map(
    ({ severity, id, wrong, evidence, remedy }) => `${severity} ${id}: ${wrong} | ${evidence.join(" | ")} -> ${remedy}`,
  );
}

const local = (changes: Partial<LocalStart>, command?: string) =>
  said({ start: { ...started, answered: false, ...changes } }, command);
const ended = (...stderr: string[]) => local({ ended: "exited with code 1", stderr })[0]?.split(" | ")[0];

test("nothing is wrong with a server that works", () => {
  expect(said(working)).toEqual([]);
});

test("what keeps a local server from running", () => {
  expect([
    ...local({ folder: { path: "/no/such", exists: false } }),
    ...local({ program: { kind: "missing", searched: ["/bin", "/usr/bin"], instead: "python3" } }, "python"),
    ...local({ program: { kind: "missing", searched: ["/bin"] } }, "uvx"),
    ...local({ program: { kind: "missing", searched: ["/srv/run.sh"] } }, "./run.sh"),
    ...local({ program: { kind: "not executable", path: "/srv/run.sh" } }, "./run.sh"),
    ...local({ script: { given: "a.js", path: "/srv/a.js", relative: true, exists: false }, ended: "exited" }),
    ...local({ script: { given: "/a.js", path: "/a.js", relative: false, exists: false }, ended: "exited" }),
    ...local({ ended: "was killed by SIGKILL" }),
    ...local({ ended: "exited with code 1", stderr: ["API_KEY is required"], noise: ["Hello"] }),
    ...local({ ended: "exited with code 1", stderr: ["MY_API_KEY is required"] }),
    ...local({ program: { kind: "missing", searched: ["/bin"] } }, `\${BIN}/run`),
    ...local({
      script: { given: `\${env:DIST}/a.js`, path: `/srv/\${env:DIST}/a.js`, relative: true, exists: false },
      ended: "exited",
    }),
    ...local({ ms: 30_000 }),
    ...local({ ms: 30_000, noise: ["Welcome!"] }),
    ...local({ ms: 30_000, stderr: ["Server running on http://localhost:3000"] }),
  ]).toMatchInlineSnapshot(`
    [
      "error folder-missing: The folder that it starts in does not exist: /no/such. |  -> Mend cwd, or leave it out.",
      "error program-missing: There is no program "python". Here it is called python3. | not in the folders of PATH: /bin, /usr/bin -> Write python3 as the command.",
      "error program-missing: There is no program "uvx". | not in the folders of PATH: /bin -> Install uv, or give the absolute path of the program: a host may have a shorter PATH than a shell.",
      "error program-missing: There is no program "./run.sh". | not at /srv/run.sh -> Build it, or give its absolute path.",
      "error program-not-executable: /srv/run.sh is no program that may be run. |  -> Make it executable with chmod +x, or name its interpreter as the command.",
      "error script-missing: There is no script /srv/a.js. | "a.js" was looked up from /srv -> Give the script by its absolute path: every host starts a server in a folder of its own choice.",
      "error script-missing: There is no script /a.js. |  -> Build the server, or mend the path.",
      "error exits: It ends before it answers, and says nothing on stderr. | was killed by SIGKILL -> See that it connects its transport, stays until stdin is closed, and says on stderr why it ends.",
      "error variable-missing: It asks for the environment variable API_KEY. | exited with code 1 | stderr: API_KEY is required | stdout: Hello | API_KEY is set in this shell, and is not passed on to a server -> Name API_KEY under env of its entry: a server inherits only a few variables, such as HOME and PATH.",
      "error variable-missing: It asks for the environment variable MY_API_KEY. | exited with code 1 | stderr: MY_API_KEY is required -> Name MY_API_KEY under env of its entry: a server inherits only a few variables, such as HOME and PATH.",
      "error program-missing: There is no program "\${BIN}/run". | not at /bin -> Set BIN where the host is started, or write the path without it.",
      "error script-missing: There is no script /srv/\${env:DIST}/a.js. | "\${env:DIST}/a.js" was looked up from /srv -> Set DIST where the host is started, or write the path without it.",
      "error silent: It runs, but did not answer within 30 s. |  -> Check that the command starts an MCP server over stdio.",
      "error stdout-noise: It runs, but did not answer within 30 s. It writes to stdout what is not the protocol. | stdout: Welcome! -> Write logs to stderr: stdout belongs to the protocol.",
      "error web-server: It runs, but did not answer within 30 s. It seems to serve over HTTP. | stderr: Server running on http://localhost:3000 -> Register it by its url, or start it with its option for stdio.",
    ]
  `);
});

test.each([
  ["a module", "Error: Cannot find module '/srv/dist/a.js'", "module-missing: It cannot load /srv/dist/a.js."],
  ["a package", "ModuleNotFoundError: No module named 'mcp.server'", "module-missing: It cannot load mcp.server."],
  ["a script", "python3: can't open file '/srv/a.py': [Errno 2]", "module-missing: It cannot load /srv/a.py."],
  ["the end of a trace", "  code: 'ERR_MODULE_NOT_FOUND'", "module-missing: It cannot load a module."],
  ["npm", "npm error code E404", "package-missing: Its package is not to be had from the registry."],
  [
    "a port",
    "Error: listen EADDRINUSE: address already in use",
    "port-in-use: It wants a port that another program has taken.",
  ],
  ["syntax", "SyntaxError: Unexpected token ':'", "syntax: Its code cannot be read by the program that runs it."],
  [
    "a variable first",
    "GITHUB_TOKEN is not set",
    "variable-missing: It asks for the environment variable GITHUB_TOKEN.",
  ],
  ["a variable last", "Missing GITHUB_TOKEN", "variable-missing: It asks for the environment variable GITHUB_TOKEN."],
  ["a right", "EACCES: permission denied, open '/x'", "permission: It may not open what it needs."],
  [
    "a service",
    "connect ECONNREFUSED 127.0.0.1:5432",
    "service-unreachable: It cannot reach a service that it needs to start.",
  ],
  ["usage", "Usage: server <folder>", "arguments: It wants other arguments."],
  ["something else", "ValueError: boom", "exits: It ends before it answers."],
])("stderr that tells of %s", (_, line, expected) => {
  expect(ended(line)).toBe(`error ${expected}`);
});

const remote = (answer: RemoteStart["answer"], url = "https://example.com/mcp", transport: "http" | "sse" = "http") =>
  said({
    start: { kind: "remote", url, transport, answer },
    connected: { kind: "no", message: "no MCP here", hint: "Check the url." },
  });
const none = (code: string, url?: string) => remote({ kind: "none", code, message: `${code} it is` }, url);

test("what keeps a client from a URL", () => {
  expect([
    ...none("ECONNREFUSED"),
    ...none("ENOTFOUND"),
    ...none("DEPTH_ZERO_SELF_SIGNED_CERT"),
    ...none("ERR_SSL_WRONG_VERSION_NUMBER"),
    ...none("TIMEOUT"),
    ...none("UND_ERR_SOCKET"),
    ...none("", "ftp://example.com/mcp"),
    ...remote({ kind: "status", status: 308, location: "https://example.com/v2/mcp" }),
    ...remote({ kind: "status", status: 401, authenticate: 'Bearer realm="a"' }),
    ...remote({ kind: "status", status: 403, type: "text/html" }),
    ...remote({ kind: "status", status: 404 }),
    ...remote({ kind: "status", status: 405 }, "https://example.com/sse", "sse"),
    ...remote({ kind: "status", status: 502 }),
    ...remote({ kind: "status", status: 200, type: "text/html" }),
  ]).toMatchInlineSnapshot(`
    [
      "error port-refused: Nothing listens on the port. | ECONNREFUSED it is -> Start the server, and check host and port of the url.",
      "error host-unknown: The name of the host is not known. | ENOTFOUND it is -> Mend the url, and check the network and its proxy.",
      "error certificate: Its certificate is not trusted. | DEPTH_ZERO_SELF_SIGNED_CERT it is -> Install a certificate that is, or name its authority with NODE_EXTRA_CA_CERTS.",
      "error tls: It does not speak TLS in the way that the url says. | ERR_SSL_WRONG_VERSION_NUMBER it is -> Write http:// if the server has no TLS, or put it behind a proxy that has.",
      "error no-answer: It accepts no request in time. | TIMEOUT it is -> Check that the server runs, and that no firewall stands between.",
      "error unreachable: It cannot be reached. | UND_ERR_SOCKET it is -> Check host, port and path of the url.",
      "error no-url: This is no http or https URL. |  it is -> Write it as https://host/path.",
      "error redirect: The URL is redirected to https://example.com/v2/mcp. | HTTP 308 | the client: no MCP here -> Write the address that it leads to: hosts drop headers on a redirect, or do not follow it.",
      "error credentials: It asks for credentials. | HTTP 401 | WWW-Authenticate: Bearer realm="a" | the client: no MCP here -> Give them under headers as Authorization: Bearer, or log in with the host.",
      "error credentials: It refuses the credentials. | HTTP 403, text/html | the client: no MCP here -> Give them under headers, or log in with the host.",
      "error no-endpoint: There is no MCP endpoint at this path. | HTTP 404 | the client: no MCP here -> Check the path (often /mcp or /sse), and whether the server's transport is sse.",
      "error no-endpoint: There is no MCP endpoint at this path. | HTTP 405 | the client: no MCP here -> Check the path (often /mcp or /sse), and whether the server's transport is http.",
      "error server-fault: The server fails. | HTTP 502 | the client: no MCP here -> See the server's own log.",
      "error not-mcp: It answers, but not as an MCP server. | HTTP 200, text/html | the client: no MCP here -> Check the url.",
    ]
  `);
});

const listing = (message: string) => said({ ...working, listed: { kind: "no", message, hint: "Mend it." } });
const answer = (text: string, isError = true): CallOutcome => {
  return { kind: "result", result: { isError, content: [{ type: "text", text }] } };
};
const calling = (outcome: CallOutcome) => said({ ...working, calls: [{ tool: "get_weather", outcome }] });

test("what is wrong with a server that starts", () => {
  expect([
    ...said({ start: started, connected: { kind: "no", message: "closed the connection", hint: "Mend it." } }),
    ...listing('server "a" lists two tools named "b"'),
    ...listing('server "a": tool "b" (number 2 of its list) is malformed: inputSchema'),
    ...listing('server "a" answered tools/list with an error: no'),
    ...said({ ...working, listed: { kind: "yes", tools: [] } }),
    ...said({
      ...working,
      listed: { kind: "yes", tools: [{ name: "a", inputSchema: { type: "object", required: "b" } }] },
    }),
    ...calling({ kind: "broken", stage: "server", message: "exited with code 9" }),
    ...calling({ kind: "broken", stage: "timeout", message: "did not answer within 10 s" }),
    ...calling({ kind: "unknown-tool", message: "Unknown tool: get_weather" }),
    ...calling(answer("MCP error -32602: Tool get_weather not found")),
    ...calling(answer("Invalid arguments: city is required")),
    ...calling(answer("Log in first.")),
    ...said({ ...working, start: { ...started, ms: 12_300, noise: ["Welcome!"] } }),
  ]).toMatchInlineSnapshot(`
    [
      "error no-session: It starts, but no client can connect to it. | closed the connection -> Mend it.",
      "error duplicate-tools: Two of its tools have one name. | server "a" lists two tools named "b" -> Give each a name of its own: neither a host nor a model can tell them apart.",
      "error malformed-tool: One malformed tool makes clients refuse its list. | server "a": tool "b" (number 2 of its list) is malformed: inputSchema -> Mend it.",
      "error list-fails: It connects, but its tools cannot be listed. | server "a" answered tools/list with an error: no -> Mend it.",
      "error no-tools: It lists no tools. |  -> Register tools before the server answers tools/list; some servers need settings to offer any.",
      "error malformed-schema: 1 tool has a malformed inputSchema. | a: $.inputSchema.required: required is "b", not a list of names. -> Mend it: such a tool is listed, but hosts refuse it or its calls fail.",
      "error call-breaks: get_weather is listed, but a call of it breaks the server. | exited with code 9 -> Catch the failure in the tool, and return it as a result that says how to recover.",
      "warning call-silent: get_weather is listed, but does not answer a call in time. | did not answer within 10 s -> If it hangs, end it with a result that says so; if it takes long by its nature, say so in its description.",
      "error call-unknown: get_weather is listed, but the server does not know it when it is called. | it answers "Unknown tool: get_weather" -> Answer calls under the names that are listed.",
      "error call-unknown: get_weather is listed, but the server does not know it when it is called. | it answers "MCP error -32602: Tool get_weather not found" -> Answer calls under the names that are listed.",
      "error call-fails: get_weather is listed, but a call of it without arguments fails. | it answers "Invalid arguments: city is required" -> Mend its inputSchema: the usual cause is a wrong type, or a parameter that is needed and not in required.",
      "warning call-fails: get_weather is listed, but a call of it without arguments fails. | it answers "Log in first." -> If it needs something first, say so in its description, and in a retry_hint of its result.",
      "warning slow-start: It takes 12 s to answer; some hosts give up after 10. |  -> Install it instead of fetching it at each start, and load what is heavy when it is first needed.",
      "warning stdout-noise: It writes to stdout what is not the protocol; some hosts close the connection for that. | stdout: Welcome! -> Write logs to stderr.",
    ]
  `);
});

test("the command beside a fault shows it", () => {
  const shown = (facts: Partial<ServerFacts>) => diagnose({ ...working, ...facts }, "node").map((one) => one.show);
  const stopped: LocalStart = { ...started, answered: false, ended: "exited with code 1" };
  expect([
    shown({ start: { ...stopped, stderr: ["API_KEY is required"] } }),
    shown({ start: { ...stopped, stderr: ["OTHER_KEY is required"] } }),
    shown({ listed: { kind: "no", message: "no", hint: "Mend it." } }),
    shown({ listed: { kind: "yes", tools: [] } }),
    shown({ calls: [{ tool: "get_weather", outcome: answer("Log in first.") }] }),
    shown({ show: { direct: "curl", lint: "curl" }, calls: [{ tool: "get_weather", outcome: answer("No.") }] }),
  ]).toEqual([
    ["(unset API_KEY; cd /srv && node server.js)"],
    ["cd /srv && node server.js"],
    ["evals lint"],
    ["evals lint"],
    ["evals probe get_weather"],
    ["curl"],
  ]);
});

test("a failure that says how to recover is no fault", () => {
  expect(calling(answer('{"success":false,"error":"no city","retry_hint":"name one"}'))).toEqual([]);
  expect(calling(answer("fine", false))).toEqual([]);
});

test("faults of an entry are errors unless the server works here, and are not told twice", () => {
  const entry = [
    { id: "registration-absolute-script", severity: "error" as const, message: "It is relative.", fix: "Mend it." },
    { id: "registration-script-missing", severity: "error" as const, message: "It is not there.", fix: "Mend it." },
    { id: "registration-name", severity: "info" as const, message: "It is odd.", fix: "Mend it." },
  ];
  const ids = (facts: ServerFacts) => diagnose(facts, "node").map(({ severity, id }) => `${severity} ${id}`);
  expect(ids({ show, entry, calls: [] })).toEqual([
    "error registration-absolute-script",
    "error registration-script-missing",
  ]);
  expect(ids({ ...working, entry })).toEqual([
    "warning registration-absolute-script",
    "warning registration-script-missing",
  ]);
  const script = { given: "a.js", path: "/srv/a.js", relative: true, exists: false };
  expect(ids({ show, entry, calls: [], start: { ...started, answered: false, script } })).toEqual([
    "error script-missing",
    "error registration-absolute-script",
  ]);
});
