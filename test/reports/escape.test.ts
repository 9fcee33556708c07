import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plain } from "../../src/evals/base/text/display.ts";
import { plainAscii } from "../../src/evals/reports/escape.ts";
import { anyText } from "../fakes/text.ts";

const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/u;

describe("plain", () => {
  it("escapes control and invisible characters", () => {
    expect(plain("\x1b[31mred\x07 \u202eabc\u200b \x9b2J \ud800 \ufeff")).toBe(
      "\\x1b[31mred\\x07 \\u{202e}abc\\u{200b} \\x9b2J \\u{d800} \\u{feff}",
    );
  });

  it("joins lines", () => {
    expect(plain("a\r\nb\tc\n\n d")).toBe("a b c  d");
  });

  it("keeps visible text", () => {
    expect(plain("Größe 日本語 🎉 “x” \\x1b")).toBe("Größe 日本語 🎉 “x” \\x1b");
  });

  it("leaves no invisible character in any text, and is idempotent", () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), anyUnits), (text) => {
        const once = plain(text);
        expect(once).not.toMatch(invisible);
        expect(plain(once)).toBe(once);
      }),
    );
  });
});

describe("plainAscii", () => {
  it("spells out the reports' symbols and escapes other characters", () => {
    expect(plainAscii("✗ ≥80% · a… é 🎉")).toBe("FAIL >=80% - a... \\xe9 \\u{1f389}");
  });

  it("returns ASCII for any text", () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), anyUnits), (text) => {
        expect(plainAscii(text)).toMatch(/^[ -~]*$/);
      }),
    );
  });
});
