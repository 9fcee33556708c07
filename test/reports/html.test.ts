import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import type { ReportPage } from "../../src/evals/experiments/run/report/page.ts";
import { anyText } from "../fakes/text.ts";
import { sampleReports } from "./checks.ts";
import { caseOf, manifest, passed, runOf, suiteOf } from "./samples.ts";

// Tests the file. What the page draws is tested in a browser (test/e2e/page.test.ts).

/** The file without the contents of its script, style and data, and these contents. */
function dissect(html: string) {
  const parts: string[] = [];
  const frame = html.replace(/(<(?:script|style)[^>]*>)([\s\S]*?)(<\/(?:script|style)>)/g, (_, start, inner, end) => {
    parts.push(inner);
    return start + end;
  });
  const [style = "", data = "", script = ""] = parts;
  return { frame, style, data: JSON.parse(data) as ReportPage, json: data, script };
}

describe.each(sampleReports)("%s", (_, report) => {
  const { frame, json, data } = dissect(forms.html.render(report));

  it("is one frame with one title, whatever the name of the run", () => {
    expect(frame.replace(/<title>[^<]*<\/title>/, "<title></title>").replace(/'sha256-[^']*'/g, "'sha256'")).toBe(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256'; style-src 'sha256'; connect-src 'none'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title></title>
<style></style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page needs JavaScript. The same report as text: summary.md.</p></noscript>
<script type="application/json" id="data"></script>
<script type="module"></script>
</body>
</html>
`,
    );
  });

  it("has data without tags and invisible characters", () => {
    expect(json).not.toMatch(/[<\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it("starts with the result", () => {
    const [heading] = data.before;
    expect(heading).toMatchObject({ kind: "heading", level: 1 });
    expect(data.title).toContain(heading?.kind === "heading" ? heading.text : "no heading");
  });
});

it("allows only its own script and style sheet in its policy", async () => {
  const { frame, script, style } = dissect(forms.html.render(runReport({ summary: passed, manifest })));
  for (const [directive, text] of Object.entries({ script, style })) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    expect(frame).toContain(`${directive}-src 'sha256-${Buffer.from(digest).toString("base64")}';`);
  }
});

it("keeps arbitrary text as data", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const one = caseOf({ id: text, input: text, expected: text, passed: 0, reasons: [{ text, n: 1 }] });
      const html = forms.html.render(
        runReport({ summary: runOf([suiteOf({ name: text, cases: [one] })], 1), manifest }),
      );
      const { frame, json, data } = dissect(html);
      expect(frame.match(/<[a-z]/g)).toHaveLength(14);
      expect(json).not.toContain("<");
      expect(JSON.stringify(data)).toContain(JSON.stringify(`${text} · lexical`).slice(1, -1));
    }),
    { numRuns: 40 },
  );
});

describe("colors", () => {
  const style = readFileSync(join(import.meta.dirname, "../../src/evals/page/style.css"), "utf8");
  /** The two colors of a variable: in the light scheme, and in the dark one. */
  const colors = (name: string) =>
    new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(style)?.slice(1) ?? [];

  it.each(["ink", "soft", "good", "bad", "warn"])("%s is readable on every background, light and dark", (name) => {
    for (const scheme of [0, 1])
      for (const ground of ["paper", "sheet", "wash", "chosen", "bad-wash", "good-wash"])
        expect(contrast(colors(name)[scheme] ?? "", colors(ground)[scheme] ?? ""), ground).toBeGreaterThan(4.5);
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
