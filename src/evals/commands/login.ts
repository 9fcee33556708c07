import { defineCommand, number, text, toggle } from "./command.ts";

export const loginCommand = defineCommand({
  command: "login <url>",
  describe: "Log in to a remote MCP server (OAuth); all commands use the login",
  positionals: { url: text("URL of the server, as suites name it", { demandOption: true }) },
  flags: {
    forget: toggle("Remove the stored login"),
    browser: { type: "boolean", default: true, describe: "Open the page in a browser; --no-browser only prints it" },
    "client-id": text("Client that was registered by hand, its secret in OAUTH_CLIENT_SECRET (default: register one)"),
    scope: text("Scopes to request, separated by spaces (default: those that the server names)"),
    port: number("Port of the loopback callback (default: any free port)", { min: 1, max: 65_535, integer: true }),
    timeout: number("Maximum wait for the login, in seconds", { above: 0, max: 3600, default: 300 }),
  },
  epilogue: "Tokens are stored in your configuration folder, readable only by you, and refreshed when they expire.",
  examples: [
    ["login https://example.com/mcp", "Grant access in the browser"],
    ["login https://example.com/mcp --forget", "Remove the tokens"],
  ],
  run: async (args, io) => (await import("../inspection/login.ts")).logIn(args, io),
});
