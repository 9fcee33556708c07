import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../fakes/folder.ts";
import { listen } from "../fixtures/ports.ts";
import { noRedis, startRedis } from "../fixtures/redis.ts";
import { spawnEvals } from "./evals.ts";

const hint =
  "Start the Redis server, or correct its settings or the URL. User and password can be in the URL, or in REDIS_USERNAME and REDIS_PASSWORD.";

describe.skipIf(noRedis)("a queue that cannot be used is reported before anything starts", () => {
  const cwd = makeFolder();
  const connect = async (url: string, env: Record<string, string> = {}) => {
    const { code, err } = await spawnEvals(["worker", url, "--max-idle", "0.1"], { cwd, env });
    return { code, err };
  };

  it("a URL of another kind, a server that is not there", async () => {
    expect(await connect("http://user:secret-word@queue")).toEqual({
      code: 2,
      err: expect.stringMatching(/^error: "http:\/\/queue\/?" is not the URL of a Redis server\.\n {2}Write it as/),
    });
    const unreachable = {
      code: 3,
      err: `error: The queue at redis://127.0.0.1:1 cannot be used: connect ECONNREFUSED 127.0.0.1:1.\n  ${hint}\n`,
    };
    const bare = await connect("redis://user:50%secret-word@127.0.0.1:1");
    expect(bare.code).toBe(2);
    expect(bare.err).toMatch(/is not the URL of a Redis server\.\n.*% as %25/);
    expect(bare.err).not.toContain("secret-word");
    const url = "redis://user:50%25secret-word@127.0.0.1:1";
    expect(await connect(url)).toEqual(unreachable);
    expect(await spawnEvals(["run", "--queue", url], { cwd })).toEqual({ ...unreachable, out: "" });
  });

  it("a login, eviction and a server without an append-only file", async () => {
    const password = "correct-horse-battery";
    const server = await startRedis(
      ["--requirepass", password, "--appendonly", "no", "--maxmemory-policy", "allkeys-lru"],
      { password },
    );
    expect(await connect(server.url)).toEqual({
      code: 3,
      err: expect.stringMatching(/cannot be used: NOAUTH .*\.\n.*REDIS_USERNAME and REDIS_PASSWORD\.\n/),
    });
    const wrong = await connect(server.url.replace("//", "//:wrong-password@"));
    expect(wrong.code).toBe(3);
    expect(wrong.err).toContain("cannot be used: WRONGPASS");
    const inUrl = await connect(server.url.replace("//", `//default:${password}@`));
    const inEnv = await connect(server.url, { REDIS_PASSWORD: password });
    for (const ended of [inUrl, inEnv]) {
      expect(ended.code).toBe(0);
      expect(ended.err).toContain("Set appendonly to yes, and maxmemory-policy to noeviction.");
      expect(ended.err).not.toContain(password);
    }
  });

  it("a server of another kind", async () => {
    const web = createServer((socket) => {
      socket.on("error", () => {}).on("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    });
    const url = `redis://127.0.0.1:${await listen(web)}`;
    expect(await connect(url)).toEqual({
      code: 3,
      err: `error: The queue at ${url} cannot be used: it does not answer as a Redis server.\n  ${hint}\n`,
    });
  });

  it("a database that the server does not have", async () => {
    const server = await startRedis();
    const url = `${server.url}/99`;
    expect(await connect(url)).toEqual({
      code: 3,
      err: `error: The queue at ${url} cannot be used: ERR DB index is out of range.\n  ${hint}\n`,
    });
  });

  it.each([
    ["is full", ["--maxmemory", "100kb"], "OOM command not allowed when used memory > 'maxmemory'"],
    ["is a replica", ["--replicaof", "127.0.0.1 1"], "READONLY You can't write against a read only replica"],
    [
      "is a node of a cluster",
      ["--cluster-enabled", "yes"],
      "it is a node of a cluster, which a queue does not support",
    ],
  ])("a server that %s", async (_, args, reason) => {
    const server = await startRedis(args);
    expect(await connect(server.url)).toEqual({
      code: 3,
      err: expect.stringMatching(/^error: The queue at \S+ cannot be used: .*\.\n {2}Start the Redis server/),
    });
    const { code, err } = await spawnEvals(["run", "--queue", server.url], { cwd });
    expect(code).toBe(3);
    expect(err).toContain(`cannot be used: ${reason}.`);
  });

  it("a server with TLS is reached with its CA", async () => {
    const secure = await startRedis([], { tls: true });
    const ca = join(import.meta.dirname, "../fixtures/tls/ca.pem");
    const trusted = await connect(secure.url, { NODE_EXTRA_CA_CERTS: ca });
    expect(trusted.code, trusted.err).toBe(0);
    const byAddress = await connect(secure.url.replace("localhost", "127.0.0.1"), { NODE_EXTRA_CA_CERTS: ca });
    expect(byAddress.err).not.toContain("DeprecationWarning");
    const untrusted = await connect(secure.url);
    expect(untrusted.code).toBe(3);
    expect(untrusted.err).toMatch(/cannot be used: .*certificate/);
  });

  it("packages that are not installed", async () => {
    const hook = `export const resolve = (name, context, next) => {
      if (name === "ioredis") throw Object.assign(new Error("Cannot find package 'ioredis'"), { code: "ERR_MODULE_NOT_FOUND" });
      return next(name, context);
    };`;
    const register = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(hook)}");`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(register)}`;
    expect(await connect("redis://127.0.0.1:1", { NODE_OPTIONS })).toEqual({
      code: 2,
      err: "error: A queue needs the packages bullmq and ioredis, which cannot be loaded.\n  Install them: npm install bullmq@6 ioredis@6\n",
    });
  });
});
