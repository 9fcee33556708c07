import { createHash } from "node:crypto";

// The names under which hosts show the tools of MCP servers to their models, from the source of the host or from its
// captured requests. test/e2e/hosts compares them with the pinned versions.

/** The name of a tool of a server as its host shows it. */
type NameTool = (server: string, tool: string) => string;

const dashed = (name: string) => name.replace(/[^a-zA-Z0-9_-]/g, "_");
const plain = (name: string) => name.replace(/[^a-zA-Z0-9_]/g, "_");

const geminiLimit = 63;
const codexLimit = 128;
const codexHashLength = 12;

export const hostNames = {
  "claude-code": (server, tool) => `mcp__${dashed(server)}__${dashed(tool)}`,
  // codex-rs/codex-mcp/src/tools.rs: a long name ends with a hash of its identity. In requests, `mcp__<server>` is a
  // namespace.
  codex(server, tool) {
    const prefix = `mcp__${plain(server)}__`;
    const name = plain(tool);
    if (prefix.length + name.length <= codexLimit) return prefix + name;
    const hash = createHash("sha1").update(getCodexIdentity(server, tool)).digest("hex");
    const suffix = `_${hash.slice(0, codexHashLength)}`;
    const room = codexLimit - suffix.length;
    const kept = prefix.length <= room ? (prefix + name).slice(0, room) : `${prefix.slice(0, room - 2)}__`;
    return kept + suffix;
  },
  // packages/core/src/tools/mcp-tool.ts: the middle of a long name is cut.
  "gemini-cli"(server, tool) {
    const whole = `mcp_${server}_${tool}`.replace(/[^a-zA-Z0-9_\-.:]/g, "_");
    return whole.length <= geminiLimit ? whole : `${whole.slice(0, 30)}...${whole.slice(-30)}`;
  },
} as const satisfies Record<string, NameTool>;

/** Server, namespace, connector (none here), name and name, joined as Codex does for its hash and sort order. */
export function getCodexIdentity(server: string, tool: string): string {
  return [server, server, "", tool, tool].join("\0");
}
