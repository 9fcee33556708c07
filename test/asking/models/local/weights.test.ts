import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findWeights, type WeightsOptions } from "../../../../src/evals/asking/models/local/weights.ts";
import { listen } from "../../../fixtures/ports.ts";
import { createProject } from "./stub.ts";

const content = "GGUF, or so";
const sha256 = createHash("sha256").update(content).digest("hex");

/** A hub with one repository, which has one file. `fault` says what is wrong with it. */
async function setUp({ fault, isRefused, CI }: { fault?: string; isRefused?: boolean; CI?: string } = {}) {
  const project = createProject();
  const stopping = new AbortController();
  let downloads = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/api/models/")) {
      const lfs = { sha256: fault === "checksum" ? "0".repeat(64) : sha256 };
      const size = fault === "large" ? 1e18 : content.length;
      const siblings = [
        { rfilename: "README.md" },
        { rfilename: "tiny-q8_0.gguf" },
        { rfilename: "tiny-q4_k_m.gguf", size, lfs },
      ];
      if (fault === "gated") response.writeHead(401);
      response.end(JSON.stringify({ cardData: { license: "apache-2.0" }, siblings }));
    } else {
      downloads++;
      if (fault === "full") response.writeHead(507);
      if (fault === "stopped") stopping.abort();
      response.end(content);
    }
  });
  const hub = `http://127.0.0.1:${await listen(server)}`;
  const told: string[] = [];
  const clean = (text: string) =>
    text
      .replaceAll(project.cwd, "<cwd>")
      .replaceAll(hub, "<hub>")
      .replace(/[\d,]+ MB free/, "<n> MB free");
  const options: WeightsOptions = {
    env: {
      EVALS_MODELS: join(project.cwd, "models"),
      HF_ENDPOINT: fault === "offline" ? "http://127.0.0.1:1" : hub,
      CI,
    },
    cwd: project.cwd,
    io: {
      err: (text) => void told.push(clean(text)),
      errIsTerminal: false,
      signal: stopping.signal,
      ...(isRefused !== undefined && {
        prompts: { confirm: async () => !isRefused, select: async () => undefined, text: async () => undefined },
      }),
    },
  };
  const find = (name: string) =>
    findWeights(`local:${name}`, name, options).then(
      ({ file }) => clean(file),
      (error: Error) => clean(error.message),
    );
  return { ...project, find, told, countDownloads: () => downloads };
}

const hosted = "hf:someone/tiny:Q4_K_M";

describe("weights", () => {
  it.each([
    ["m.gguf", "m.gguf"],
    ["small.gguf", "models/small.gguf"],
    ["small", "models/small.gguf"],
    ["qwen2.5-coder-0.5b", "models/qwen2.5-coder-0.5b.gguf"],
    ["", "models/qwen2.5-coder-1.5b.gguf"],
    [hosted, "models/someone_tiny_Q4_K_M.gguf"],
  ])("of %j are found in %s without the network", async (name, file) => {
    const { cwd, find } = await setUp({ fault: "offline" });
    mkdirSync(join(cwd, "models"));
    writeFileSync(join(cwd, file), content);
    expect(await find(name)).toBe(`<cwd>/${file}`);
  });

  it("are downloaded once by two that want them, with license and size, and checked", async () => {
    const { cwd, find, told, countDownloads } = await setUp({ isRefused: false });
    expect(await Promise.all([find(hosted), find(hosted)])).toEqual([
      "<cwd>/models/someone_tiny_Q4_K_M.gguf",
      "<cwd>/models/someone_tiny_Q4_K_M.gguf",
    ]);
    expect(readFileSync(join(cwd, "models/someone_tiny_Q4_K_M.gguf"), "utf8")).toBe(content);
    expect(countDownloads()).toBe(1);
    expect([...new Set(told)].join("")).toMatchInlineSnapshot(`
      "The weights of local:hf:someone/tiny:Q4_K_M are downloaded once. tiny-q4_k_m.gguf of someone/tiny: 0 MB, license apache-2.0, from <hub> to <cwd>/models/someone_tiny_Q4_K_M.gguf
      Downloaded 0 MB of 0 MB (100%)
      "
    `);
  });

  it("are downloaded without a question in CI", async () => {
    const { find } = await setUp({ CI: "true" });
    expect(await find(hosted)).toBe("<cwd>/models/someone_tiny_Q4_K_M.gguf");
  });

  it.each<[string, Parameters<typeof setUp>[0], string]>([
    ["without the network", { fault: "offline", isRefused: false }, hosted],
    ["by name, without the network", { fault: "offline", isRefused: false }, ""],
    ["where the hub wants a login", { fault: "gated", isRefused: false }, hosted],
    ["that the repository lacks", { isRefused: false }, "hf:someone/tiny:F16"],
    ["that the user declines", { isRefused: true }, hosted],
    ["without a terminal", {}, hosted],
    ["that do not fit the disk", { fault: "large", isRefused: false }, hosted],
    ["while the disk fills", { fault: "full", isRefused: false }, hosted],
    ["that are stopped on the way", { fault: "stopped", isRefused: false }, hosted],
    ["whose checksum differs", { fault: "checksum", isRefused: false }, hosted],
    ["of an unknown name", {}, "qwen2.5-coder-0.5"],
    ["of a file that is not there", {}, "models/none.gguf"],
  ])("%s are one error", async (_, options, name) => {
    const { cwd, find } = await setUp(options);
    expect(await find(name)).toMatchSnapshot();
    expect(existsSync(join(cwd, "models/someone_tiny_Q4_K_M.gguf"))).toBe(false);
  });
});
