import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { style } from "../../src/evals/reports/html.ts";
import { reports } from "../../src/evals/reports/index.ts";
import { checked } from "./checks.ts";
import {
  caseOf,
  empty,
  failed,
  hostile,
  hostileManifest,
  incomplete,
  manifest,
  passed,
  runOf,
  skills,
  suiteOf,
} from "./samples.ts";
import { all, parse } from "./xml.ts";

const samples = { passed, failed, incomplete, hostile, empty, skills, ...checked };

describe.each(Object.entries(samples))("%s", (name, summary) => {
  const text = reports.html.render({ summary, manifest: name === "hostile" ? hostileManifest : manifest });
  const document = parse(text);

  it("is this", async () => {
    const body = text.slice(text.indexOf("<body>"));
    await expect(body).toMatchFileSnapshot(`snapshots/${name}.body.html.txt`);
  });

  it("asks the network for nothing and runs nothing", () => {
    expect(text).not.toMatch(/<(script|link|img|iframe|object|embed|form|base)\b|@import|url\(/i);
    const attributes = all(document, "html")
      .flatMap(everything)
      .flatMap((element) => Object.entries(element.attributes));
    expect(attributes.filter(([key]) => /^(src|srcset|action|style|on.*)$/i.test(key))).toEqual([]);
    expect(attributes.filter(([key, value]) => key === "href" && !value.startsWith("#"))).toEqual([]);
  });

  it("gives every heading cell its scope, and every name it points at exists once", () => {
    expect(all(document, "th").filter(({ attributes }) => !/^(row|col)$/.test(attributes.scope ?? ""))).toEqual([]);
    const elements = everything(document);
    const ids = elements.flatMap(({ attributes }) => attributes.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const pointers = elements.flatMap(({ attributes }) =>
      [attributes["aria-labelledby"], attributes.href?.slice(1)].flatMap((id) => id ?? []),
    );
    expect(pointers.filter((id) => !ids.includes(id))).toEqual([]);
    expect(all(document, "h1")).toHaveLength(1);
    expect(all(document, "html")[0]?.attributes).toEqual({ lang: "en" });
  });
});

function everything(element: ReturnType<typeof parse>): ReturnType<typeof parse>[] {
  return [element, ...element.children.flatMap(everything)];
}

it("allows by its policy this style sheet and nothing else", async () => {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  const policy = all(parse(reports.html.render({ summary: passed, manifest })), "meta").find(
    ({ attributes }) => attributes["http-equiv"],
  );
  expect(policy?.attributes.content).toBe(
    `default-src 'none'; style-src 'sha256-${Buffer.from(digest).toString("base64")}'; base-uri 'none'; form-action 'none'`,
  );
  expect(reports.html.render({ summary: passed, manifest })).toContain(`<style>${style}</style>`);
});

it("escapes any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const one = caseOf({ id: text, input: text, expected: text, passed: 0, reasons: [{ text, n: 1 }] });
      const tags = (document: ReturnType<typeof parse>) => everything(document).map(({ tag }) => tag);
      const render = (name: string, given = one) =>
        reports.html.render({ summary: runOf([suiteOf({ name, cases: [given] })], 1), manifest });
      const usual = caseOf({ id: "a", input: "a", expected: "a", passed: 0, reasons: [{ text: "a", n: 1 }] });
      expect(tags(parse(render(text)))).toEqual(tags(parse(render("a", usual))));
    }),
    { numRuns: 40 },
  );
});

it("folds a long input", () => {
  const one = caseOf({ id: "a", input: "word ".repeat(100), expected: "a" });
  const document = parse(reports.html.render({ summary: runOf([suiteOf({ cases: [one] })], 0), manifest }));
  const folded = all(document, "td").flatMap((cell) => all(cell, "details"));
  expect(folded).toHaveLength(1);
});

describe("colours", () => {
  const [light = "", dark = ""] = style.split("prefers-color-scheme: dark");
  const colour = (scheme: string, name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(scheme)?.[1] ?? "";

  it.each(["ink", "soft", "good", "bad", "warn"])("%s is readable on every ground, light and dark", (name) => {
    for (const scheme of [light, dark])
      for (const ground of ["paper", "sheet", "bad-wash", "good-wash"])
        expect(contrast(colour(scheme, name), colour(scheme, ground))).toBeGreaterThan(4.5);
  });
});

/** The contrast ratio of WCAG 2. */
function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
