import { expect, it } from "vitest";
import { wrapMessage } from "../../../src/evals/base/text/display.ts";

it.each([
  ["error: one two three four five", "error: one two\n  three four\n  five"],
  // A command can be copied only from one line.
  [
    "  Draft one with `evals init 'npx -y @scope/server'`.",
    "  Draft one with\n    `evals init 'npx -y @scope/server'`.",
  ],
  ["12 | a line of a file stays as it is", "12 | a line of a file stays as it is"],
])("wraps a message, but no command: %s", (text, wrapped) => {
  expect(wrapMessage(text, 16)).toBe(wrapped);
});
