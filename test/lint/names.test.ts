import { expect, test } from "vitest";
import { nameRules } from "../../src/evals/lint/rules/names.ts";
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
        "$.name: A host shows the tool as "mcp__weather__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", which has 65 characters. -> Shorten the name of the tool or of the server by at least 1, to 64 characters in total.",
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
