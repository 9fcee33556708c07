import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import type { OfferedTool } from "../../src/evals/base/types/tool.ts";
import { type HostName, hosts, presentTools } from "../../src/evals/servers/host.ts";
import { createInstructionsEntry, createSkillEntry, createToolset } from "../../src/evals/servers/toolList.ts";

const tool = (name: string, server = "files", origin: OfferedTool["origin"] = "server"): OfferedTool => ({
  name,
  description: `${name} of ${server}`,
  inputSchema: { type: "object" },
  server,
  origin,
});

const offered = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z_]{1,12}$/),
    description: fc.string(),
    inputSchema: fc.dictionary(fc.string(), fc.jsonValue()),
    server: fc.constant("files"),
    origin: fc.constant("server" as const),
  }),
  { selector: ({ name }) => name, minLength: 1 },
) as fc.Arbitrary<OfferedTool[]>;

test("the hash is the SHA-256 of the canonical JSON of the tools sorted by name", () => {
  const canonical =
    '[{"description":"a of files","inputSchema":{"type":"object"},"name":"a","origin":"server","server":"files"},' +
    '{"description":"b of files","inputSchema":{"type":"object"},"name":"b","origin":"server","server":"files"}]';
  const frozen = createToolset([tool("b"), tool("a")]);
  expect(frozen.hash).toBe(createHash("sha256").update(canonical).digest("hex"));
  expect(frozen.tools.map(({ name }) => name)).toEqual(["b", "a"]);
});

test("the hash does not depend on the order of tools, nor on that of keys", () => {
  fc.assert(
    fc.property(offered, (tools) => {
      const turned = [...tools]
        .reverse()
        .map((one) => Object.fromEntries(Object.entries(one).reverse()) as OfferedTool);
      expect(createToolset(turned).hash).toBe(createToolset(tools).hash);
    }),
  );
});

test("the hash changes with any word of a description", () => {
  fc.assert(
    fc.property(offered, fc.nat(), fc.string({ minLength: 1 }), (tools, pick, added) => {
      const changed = tools.map((one, index) =>
        index === pick % tools.length ? { ...one, description: `${one.description}${added}` } : one,
      );
      expect(createToolset(changed).hash).not.toBe(createToolset(tools).hash);
    }),
  );
});

test("the hash covers instructions, search hints and whether a tool is always loaded", () => {
  const plain = createToolset([tool("a")]).hash;
  const other = [
    createToolset([tool("a"), createInstructionsEntry("files", "Ask first.")]),
    createToolset([tool("a"), createInstructionsEntry("files", "Ask later.")]),
    createToolset([{ ...tool("a"), _meta: { "anthropic/alwaysLoad": true } }]),
    createToolset([{ ...tool("a"), _meta: { "anthropic/searchHint": "weather" } }]),
  ].map(({ hash }) => hash);
  expect(new Set([plain, ...other]).size).toBe(5);
});

test("two tools of one name", () => {
  expect(() => createToolset([tool("read"), tool("read", "github", "distractor")])).toThrowErrorMatchingInlineSnapshot(`
    [EvalsError: error: Two tools are named "read": one of server "files" and one of the distractor "github".
      Rename one, or remove one of the two: an expectation cannot distinguish them.]
  `);
});

const shownBy = (host: HostName, ...tools: OfferedTool[]) => presentTools(tools, host).tools.map(({ name }) => name);
const long = "a_tool_with_a_name_that_is_much_too_long_for_any_host_to_show";

test("each host names a tool in its own way", () => {
  const names = Object.keys(hosts).map((host) => [
    host,
    ...shownBy(host as HostName, tool("read.file", "my-files v2")),
  ]);
  expect(names).toEqual([
    ["plain", "read.file"],
    ["agent-skills", "read.file"],
    ["claude-code", "mcp__my-files_v2__read_file"],
    ["copilot", "my-files-v2-read-file"],
    ["goose", "my-filesv2__read.file"],
    ["gemini-cli", "mcp_my-files_v2_read.file"],
    ["codex", "mcp__my_files_v2__read_file"],
  ]);
});

