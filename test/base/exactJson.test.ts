import { expect, it } from "vitest";
import { showJson } from "../../src/evals/base/text/text.ts";
import { isMarked, parseExactJson, toNumbers, writeExactJson } from "../../src/evals/base/types/exactJson.ts";

it.each([
  "1234567890123456789",
  "-1234567890123456789",
  "9007199254740993",
  "18446744073709551616",
  '{"id":1234567890123456701,"tags":["1234567890123456701",12],"at":0.1234567890123456}',
  '{"text":"a \\"9007199254740993\\" b","n":[9007199254740993,9007199254740992]}',
])("keeps every digit of %s", (json) => {
  expect(writeExactJson(parseExactJson(json))).toBe(json);
  expect(showJson(parseExactJson(json))).toBe(json);
});

it.each(["9007199254740992", "10000000000000000", "1e30", "0.1234567890123456789", '"1234567890123456789"', "12"])(
  "leaves what is no whole number, or what a number holds: %s",
  (json) => expect(parseExactJson(json)).toEqual(JSON.parse(json)),
);

it("is a number again for a check by a schema", () => {
  const value = parseExactJson('{"id":1234567890123456789,"ids":[1234567890123456789,1]}');
  expect(isMarked((value as { id: string }).id)).toBe(true);
  expect(toNumbers(value)).toEqual(JSON.parse('{"id":1234567890123456789,"ids":[1234567890123456789,1]}'));
});
