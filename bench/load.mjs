// The load of both sides: ten tools, and queries that are all different.
export const tools = Array.from({ length: 10 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Reads part ${index} of a file and returns its text. Use it when the user names a file and wants to see what is in it; use tool_${(index + 1) % 10} for folders.`,
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "The path of the file to read" },
      limit: { type: "integer", description: "The most lines to return", minimum: 1, default: 20 },
    },
    required: ["path"],
  },
}));

export const writeQueries = (count) =>
  Array.from({ length: count }, (_, index) => `Show me the first five lines of notes.txt, please (${index})`);
