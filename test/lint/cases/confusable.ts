import type { ToolsetSubject } from "../../../src/evals/lint/rule.ts";
import { aLintedTool, aToolsetSubject, type CasesOf } from "./cases.ts";

const weather = aLintedTool();
const mail = aLintedTool({
  name: "send_mail",
  description: "Sends a letter to one person. Call this when the user asks to write to someone.",
  inputSchema: { type: "object", properties: { to: { type: "string", description: "The address." } } },
});
const named = (name: string, changes = {}) => aLintedTool({ name, ...changes });
const blank = { description: " ", inputSchema: { type: "object" } };

export const confusableCases: CasesOf<ToolsetSubject> = {
  "near-duplicate-tools": {
    clean: [
      aToolsetSubject(),
      aToolsetSubject(weather),
      aToolsetSubject(weather, mail),
      aToolsetSubject(named("a_tool", blank), named("other", blank), named("none", { description: undefined })),
      // A deprecated tool is listed together with its successor for a while.
      aToolsetSubject(
        named("get_weather", { description: `DEPRECATED: use get_weather_v2. ${weather.description}` }),
        named("get_weather_v2"),
      ),
    ],
    violations: {
      "no two descriptions are the same": [
        aToolsetSubject(weather, mail, named("fetch_forecast")),
        aToolsetSubject(named("a", { inputSchema: {} }), named("b", { description: ` ${weather.description}\n` })),
        aToolsetSubject(...Array.from({ length: 40 }, (_, at) => named(`tool_${at}`, { description: "To do." }))),
      ],
      "no two tools have nearly the same description": [
        aToolsetSubject(
          weather,
          mail,
          named("get_weather_now", { description: `${weather.description} Updated hourly.` }),
        ),
      ],
    },
  },
};
