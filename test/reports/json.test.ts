import { expect, it } from "vitest";
import { json } from "../../src/evals/reports/json.ts";
import { failed, hostile, manifest } from "./samples.ts";

it("is the summary, as one object", () => {
  expect(JSON.parse(json.render({ summary: failed, manifest }))).toEqual(failed);
});

it("is one line when asked", () => {
  const text = json.render({ summary: hostile, manifest, pretty: false });
  expect(text.indexOf("\n")).toBe(text.length - 1);
  expect(JSON.parse(text)).toEqual(hostile);
});

it("holds nothing that a terminal obeys or hides", () => {
  expect(json.render({ summary: hostile, manifest }).replaceAll("\n", "")).not.toMatch(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u,
  );
});
