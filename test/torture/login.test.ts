import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it } from "vitest";
import { type Ended, start } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { listen } from "../fixtures/ports.ts";

/** What the hostile authorization server does at a path, in place of what is right. */
type Answer = (request: { body: string; origin: string; other: string }, response: ServerResponse) => void;

let dir: string;
let answers: Record<string, Answer>;
/** What the origin got that nothing must be sent to. */
let stolen: string[];
let issuer: string;

beforeEach(() => {
  dir = makeFolder();
  answers = {};
  stolen = [];
  writeFileSync(join(dir, "browser"), `#!/bin/sh\necho "$@" >> ${join(dir, "opened")}\n`);
  chmodSync(join(dir, "browser"), 0o755);
});

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(handle))}`;
}

const json = (response: ServerResponse, body: unknown, status = 200) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** An MCP server with an authorization server of its own on one origin, and another origin. */
async function startHostile(): Promise<string> {
  const other = await serve(async (request, response) => {
    stolen.push(`${request.method} ${request.url} ${await text(request)}`);
    json(response, { access_token: "stolen", token_type: "Bearer" });
  });
  issuer = await serve(async (request, response) => {
    const body = await text(request);
    const path = new URL(request.url ?? "/", "http://x").pathname;
    const own = answers[path];
    const origin = issuer;
    if (own) return own({ body, origin, other }, response);
    if (path === "/mcp") {
      response.setHeader("www-authenticate", `Bearer resource_metadata="${origin}/resource"`);
      return json(response, {}, 401);
    }
    if (path === "/resource") return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    if (path === "/.well-known/oauth-authorization-server") return json(response, metadata(origin));
    if (path === "/register") return json(response, { ...JSON.parse(body), client_id: "client-1" }, 201);
    return json(response, {}, 404);
  });
  return `${issuer}/mcp`;
}

const metadata = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  response_types_supported: ["code"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
});
const changed = (change: (urls: { origin: string; other: string }) => object): Answer => {
  return ({ origin, other }, response) => json(response, { ...metadata(origin), ...change({ origin, other }) });
};

/** Logs in, and answers at the callback as `browse` says: with the parameters that the page asks for. */
async function logIn(
  browse?: (callback: URL, state: string) => unknown,
  flags: readonly string[] = ["--no-browser"],
  timeout = "600",
): Promise<Ended> {
  const url = await startHostile();
  const { child, ended } = start(["login", url, "--timeout", timeout, ...flags], {
    cwd: dir,
    env: { HOME: dir, OAUTH_CLIENT_SECRET: "canary-client-secret", BROWSER: join(dir, "browser") },
  });
  let err = "";
  child.stderr?.on("data", (data) => {
    err += data;
    const page = /^ {2}(http\S+)$/m.exec(err)?.[1];
    if (!page || !browse) return;
    const { searchParams } = new URL(page);
    const once = browse;
    browse = undefined;
    void once(new URL(searchParams.get("redirect_uri") ?? ""), searchParams.get("state") ?? "");
  });
  return await ended;
}

const answerCallback = (callback: URL, parameters: Record<string, string>) => {
  for (const [name, value] of Object.entries(parameters)) callback.searchParams.set(name, value);
  return fetch(callback);
};
const permit = (callback: URL, state: string) =>
  answerCallback(callback, { state, code: "canary-code-1", iss: issuer });

function expectRefused({ code, out, err }: Ended, message: RegExp): void {
  expect(err).toMatch(message);
  expect(code).toBe(3);
  expect(out).toBe("");
  expect(err).not.toMatch(/Internal error|\n\s+at /);
  expect(err.length, err).toBeLessThan(4_000);
  for (const secret of ["canary-code-1", "canary-client-secret"]) expect(err).not.toContain(secret);
  expect(stolen).toEqual([]);
  const logins = join(dir, ".config/tool-evals/logins");
  expect(existsSync(logins) ? readdirSync(logins) : []).toEqual([]);
}

describe("a hostile authorization server", () => {
  it.each(["/resource", "/.well-known/oauth-authorization-server", "/register", "/token"])(
    "that redirects %s to another origin gets nothing there",
    async (path) => {
      answers[path] = ({ other }, response) => void response.writeHead(307, { location: `${other}/steal` }).end();
      // Without metadata of the resource, the client looks for those of its origin.
      const message = path === "/resource" ? /failed: HTTP 404/ : /redirects elsewhere, which a login does not follow/;
      expectRefused(await logIn(permit), message);
    },
  );

  it.each(["/resource", "/.well-known/oauth-authorization-server", "/register", "/token"])(
    "whose answer at %s has no end is left at 1 MiB",
    async (path) => {
      answers[path] = (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const write = () => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
        };
        response.on("drain", write);
        write();
      };
      expectRefused(await logIn(permit), path === "/resource" ? /failed: HTTP 404/ : /is larger than 1 MiB/);
    },
  );

  it("that answers byte after byte is left when the time is over", async () => {
    answers["/token"] = (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write(" "), 100);
      response.on("close", () => clearInterval(timer));
    };
    expectRefused(await logIn(permit, ["--no-browser"], "10"), /failed: no answer within 10 s/);
  });

  it.each(["javascript:alert(1)", "file:///etc/passwd", "vscode://x/y"])(
    "whose page is %s has nothing opened",
    async (page) => {
      answers["/.well-known/oauth-authorization-server"] = changed(() => ({ authorization_endpoint: page }));
      expectRefused(await logIn(undefined, []), /login at .* (failed|has a page that is not on the web)/);
      expect(existsSync(join(dir, "opened"))).toBe(false);
    },
  );

  it("that repeats code, proof and secret in its error has none of them printed", async () => {
    let sent = "";
    answers["/token"] = ({ body }, response) => {
      sent = body;
      const { code, code_verifier } = Object.fromEntries(new URLSearchParams(body));
      const description = `${"x".repeat(5_000)} ${code} ${code_verifier} canary-client-secret ${body}`;
      json(response, { error: "invalid_grant", error_description: `${code} ${code_verifier} ${description}` }, 400);
    };
    const ended = await logIn(permit, ["--no-browser", "--client-id", "by-hand"]);
    expectRefused(ended, /The login at .* failed: .*\[redacted: login\]/);
    const verifier = new URLSearchParams(sent).get("code_verifier") ?? "";
    expect(verifier).not.toBe("");
    expect(ended.err).not.toContain(verifier);
    expect(ended.err).not.toContain("issuer");
  });

  it("cannot mix in the answer of another one, nor one to another login", async () => {
    let asked = 0;
    answers["/token"] = (_, response) => {
      asked++;
      json(response, { access_token: "token-1", token_type: "Bearer" });
    };
    const statuses: number[] = [];
    const ended = await logIn(async (callback, state) => {
      const wrong = await answerCallback(new URL(callback), { state: "guessed", code: "foreign" });
      statuses.push(wrong.status);
      await answerCallback(callback, { state, code: "canary-code-1", iss: "http://evil.example" });
    });
    expectRefused(ended, /The login at .* failed: Issuer mismatch/);
    expect([statuses, asked]).toEqual([[404], 0]);
  });

  it("that names another issuer in its metadata is refused before anything is registered", async () => {
    answers["/.well-known/oauth-authorization-server"] = changed(({ other }) => ({
      issuer: other,
      registration_endpoint: `${other}/register`,
    }));
    expectRefused(await logIn(permit), /Issuer mismatch/);
  });
});

it("a right login is stored, with nothing of it printed", async () => {
  answers["/token"] = (_, response) => json(response, { access_token: "canary-access-token", token_type: "Bearer" });
  const { out, err } = await logIn(permit);
  const logins = join(dir, ".config/tool-evals/logins");
  const [file = ""] = readdirSync(logins);
  expect(readFileSync(join(logins, file), "utf8")).toContain("canary-access-token");
  expect(out + err).not.toContain("canary-access-token");
});
