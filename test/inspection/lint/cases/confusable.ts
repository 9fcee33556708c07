import type { ToolsetSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aLintedTool, aToolsetSubject, type CasesOf } from "./cases.ts";

const weather = aLintedTool();
const mail = aLintedTool({
  name: "send_mail",
  description: "Sends a letter to one person. Call this when the user asks to write to someone.",
  inputSchema: { type: "object", properties: { to: { type: "string", description: "The address." } } },
});
const named = (name: string, changes = {}) => aLintedTool({ name, ...changes });
const blank = { description: " ", inputSchema: { type: "object" } };

const calling = (...names: unknown[]) => aToolsetSubject(...names.map((name) => aLintedTool({ name })));

export const confusableCases: CasesOf<ToolsetSubject> = {
  "name-shared": {
    clean: [calling("get_weather", "get_Weather", "constructor"), calling(undefined, undefined, 7, 7)],
    violations: { "no two tools of a list have the same name": [calling("get_weather", "list_cities", "get_weather")] },
  },
  "tool-count": {
    clean: [calling(...Array.from({ length: 128 }, (_, at) => `tool_${at}`))],
    violations: { "at most 128 tools": [calling(...Array.from({ length: 129 }, (_, at) => `tool_${at}`))] },
  },
  "same-description": {
    clean: [
      aToolsetSubject(weather, mail),
      aToolsetSubject(named("a_tool", blank), named("other", blank), named("none", { description: undefined })),
    ],
    violations: {
      "no two descriptions are the same": [
        aToolsetSubject(weather, mail, named("fetch_forecast")),
        aToolsetSubject(named("a", { inputSchema: {} }), named("b", { description: ` ${weather.description}\n` })),
        aToolsetSubject(...Array.from({ length: 40 }, (_, at) => named(`tool_${at}`, { description: "To do." }))),
      ],
    },
  },
};

const called = (...names: readonly string[]) => aToolsetSubject(...names.map((name) => named(name)));

export const tellingApartCases: CasesOf<ToolsetSubject> = {
  "name-same-meaning": {
    clean: [
      called("get_order", "get_orders", "find_order", "delete_order"),
      called("get", "fetch"),
      called("get_order", "fetch_order"),
      called("v1_0", "v10", "支付_订单", "支付_退款"),
      aToolsetSubject(named("get_order"), named("getOrder", { description: "From the archive, unlike get_order." })),
      aToolsetSubject(named("get_order"), named("getOrder", { description: "Deprecated: use get_order." })),
    ],
    violations: {
      "no two names differ only in case and separators": [
        called("pay.order", "pay_order"),
        called("payOrder", "PAY_ORDER"),
        called("echo", "Echo"),
      ],
    },
  },
};
