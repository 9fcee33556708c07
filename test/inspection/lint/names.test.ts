import { expect, test } from "vitest";
import { nameRules } from "../../../src/evals/inspection/lint/rules/names.ts";
import { nameCases } from "./cases/names.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong with names, where, and what to do", () => {
  expect(describeViolations(nameRules, nameCases)).toMatchInlineSnapshot(`
    {
      "name-charset": [
        "$.name: The name "get weather" has characters that model APIs reject: " ". -> Use letters, digits, _ and - only, for example _ instead of a dot.",
        "$.name: The name "weather.get" has characters that model APIs reject: ".". -> Use letters, digits, _ and - only, for example _ instead of a dot.",
      ],
      "name-length": [
        "$.name: The name "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..." has 65 characters. -> Shorten it by at least 1.",
        "$.name: A host shows the tool as "mcp__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", which has 142 characters. -> Shorten the name of the tool or of the server by at least 14.",
      ],
      "name-missing": [
        "$.name: The tool has no name. -> Name the tool with a verb and what it acts on, such as get_weather.",
        "$.name: The name is not a string of one character or more. -> Name the tool with a verb and what it acts on, such as get_weather.",
        "$.name: The name is not a string of one character or more. -> Name the tool with a verb and what it acts on, such as get_weather.",
      ],
      "parameter-name-vague": [
        "$.inputSchema.properties.a: The parameter name "a" is a single letter. -> Name it for what it holds, such as city or max_results.",
        "$.inputSchema.properties.data: The parameter name "data" is a placeholder. -> Name it for what it holds, such as city or max_results.",
      ],
    }
  `);
});
