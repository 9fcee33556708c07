/** What a client says first, in the words of a revision that every server knows, or refuses with an answer. */
export const greeting = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tool-evals", version: "0" } },
});
