import * as fc from "fast-check";
import { expect, it } from "vitest";
import { echo } from "../../src/server/server.ts";
import { anyText } from "../fakes/text.ts";

it("echoes any string", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      expect(echo({ text, other: 1 })).toEqual({ content: [{ type: "text", text: `Echo: ${text}` }] });
    }),
  );
});

it("answers any other value with what is wrong, shortened, and how to fix it", () => {
  fc.assert(
    fc.property(
      fc.jsonValue().filter((value) => typeof value !== "string"),
      (text) => {
        const { isError, content, structuredContent } = echo({ text });
        expect(isError).toBe(true);
        expect(structuredContent).toEqual({
          success: false,
          error: expect.stringMatching(/^The argument text is not a string: .{1,63}\.$/s),
          retry_hint: expect.stringContaining('{"text": "hello"}'),
          code: "INVALID_ARGUMENT",
        });
        expect(content).toEqual([{ type: "text", text: JSON.stringify(structuredContent) }]);
      },
    ),
  );
});
