import { startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { describeHost, oddNames } from "./contract.ts";
import { needsHost, openHost } from "./support.ts";

describeHost({
  name: "Claude Code",
  program: needsHost("claude-code"),
  start: (script) =>
    startMessagesEndpoint(({ messages }) =>
      script({ text: JSON.stringify(messages), replies: messages.filter(({ role }) => role === "assistant").length }),
    ),
  open: (model, url, program, options) =>
    openHost(`claude-code:${model}`, {
      env: { PATH: process.env.PATH, CLAUDE_CODE_PATH: program, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "secret" },
      ...options,
    }),
  ways: [
    {
      name: "as its users run it",
      exposure: "host",
      model: "claude-sonnet-5-5",
      level: () => "named",
      search: (tool) => ({ name: "ToolSearch", input: { query: tool.replaceAll("_", " "), max_results: 5 } }),
    },
    { name: "with every definition", exposure: "all", model: "claude-sonnet-5-5", level: () => "full" },
  ],
  toShownName: (server, tool) => `mcp__${server}__${tool}`,
  loadSkill: (skill) => ({ name: "Skill", input: { skill } }),
  oddNames,
});
