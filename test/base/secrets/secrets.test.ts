import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldEscapes } from "../../../src/evals/base/secrets/findTexts.ts";
import { createSecrets, knownSecrets } from "../../../src/evals/base/secrets/secrets.ts";

const key = 'sk-ant-api03-Zm9v+YmFy/9"x';

describe("redact", () => {
  const secrets = createSecrets();
  secrets.add("API_KEY", key);

  it.each([
    ["plain", key],
    ["URL-encoded", encodeURIComponent(key)],
    [
      "URL-encoded in lower case",
      encodeURIComponent(key).replace(/%2B/g, "%2b").replace(/%2F/g, "%2f").replace(/%22/g, "%22"),
    ],
    ["in JSON", JSON.stringify({ key })],
    ["in base64", Buffer.from(key).toString("base64")],
    ["in base64 behind a user", Buffer.from(`user:${key}`).toString("base64")],
    ["in base64url", Buffer.from(`Bearer ${key}`).toString("base64url")],
    ["in hexadecimal", Buffer.from(key).toString("hex")],
    ["in hexadecimal in upper case", Buffer.from(key).toString("hex").toUpperCase()],
    ["in JSON with escaped slashes", JSON.stringify({ key }).replaceAll("/", "\\/")],
    ["in JSON in JSON", JSON.stringify(JSON.stringify({ key }))],
    [
      "in JSON with escaped slashes in JSON in JSON",
      JSON.stringify(JSON.stringify(JSON.stringify({ key }).replaceAll("/", "\\/"))),
    ],
    ["in HTML", key.replaceAll("/", "&#x2F;").replaceAll('"', "&quot;")],
    [
      "in base64 in JSON with escaped slashes",
      JSON.stringify(Buffer.from(`${key}??`).toString("base64")).replaceAll("/", "\\/"),
    ],
    ["in base64 in a URL", encodeURIComponent(Buffer.from(`>>>${key}`).toString("base64"))],
  ])("hides a value %s", (_, text) => {
    const redacted = secrets.redact(`before ${text} after`);
    expect(redacted).toMatch(/^before .*\[redacted: API_KEY\].* after$/);
    expect(redacted).not.toContain(key.slice(3, 20));
  });

  it("hides a value outside of ASCII, of several lines and with backslashes, as JSON and messages show it", () => {
    const one = createSecrets();
    const values = { A: "pässwört-ü🙂", B: "line one\n\tline two", C: "DOMAIN\\user\\pass" };
    for (const [name, value] of Object.entries(values)) one.add(name, value);
    const ascii = (text: string) =>
      text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    for (const [name, value] of Object.entries(values))
      for (const text of [
        value,
        JSON.stringify(value),
        ascii(JSON.stringify(value)),
        JSON.stringify(ascii(JSON.stringify(value))),
        encodeURIComponent(value),
        value.replace(/\s/g, " "),
      ])
        expect(one.redact(text).replaceAll(/["\\]/g, "")).toBe(`[redacted: ${name}]`);
  });

  it("leaves JSON valid around values that end in a backslash, and under names with quotes", () => {
    const one = createSecrets();
    one.add('a"b', "secret-value\\");
    one.add("slashes", "\\".repeat(20));
    const text = JSON.stringify({ value: 'secret-value\\" \\\\\\', other: "\\".repeat(30) });
    expect(JSON.parse(one.redact(text))).toEqual({
      value: '[redacted: a_b]\\" \\\\\\',
      other: "\\".repeat(30),
    });
  });

  it("hides a value without the quotes that it was given in", () => {
    for (const quote of ['"', "'"]) {
      const one = createSecrets();
      one.add("X", `${quote}my-key-123${quote}`);
      expect(one.redact('{"a":"my-key-123"}')).toBe('{"a":"[redacted: X]"}');
      expect(one.redact("echo my-key-123")).toBe("echo [redacted: X]");
      expect(one.redact(`${quote}my-key-123${quote}`)).toContain("[redacted: X]");
    }
  });

  it("hides the value in every alignment of base64", () => {
    // What is JSON by itself keeps its syntax, of which a value can be a part.
    const json = /^(?:"(?:[^"\\]|\\.)*"|[\s{}[\],:]|[\d.eE+-]+|true|false|null)*$/;
    fc.assert(
      fc.property(fc.string({ minLength: 12, maxLength: 40 }), fc.string({ maxLength: 5 }), (value, before) => {
        // White space and repeated quotes do not count as characters of a value.
        // Neither are references to variables values.
        fc.pre(!/^\s*(?:\d+|\$.*)\s*$/.test(value) && foldEscapes(value, { spaces: true }).text.length >= 12);
        const one = createSecrets();
        one.add("X", value);
        expect(one.redact(Buffer.from(before + value).toString("base64"))).toContain("[redacted: X]");
        if (!json.test(before + value)) expect(one.redact(before + value)).toContain("[redacted: X]");
      }),
    );
  });

  it("leaves JSON valid, and short values and figures alone", () => {
    const one = createSecrets();
    for (const [name, value] of Object.entries({ A: "abc", B: "123456", C: "12345678901234", D: 'a"quote' }))
      one.add(name, value);
    const text = JSON.stringify({ abc: 123456, long: "12345678901234", quoted: 'x a"quote y' });
    expect(JSON.parse(one.redact(text))).toEqual({ abc: 123456, long: "[redacted: C]", quoted: "x [redacted: D] y" });
    expect(createSecrets().redact(text)).toBe(text);
  });

  it("takes linear time", () => {
    const many = createSecrets();
    for (let at = 0; at < 50; at++) many.add(`S${at}`, `secret-value-${at}-of-many`);
    const text = "secret-value-".repeat(100_000);
    expect(many.redact(text)).toBe(text);
    many.add("slash", '/"/secret');
    for (const piece of ["\\", '/"', "&#0"])
      expect(many.redact(piece.repeat(500_000))).toHaveLength(piece.length * 500_000);
  });
});

describe("knownSecrets", () => {
  it("starts with the variables that are named like secrets, and credentials of URLs", () => {
    const env = {
      ANTHROPIC_API_KEY: "sk-ant-1234567",
      GITHUB_TOKEN: "ghp_abcdefg",
      HTTPS_PROXY: "http://user:pass%2Fword@proxy:8080",
      PATH: "/usr/bin:/bin",
      SSH_AUTH_SOCK: "/run/agent.sock",
      HOME: "/home/somebody",
    };
    const { redact } = knownSecrets(env);
    expect(redact(Object.values(env).join(" "))).toBe(
      "[redacted: ANTHROPIC_API_KEY] [redacted: GITHUB_TOKEN] http://user:[redacted: HTTPS_PROXY]@proxy:8080 /usr/bin:/bin /run/agent.sock /home/somebody",
    );
    expect(
      knownSecrets({ ...env, DATABASE_URL: "postgres://postgres:p4ssword@h/db?sslmode=require&token=abcdefgh" }).redact(
        "postgres requires p4ssword, abcdefgh",
      ),
    ).toBe("postgres requires [redacted: DATABASE_URL], [redacted: DATABASE_URL]");
    expect(redact("pass/word")).toBe("[redacted: HTTPS_PROXY]");
    expect(knownSecrets(env)).toBe(knownSecrets(env));
    expect(knownSecrets({ ...env })).not.toBe(knownSecrets(env));
  });
});
