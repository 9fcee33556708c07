import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSecrets } from "../../../src/evals/base/secrets/secrets.ts";
import { plain, visible } from "../../../src/evals/base/text/display.ts";
import { cut, excerpt } from "../../../src/evals/base/text/text.ts";
import { code } from "../../../src/evals/reports/markdown.ts";

/** Random values per property: more with EVALS_TORTURE=long. */
const numRuns = process.env.EVALS_TORTURE === "long" ? 5_000 : 100;

/** Values as people and generators make them, and those that look like the syntax of what they are written into. */
const secret = fc
  .oneof(
    fc.string({ minLength: 6, maxLength: 40, unit: "grapheme" }),
    fc.string({ minLength: 6, maxLength: 40, unit: "binary" }),
    fc.string({ minLength: 6, maxLength: 60, unit: fc.constantFrom(..."aZ09_-.+/=\"'\\{}[]:,<>&;%#…\n\t é🙂") }),
    fc.json({ maxDepth: 2 }),
    fc.constantFrom("admin123", '":{"a":', "1234567890123", "true,false", "...dots...", "…mark…", "null]}"),
  )
  .filter((value) => redactable(value));

/** Known and not left out for a reason that the documentation names. */
function redactable(value: string): boolean {
  const secrets = createSecrets();
  secrets.add("X", value);
  return !/\\$/.test(value) && secrets.redact(value) !== value;
}

/** Of other secrets, a cut inside of an escaped character can leave a few characters more. */
const key = fc.string({ minLength: 6, maxLength: 60, unit: fc.constantFrom(..."aZ09_-+/=") }).filter(redactable);

const other = fc.string({ maxLength: 20, unit: "grapheme" });

const toAscii = (text: string) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
const html: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** The last sign of base64 also depends on what follows, unless it ends with the value. */
const withoutEdge = (value: string, form: string) => (Buffer.byteLength(value) % 3 === 0 ? form : form.slice(0, -1));