test("no host lists a skill among the tools", () => {
  const entry = createSkillEntry({ name: "pdf", description: "Fills in forms." });
  for (const host of Object.keys(hosts)) expect(shownBy(host as HostName, entry)).toEqual([]);
  expect(createToolset([entry]).hash).not.toBe(createToolset([{ ...entry, description: "Fills in PDF forms." }]).hash);
});

test("Gemini CLI takes the middle out of a name of more than 63 characters", () => {
  const [name = ""] = shownBy("gemini-cli", tool(long));
  expect(name).toBe("mcp_files_a_tool_with_a_name_t..._too_long_for_any_host_to_show");
  expect(name).toHaveLength(63);
  expect(shownBy("gemini-cli", tool("x".repeat(53)))).toEqual([`mcp_files_${"x".repeat(53)}`]);
});

test("Codex ends a name of more than 128 characters with a hash, and sorts", () => {
  const longer = "l".repeat(120);
  const hash = createHash("sha1").update(`files\0files\0\0${longer}\0${longer}`).digest("hex").slice(0, 12);
  expect(shownBy("codex", tool("z"), tool(longer), tool("b"))).toEqual([
    "mcp__files__b",
    `${`mcp__files__${longer}`.slice(0, 115)}_${hash}`,
    "mcp__files__z",
  ]);
  expect(shownBy("codex", tool("x", "s".repeat(130)))[0]).toMatch(/^mcp__s{108}___[0-9a-f]{12}$/);
});

test("names of all hosts keep to their limits", () => {
  const limits = { "gemini-cli": 63, codex: 128 } as const;
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1, maxLength: 90 }), (server, name) => {
      for (const [host, limit] of Object.entries(limits)) {
        const [shown = ""] = shownBy(host as HostName, tool(name, server));
        expect(shown.length).toBeLessThanOrEqual(limit);
        expect(shown).toMatch(/^[a-zA-Z0-9_.:-]+$/);
      }
      expect(shownBy("claude-code", tool(name, server))[0]).toMatch(/^mcp__[a-zA-Z0-9_-]+__[a-zA-Z0-9_-]+$/);
    }),
  );
});

test("what is shown leads back to what is listed", () => {
  const tools = [tool("read.file"), tool("read", "github", "distractor")];
  for (const host of Object.keys(hosts) as HostName[]) {
    const shown = presentTools(tools, host);
    expect(shown.tools.map(({ name }) => shown.findListed(name))).toEqual(
      host === "codex" ? [tools[0], tools[1]] : tools,
    );
    expect(shown.findListed("something else")).toBeUndefined();
  }
});

test("a name that a host's prefix distinguishes is not a collision", () => {
  const twins = [tool("read"), tool("read", "github", "distractor")];
  expect(shownBy("claude-code", ...twins)).toEqual(["mcp__files__read", "mcp__github__read"]);
  expect(() => presentTools(twins, "plain")).toThrowErrorMatchingInlineSnapshot(`
    [EvalsError: error: "read" of server "files" and "read" of the distractor "github" would both be shown as "read".
      Rename one, or choose a host that also shows the name of the server.]
  `);
});

test("names that a host makes equal are a collision", () => {
  const twins = [tool("read.file"), tool("read_file")];
  expect(() => presentTools(twins, "claude-code")).toThrow(EvalsError);
  expect(() => presentTools(twins, "claude-code")).toThrowErrorMatchingInlineSnapshot(`
    [EvalsError: error: "read.file" of server "files" and "read_file" of server "files" would both be shown as "mcp__files__read_file".
      Rename one.]
  `);
  expect(shownBy("gemini-cli", ...twins)).toEqual(["mcp_files_read.file", "mcp_files_read_file"]);
});
