import fc from "fast-check";
import { expect, it } from "vitest";
import {
  count,
  duration,
  integer,
  money,
  percent,
  points,
  pValue,
  range,
  signedInteger,
  size,
  some,
  tally,
  tallyPhrase,
} from "../../src/evals/reports/format.ts";

it.each([
  [0, "0%"],
  [0.001, "<1%"],
  [0.4, "40%"],
  [2 / 3, "67%"],
  [0.999, ">99%"],
  [1, "100%"],
])("percent(%d)", (rate, text) => expect(percent(rate)).toBe(text));

it("rounds to 0% and 100% only if exact", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(5000), (n, k) => {
      const passed = Math.min(k, n);
      expect(percent(passed / n) === "100%").toBe(passed === n);
      expect(percent(passed / n) === "0%").toBe(passed === 0);
    }),
  );
});

it.each([
  ["unknown" as const, "unknown"],
  [0, "$0"],
  [0.00004, "<$0.0001"],
  [0.0041, "$0.0041"],
  [0.41075, "$0.41"],
  [12.345, "$12.35"],
])("money(%s)", (usd, text) => expect(money(usd)).toBe(text));

it.each([
  [1200, "+1,200"],
  [-1234.5, "-1,234"],
  [-0.2, "0"],
])("signedInteger(%d)", (n, text) => expect(signedInteger(n)).toBe(text));

it.each([
  [0.42, "0.4 ms"],
  [3, "3 ms"],
  [320.4, "320 ms"],
  [999.7, "1.0 s"],
  [1240, "1.2 s"],
  [59_960, "1 min 0 s"],
  [123_000, "2 min 3 s"],
])("duration(%d)", (ms, text) => expect(duration(ms)).toBe(text));

it.each([
  [-0.125, "-12.5 pp"],
  [-0.0004, "0 pp"],
  [0, "0 pp"],
  [0.04, "+4 pp"],
  [1, "+100 pp"],
])("points(%d)", (change, text) => expect(points(change)).toBe(text));

it.each([
  [0.0314, "p = .031"],
  [0.5, "p = .500"],
  [0.001, "p = .001"],
  [1e-9, "p < .001"],
  [0, "p < .001"],
  [0.99999, "p = 1"],
  [1, "p = 1"],
])("pValue(%d)", (p, text) => expect(pValue(p)).toBe(text));

it("pluralizes counts", () => {
  expect([integer(1234567), count(1, "case"), count(2, "case"), count(0, "reply", "replies")]).toEqual([
    "1,234,567",
    "1 case",
    "2 cases",
    "0 replies",
  ]);
  expect(range([0.376, 0.9638])).toBe("38-96%");
  expect(tally({ b: 2, none: 0, a: 2, c: 3 })).toEqual(["c 3", "a 2", "b 2"]);
  expect(tallyPhrase({ broken: 1, failed: 1200 })).toBe("1,200 failed, 1 broken");
  expect([some(["a", "b"], 2), some(["a", "b", "c"], 2)]).toEqual(["a, b", "a, b and 1 more"]);
  expect(size(-0.123)).toBe("12.3 pp");
});
