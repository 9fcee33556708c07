import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { getPlainDescription } from "../../../src/evals/inspection/lint/language.ts";
import { wordingRules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { alikeRules } from "../../../src/evals/inspection/lint/rules/siblings.ts";
import { aToolSubject, aToolsetSubject } from "./cases/cases.ts";

/** A set that counts how many of its values are looked at. */
class Counted extends Set<string> {
  looked = 0;

  override *[Symbol.iterator](): SetIterator<string> {
    for (const value of super.values()) {
      this.looked++;
      yield value;
    }
    return undefined;
  }
}

// What takes more than linear time does not end here.
describe("size", () => {
  const everyRule = (tools: readonly JsonObject[]) => {
    const siblings = new Counted(tools.map(({ name }) => String(name)));
    const found = tools.flatMap((tool) => {
      const subject = { ...aToolSubject(tool), siblings };
      return wordingRules.flatMap(({ check }) => [...check(subject)]);
    });
    return {
      looked: siblings.looked,
      found: [...found, ...alikeRules.flatMap(({ check }) => [...check(aToolsetSubject(...tools))])],
    };
  };

  it.each(["get_thing_", "browser_tab_"])(
    "of 1,000 tools called %s and a number: few are held against each",
    (name) => {
      const description = "Returns the thing by its number. For the newest use the date, as it is in the list. ".repeat(
        8,
      );
      const tools = Array.from({ length: 1000 }, (_, index) => ({ name: `${name}${index}`, description }));
      expect(everyRule(tools).looked).toBeLessThanOrEqual(100 * tools.length);
    },
  );

  it.each(["a", " ", "Aa", "a_", "use it ", "use ", "`", '"', "\n", "see a/", "when ", "SELECT a", ": ", "the a "])(
    "of 10 MB of %j: little of it is read",
    (part) => {
      const text = part.repeat(1e7 / part.length);
      const tool = { name: text, description: text, inputSchema: { properties: { a: { enum: [text] } } } };
      const { found } = everyRule([tool, { name: "get_a", description: text }]);
      expect(getPlainDescription(tool)?.length).toBeLessThanOrEqual(20_000);
      expect(Math.max(0, ...found.map(({ message }) => message.length))).toBeLessThan(1_000);
    },
  );
});