/** Every form that the documentation names. */
const forms: Record<string, (value: string) => string> = {
  plain: (value) => value,
  "URL-encoded": (value) => encodeURIComponent(Buffer.from(value).toString()),
  JSON: inJson,
  "JSON in JSON": (value) => inJson(inJson(value)),
  "JSON in JSON in JSON": (value) => inJson(inJson(inJson(value))),
  "JSON in ASCII": (value) => toAscii(inJson(value)),
  "JSON with escaped slashes": (value) => inJson(value).replaceAll("/", "\\/"),
  HTML: (value) => value.replace(/[&<>"']/g, (sign) => html[sign] ?? sign),
  Markdown: (value) => code(value, 1_000),
  "visible text": visible,
  hexadecimal: (value) => Buffer.from(value).toString("hex"),
  base64: (value) => withoutEdge(value, Buffer.from(value).toString("base64").replace(/=+$/, "")),
  base64url: (value) => withoutEdge(value, Buffer.from(value).toString("base64url")),
};

const known = (...values: string[]) => {
  const secrets = createSecrets();
  for (const [at, value] of values.entries()) secrets.add(`NAME_${at}`, value);
  return secrets;
};

describe("every secret", () => {
  it.each(Object.entries(forms))("is in no text, in the form %s", (name, write) => {
    fc.assert(
      fc.property(secret, other, other, (value, before, after) => {
        // Markdown shows characters that are invisible as they are escaped for a terminal.
        fc.pre(name !== "Markdown" || plain(value) === value);
        const form = write(value);
        const redacted = known(value).redact(`${before} ${form} ${after}`);
        expect(redacted).toContain("[redacted");
        expect(redacted.replaceAll(/\[redacted: NAME_0\]/g, "")).not.toContain(form);
      }),
      { numRuns },
    );
  });

  it("leaves JSON, and any part of it, as JSON, and is in none of its texts", () => {
    fc.assert(
      fc.property(fc.jsonValue(), secret, other, (value, one, text) => {
        const data = {
          value,
          [one]: [one, `${text}${one}`],
          nested: JSON.stringify([one]),
          number: 1234567890123,
          on: true,
        };
        for (const json of [JSON.stringify(data), JSON.stringify(data, null, 2)]) {
          const redacted = known(one).redact(json);
          const read: unknown[] = [JSON.parse(redacted)];
          for (let next = read.pop(); next !== undefined; next = read.pop()) {
            if (typeof next === "string" || typeof next === "number") expect(`${next}`).not.toContain(one);
            else if (typeof next === "object" && next !== null)
              read.push(...Object.keys(next), ...Object.values(next).filter((inner) => inner !== undefined));
          }
          const part = JSON.stringify(data).slice(0, -1);
          expect(() => JSON.parse(`${known(one).redact(part)}}`)).not.toThrow();
        }
      }),
      { numRuns },
    );
  });

  it("stays hidden, and its mark as it is, when a text is redacted again", () => {
    fc.assert(
      fc.property(secret, secret, other, (one, two, text) => {
        const secrets = known(one, two);
        const redacted = secrets.redact(`${text} ${one} ${two} ${one}${two}`);
        expect(secrets.redact(redacted)).toBe(redacted);
      }),
      { numRuns },
    );
  });

  it.each(["plain", "URL-encoded", "JSON", "JSON in JSON", "JSON in ASCII", "hexadecimal", "base64"])(
    "is hidden where a limit has cut it, in the form %s",
    (name) => {
      fc.assert(
        fc.property(key, other, fc.double({ min: 0, max: 1, noNaN: true }), (value, before, share) => {
          const form = forms[name]?.(value) ?? "";
          const length = Math.floor(share * form.length);
          const [start, end] = [form.slice(0, length), form.slice(length)];
          for (const text of [`${before} ${start}…`, `"${start}..."`, `${before} ${start}… [cut: 9]`])
            expect(/\[redacted/.test(known(value).redact(text)) || isShort(value, name, start, "start"), text).toBe(
              true,
            );
          expect(
            /\[redacted/.test(known(value).redact(`… [cut: 9] …${end} x`)) || isShort(value, name, end, "end"),
          ).toBe(true);
        }),
        { numRuns },
      );
    },
  );
});

/** Whether a part of a form shows fewer than four characters of the secret, or all of a form that is too short to be one. */
function isShort(value: string, form: string, part: string, side: Side): boolean {
  if (form === "base64" || form === "hexadecimal") return part.length < 8;
  const [length] = [...value.matchAll(/\s+|\S/gu)].map((match) => match[0].length);
  return part.length < 12 * 4 && (part.length < 4 + (length ?? 1) || countShown(value, form, part, side) < 5);
}

type Side = "start" | "end";

/** How many characters of the secret the start or the end of one of its forms shows. */
function countShown(value: string, name: string, part: string, side: Side): number {
  const pieces = value.match(/\s+|\S/gu) ?? [];
  const write = forms[name] ?? ((text: string) => text);
  const take = (count: number) => (side === "start" ? pieces.slice(0, count) : pieces.slice(-count)).join("");
  let count = 0;
  while (count < pieces.length && write(take(count + 1)).length <= part.length) count++;
  return count;
}

describe("of 60 random printable secrets, none stays in", () => {
  const escapes = {
    JSON: inJson,
    HTML: forms.HTML ?? String,
    XML: (text: string) => text.replace(/[&<>"'\n\t]/g, (sign) => `&#x${sign.charCodeAt(0).toString(16)};`),
    URL: encodeURIComponent,
    Markdown: (text: string) => text.replace(/[\\`*_{}[\]()#+.!|-]/g, "\\$&"),
    ASCII: (text: string) => text.replace(/[<>&'"+]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    CSV: (text: string) => text.replaceAll('"', '""'),
  };
  const pairs = Object.keys(escapes).flatMap((one) => Object.keys(escapes).map((other) => [one, other] as const));
  const write = (name: string, text: string) => escapes[name as keyof typeof escapes](text);
  const printable = fc.string({ minLength: 12, maxLength: 40, unit: "grapheme-ascii" });
  const values = fc.sample(printable.filter(redactable), { numRuns: 60, seed: 32 });

  const { redact } = known(...values);
  it.each(pairs)("%s in %s", (inner, outer) => {
    const left = values.filter((value, at) => {
      const redacted = redact(`before ${write(outer, `x ${write(inner, value)} y`)} after`);
      return !new RegExp(`\\[redacted: NAME_${at}\\]`).test(redacted);
    });
    expect(left).toEqual([]);
  });
});

describe("a secret", () => {
  it("that holds another one is hidden as a whole, and one in the name of another is not shown", () => {
    const secrets = createSecrets();
    secrets.add("SHORT", "abcdef");
    secrets.add("LONG", "xx-abcdef-yy");
    secrets.add("REFERENCE", "LONG_NAME_OF_A_KEY");
    secrets.add("LONG_NAME_OF_A_KEY", "value-of-it");
    expect(secrets.redact("xx-abcdef-yy abcdef value-of-it LONG_NAME_OF_A_KEY")).toBe(
      "[redacted: LONG] [redacted: SHORT] [redacted] [redacted: REFERENCE]",
    );
  });

  it("that is a word of every record leaves the record readable", () => {
    const secrets = known("answered", "trials", "object", "redacted");
    const text = JSON.stringify({ trials: [{ kind: "answered", schema: { type: "object" } }] });
    expect(secrets.redact(text)).toBe(text);
  });

  it("that is JSON or of several lines is hidden in its parts, too", () => {
    const key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    const pem = `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`;
    const account = { type: "service", private_key_id: "0a1b2c3d4e", private_key: pem, retries: 3 };
    const secrets = known(JSON.stringify(account), pem);
    const text = JSON.stringify({ account, lines: key.replaceAll("\n", "\n| ") });
    const redacted = secrets.redact(text);
    expect(JSON.parse(redacted).account).toMatchObject({ type: "service", retries: 3 });
    for (const part of ["0a1b2c3d4e", ...key.split("\n")]) expect(redacted).not.toContain(part);
  });

  it("is hidden where a message, a record or a table has cut or broken it", () => {
    const value = "sk-live-0123456789-abcdefghij";
    const secrets = known(value);
    for (const shown of [6, 12, 20, 28]) {
      for (const text of [
        cut(`${" ".repeat(199 - shown)}${value}${"x".repeat(50)}`),
        excerpt(`${"x ".repeat(500).slice(shown)}${value}${" y".repeat(900)}`, 1_000 - 125 + shown),
        `${value.slice(0, shown)}...`,
        `${value.slice(0, shown)}\n  ${value.slice(shown)}`,
        `${value.slice(0, shown)}\n│ ${value.slice(shown)}`,
        `${value.slice(0, shown)}…${value.slice(shown + 1)}`,
      ]) {
        const redacted = secrets.redact(text);
        expect(redacted, text).not.toContain(value.slice(0, 6));
        if (shown < 24) expect(redacted, text).not.toContain("fghij");
      }
    }
  });

  it("takes linear time where many texts begin like it", () => {
    const secrets = known(...Array.from({ length: 20 }, (_, at) => `sk-live-${at}-0123456789`), `${"-".repeat(60)}END`);
    for (const piece of ["sk-live-…", "sk-live-", "…6789", "----", "...----\n", "\n|"]) {
      const text = piece.repeat(20_000);
      expect(secrets.redact(text).length).toBeGreaterThan(0);
    }
  });
});
