import { startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";
import { describeHost, oddNames } from "./contract.ts";
import { needsHost, openHost } from "./support.ts";

const made = /_call$|^message$/;

describeHost({
  name: "Codex",
  program: needsHost("codex"),
  start: (script) =>
    startResponsesEndpoint(({ input }) => {
      const replies = input.filter(({ type, role }) => made.test(type) && (type !== "message" || role === "assistant"));
      return script({ text: JSON.stringify(input), replies: replies.length });
    }),
  open: (model, url, program, options) =>
    openHost(`codex:${model}`, {
      env: { PATH: process.env.PATH, CODEX_PATH: program, OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "secret" },
      ...options,
    }),
  ways: [
    {
      name: "with a model that writes code",
      exposure: "host",
      model: "gpt-6.1-sol",
      level: () => "hidden",
      search: (tool) => ({
        name: "exec",
        input: { input: `const r = await tools.${tool}({path: "a"}); text(JSON.stringify(r))` },
      }),
    },
    {
      name: "with a model that searches",
      exposure: "host",
      model: "gpt-5.5",
      level: () => "hidden",
      search: (tool) => ({ name: "tool_search", input: { query: tool.replaceAll("_", " "), limit: 5 } }),
    },
    { name: "with every definition", exposure: "all", model: "gpt-6.1-sol", level: () => "full" },
  ],
  toShownName: (server, tool) => `mcp__${server}__${tool}`,
  loadSkill: (skill) => ({ name: "exec_command", input: { cmd: `cat .agents/skills/${skill}/SKILL.md` } }),
  oddNames,
});
