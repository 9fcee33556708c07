import type { ToolSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aChangedTool, aToolWith, type CasesOf } from "./cases.ts";

const text = { type: "string", description: "What it is." };

/** `a` repeated is shown as mcp__weather__ and the name: 14 characters more. */
const ofLength = (length: number) => aChangedTool({ name: "a".repeat(length) });

export const nameCases: CasesOf<ToolSubject> = {
  "name-length": {
    clean: [aChangedTool({}), ofLength(64)],
    violations: {
      "at most 64 characters": [ofLength(65)],
      "at most 128 characters with the prefix of a host": [
        { ...aChangedTool({}), shownName: `mcp__${"a".repeat(124)}__get_weather` },
      ],
    },
  },
  "name-charset": {
    clean: [aChangedTool({}), aChangedTool({ name: "Get-weather_2" })],
    violations: {
      "only letters, digits, _ and -": ["get weather", "wetter_für", "files/read", "get_weather\n", "天気"].map(
        (name) => aChangedTool({ name }),
      ),
      "no dots": [aChangedTool({ name: "weather.get" })],
    },
  },
  "name-start": {
    clean: ["get_weather", "_get", "X2", "天気"].map((name) => aChangedTool({ name })),
    violations: { "a letter or _ first": ["2fa_code", "-get"].map((name) => aChangedTool({ name })) },
  },
  "name-reserved": {
    clean: ["python_run", "search_web", "Bash", "memory_read"].map((name) => aChangedTool({ name })),
    violations: {
      "no name that OpenAI reserves": [aChangedTool({ name: "python" })],
      "no name of a tool of Anthropic's API": ["web_search", "bash", "memory", "code_execution"].map((name) =>
        aChangedTool({ name }),
      ),
    },
  },
  "parameter-name-refused": {
    clean: [
      aToolWith({ city: text, "user.name": text, "x-y_z": text, ["a".repeat(64)]: text }),
      // What is inside of a parameter is not checked by the service.
      aToolWith({ filter: { type: "object", properties: { $gt: { type: "number" } } } }),
    ],
    violations: {
      "only letters, digits, _, . and -": [
        aToolWith({ $filter: text }),
        aToolWith({ "user[name]": text }),
        aToolWith({ größe: text }),
        aToolWith({ "": text }),
      ],
      "at most 64 characters": [aToolWith({ ["x".repeat(65)]: text })],
    },
  },
  "parameter-name-vague": {
    clean: [
      aToolWith({
        city: text,
        x: { type: "number" },
        y: { type: "number" },
        id: text,
        database: text,
        arguments: text,
      }),
      // What is inside of a parameter is named in its light.
      aToolWith({ blob: { type: "object", properties: { data: text } } }),
    ],
    violations: {
      "more than one letter": ["a", "q", "t0"].map((name) => aToolWith({ [name]: text })),
      "not a placeholder such as data, arg1 or val": [
        "data",
        "arg",
        "arg1",
        "val",
        "input1",
        "param2",
        "obj",
        "foo",
      ].map((name) => aToolWith({ [name]: text })),
    },
  },
};
