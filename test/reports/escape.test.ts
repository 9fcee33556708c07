import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plain, plainAscii } from "../../src/evals/reports/escape.ts";
import { anyText } from "../fakes/text.ts";

const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Noncharacter_Code_Point}]/u;

describe("plain", () => {
  it("shows what would act on a terminal or hide", () => {
    expect(plain("\x1b[31mred\x07 \u202eabc\u200b \x9b2J \ud800 \ufeff")).toBe(
      "\\x1b[31mred\\x07 \\u{202e}abc\\u{200b} \\x9b2J \\u{d800} \\u{feff}",
    );
  });

  it("makes one line", () => {
    expect(plain("a\r\nb\tc\n\n d")).toBe("a b c  d");
  });

  it("leaves every visible text as it is", () => {
    expect(plain("Größe 日本語 🎉 “x” \\x1b")).toBe("Größe 日本語 🎉 “x” \\x1b");
  });

  it("leaves nothing invisible in any text, and has no more to do the second time", () => {
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
  it("spells the reports' own signs and escapes the others", () => {
    expect(plainAscii("✗ ≥80% · a… é 🎉")).toBe("FAIL >=80% - a... \\xe9 \\u{1f389}");
  });

  it("is ASCII for any text", () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), anyUnits), (text) => {
        expect(plainAscii(text)).toMatch(/^[ -~]*$/);
      }),
    );
  });
});
