import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { knownSecrets } from "../../src/evals/base/secrets/secrets.ts";
import { logIn } from "../../src/evals/inspection/login.ts";
import { connect } from "../../src/evals/servers/connect.ts";
import { type LoginSettings, login } from "../../src/evals/servers/login.ts";
import { tokenFile } from "../../src/evals/servers/tokens.ts";
import { makeFolder } from "../fakes/folder.ts";
import { anIo } from "../fakes/io.ts";
import { type ProtectedServer, startProtectedServer } from "../fixtures/endpoints/authorization.ts";

let sut: ProtectedServer;
let home: string;
let env: Record<string, string>;
beforeEach(async () => {
  sut = await startProtectedServer();
  home = makeFolder();
  env = { HOME: home };
});

const never = new AbortController().signal;
/** Opens the page as a browser does: it follows the redirect to the loopback port. */
const browse = (page: string) => void fetch(page);
const logInHere = (changes: Partial<LoginSettings> = {}) =>
  login(sut.url, { env, signal: never, open: browse, timeoutMs: 30_000, ...changes });
const stored = () => JSON.parse(readFileSync(tokenFile(sut.url, env), "utf8"));

async function list(): Promise<string[]> {
  const server = await connect({ url: sut.url }, { name: "sut", dir: home, env, signal: never });
  try {
    return (await server.list(never)).map(({ name }) => name);
  } finally {
    await server.close();
  }
}

it("finds the authorization server, registers, proves the key and stores the tokens for the user alone", async () => {
  await expect(list()).rejects.toThrow(
    `Log in with \`evals login ${sut.url}\`, or give its credentials under "headers" in .mcp.json or in a suite.`,
  );
  expect(await logInHere()).toBe(true);
  expect(sut.asked).toEqual([
    "GET /.well-known/oauth-protected-resource/mcp",
    "GET /.well-known/oauth-authorization-server",
    "POST /register",
    "GET /authorize",
    "POST /token",
  ]);
  expect(statSync(tokenFile(sut.url, env)).mode & 0o777).toBe(0o600);
  expect(tokenFile(sut.url, env).startsWith(join(home, ".config", "tool-evals"))).toBe(true);
  expect(await list()).toEqual(["read"]);
  // What servers repeat of it is redacted.
  expect(knownSecrets(env).redact(`token ${stored().tokens.access_token}`)).toBe("token [redacted: login]");
});

it("refreshes an expired token, keeps the new one, and says how to log in where that is refused", async () => {
  await logInHere();
  const before = stored().tokens;
  sut.valid.clear();
  expect(await list()).toEqual(["read"]);
  expect(stored().tokens.refresh_token).not.toBe(before.refresh_token);
  sut.valid.clear();
  sut.refreshes = false;
  const asked = sut.asked.length;
  await expect(list()).rejects.toThrow(
    `The login at ${sut.url} has expired or does not suffice.\n  Repeat \`evals login ${sut.url}\`.`,
  );
  // No client registers itself without a user.
  expect(sut.asked.slice(asked)).not.toContain("POST /register");
});

it("refreshes a token that expires between calls once, for all calls that wait for it", async () => {
  await logInHere();
  const server = await connect({ url: sut.url }, { name: "sut", dir: home, env, signal: never });
  sut.valid.clear();
  const asked = sut.asked.length;
  const calls = await Promise.all([1, 2, 3, 4, 5].map(() => server.call("read", {}, never)));
  expect(new Set(calls.map(({ kind }) => kind))).toEqual(new Set(["result"]));
  expect(sut.asked.slice(asked).filter((one) => one === "POST /token")).toHaveLength(1);
  await server.close();
});

it("accepts no answer but that of its own page, and says what was refused", async () => {
  const forged: number[] = [];
  const isDone = logInHere({
    open: async (page) => {
      const callback = new URL(new URL(page).searchParams.get("redirect_uri") ?? "");
      for (const query of ["?code=stolen&state=other", "?code=stolen"])
        forged.push((await fetch(new URL(query, callback))).status);
      browse(page);
    },
  });
  expect(await isDone).toBe(true);
  expect(forged).toEqual([404, 404]);
  sut.user.permits = false;
  await expect(logInHere()).rejects.toThrow("The login was not completed: the server answered access_denied.");
  // The page is to be shown before the time is over, on a busy machine too.
  await expect(logInHere({ open: () => {}, timeoutMs: 1_000 })).rejects.toThrow("nobody answered in time");
});

it("is a command that shows the page, checks the tokens and forgets them", async () => {
  const run = async (changes: Partial<Parameters<typeof logIn>[0]> = {}) => {
    const io = anIo({ env, err: (text) => browse(/http:\S+/.exec(text)?.[0] ?? sut.url) });
    const code = await logIn({ url: sut.url, forget: false, browser: false, timeout: 30, ...changes }, io);
    return `${code} ${io.printed()}`;
  };
  expect(await run()).toBe(`0 Logged in at ${sut.url}: 1 tool.\nTokens: ${tokenFile(sut.url, env)}\n`);
  expect(await run({ forget: true })).toBe(`0 Forgot the login at ${sut.url}.\n`);
  expect(await run({ forget: true })).toBe(`0 There is no login at ${sut.url}.\n`);
  await expect(run({ url: "ftp://x" })).rejects.toThrow("is not an http or https URL");
});

it("logs in where a session is open to everybody, and only its requests need a token", async () => {
  sut.opensSessions = true;
  const io = anIo({ env, err: (text) => browse(/http:\S+/.exec(text)?.[0] ?? sut.url) });
  await logIn({ url: sut.url, forget: false, browser: false, timeout: 30 }, io);
  expect(io.printed()).toContain(`Logged in at ${sut.url}: 1 tool.`);
});

it("does not end by advising itself where the server refuses the token of the login", async () => {
  sut.valid.add = () => sut.valid;
  sut.refreshes = false;
  const io = anIo({ env, err: (text) => browse(/http:\S+/.exec(text)?.[0] ?? sut.url) });
  const refused = logIn({ url: sut.url, forget: false, browser: false, timeout: 30 }, io);
  await expect(refused).rejects.toThrow("The login is stored. Ask the operator of the server");
  await expect(refused).rejects.not.toThrow("evals login");
});

it("names a file that was edited, and needs a login where only the client is registered", async () => {
  await logInHere();
  writeFileSync(tokenFile(sut.url, env), JSON.stringify({ ...stored(), tokens: undefined }));
  await expect(list()).rejects.toThrow(`Log in with \`evals login ${sut.url}\``);
  writeFileSync(tokenFile(sut.url, env), "{");
  await expect(list()).rejects.toThrow(/The login in .* cannot be read: it was edited\.\n {2}Remove the file/);
});
