import { describe, expect, it } from "vitest";
import { knownSecrets } from "../../../src/evals/base/secrets/secrets.ts";
import { readHeaders, resolveEndpoint } from "../../../src/evals/base/types/endpoint.ts";

const env = { TEAM: "search", GATEWAY_TOKEN: "tok-1234567890", EMPTY: "" };

describe("a header", () => {
  it.each([
    ["X-Team=search", { "x-team": "search" }],
    ["X-Team: search", { "x-team": "search" }],
    ["X-Team = $TEAM ", { "x-team": "search" }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as users write it
    ["X-Route=eu/${TEAM}/v1", { "x-route": "eu/search/v1" }],
    ["Authorization=Bearer $GATEWAY_TOKEN", { authorization: "Bearer tok-1234567890" }],
    ["X-Filter=a=b:c", { "x-filter": "a=b:c" }],
    ['cf-aig-metadata={"a": 1}', { "cf-aig-metadata": '{"a": 1}' }],
    ["X-Price=5$", { "x-price": "5$" }],
  ])("%s", (written, expected) => {
    expect(readHeaders([written], env)).toEqual(expected);
  });

  it.each([
    ["X-Team", "A header is not written as NAME=VALUE."],
    ["=x", "A header is not written as NAME=VALUE."],
    ["X Team=x", "A header is not written as NAME=VALUE."],
    ["X-Team=", "A header is not written as NAME=VALUE."],
    ["X-Team=$NOWHERE", "The header X-Team needs the variable NOWHERE, which is not set."],
    ["X-Team=$EMPTY", "The header X-Team needs the variable EMPTY, which is not set."],
    ["X-Team=a\nX-Other: b", "The value of the header X-Team has a character that HTTP does not take."],
    ["X-Team=查询", "The value of the header X-Team has a character that HTTP does not take."],
  ])("%j is refused", (written, message) => {
    expect(() => readHeaders([written], env)).toThrow(message);
  });

  it("is a secret", () => {
    const own = {};
    readHeaders(["Authorization=Bearer abcdef-123456"], own);
    expect(knownSecrets(own).redact("it was abcdef-123456")).toBe("it was [redacted: Authorization]");
  });
});

it("stands for the key of a service, and then no other key is sent", () => {
  const provider = {
    name: "p",
    keyVariable: "P_KEY",
    baseUrlVariable: "P_URL",
    baseUrl: "https://p.example",
    efforts: [],
    maxTokensLimit: 9_999,
  };
  expect(() => resolveEndpoint({ env: {}, headers: ["x-team=a"] }, provider)).toThrow("P_KEY is not set");
  const { headers, record } = resolveEndpoint({ env: {}, headers: ["API-Key=abcdef-123456"] }, provider);
  expect(headers).toEqual({ "api-key": "abcdef-123456", authorization: null, "x-api-key": null });
  expect(JSON.stringify(record)).not.toContain("abcdef");
});
