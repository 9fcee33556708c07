import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import { anyText } from "../../fakes/text.ts";
import { readEvals, readEvalText, skillText, workspace } from "./workspace.ts";

const found = { folder: "demo", file: "demo/SKILL.md" };

/** Text that a reader of front matter and markdown may stumble over. */
const marks = [
  ...[
    "---",
    "\n",
    "\n",
    "\r\n",
    "name: demo",
    "description: d",
    ": ",
    ":",
    "- ",
    "1. ",
    "2) ",
    "# ",
    "## Do not",
    "```",
  ],
  ...[
    "~~~",
    "<!--",
    "-->",
    "**Never**",
    "===",
    "[a](b.md)",
    "[",
    "](",
    ")",
    "`",
    '"',
    "'",
    "|",
    ">-",
    "&a ",
    "*a",
    "!!x ",
  ],
  ...[
    "{",
    "}",
    "[x, ",
    "? ",
    "  ",
    "\t",
    "text",
    "## References",
    "\uFEFF",
    "\u0000",
    "é🙂",
    "\\",
    "__proto__: 1",
    "<<: *a",
  ],
];
const markup = fc.array(fc.constantFrom(...marks), { maxLength: 60 }).map((parts) => parts.join(""));
const skillFile = fc.oneof(
  anyText(),
  markup,
  fc.tuple(markup, markup).map(([front, body]) => `---\n${front}\ndescription: d\n---\n${body}`),
);

describe("any SKILL.md", () => {
  it("is read or has a reason, and every part has one of its lines", () => {
    fc.assert(
      fc.property(skillFile, (text) => {
        const parsed = parseSkill(text, found);
        if ("reason" in parsed) return parsed.reason !== "";
        const { title, situation, steps, never, references, body, bodyLine } = parsed.document;
        const lines = text.replace(/\r\n?/g, "\n").split("\n");
        const parts = [title, situation, ...steps, ...never, ...references].flatMap((part) => part ?? []);
        expect(lines.slice(bodyLine - 1).join("\n")).toBe(body);
        expect(parts.filter(({ line }) => line < bodyLine || line > lines.length)).toEqual([]);
        return parsed.name !== "" && parsed.description !== "";
      }),
      { numRuns: 1000 },
    );
  });

  it.each(["[", "](", "`", "**a", "# a\n", "1. a\n", "- a\n", "\t- ", "<!-- ", "```\n", " ", "a/b.", "https://."])(
    "is read to its end however much of %j it holds",
    (mark) => {
      const text = `${skillText("demo")}# References\n- ${mark.repeat(250_000 / mark.length)}`;
      const parsed = parseSkill(text, found);
      expect(JSON.stringify(parsed).length).toBeLessThan(6 * text.length);
    },
  );
});

const folder = join(import.meta.dirname, "../../fixtures/skills/shapes");
const shapes = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => readFileSync(join(folder, name), "utf8"));
const keys = [
  "input",
  "prompt",
  "evals",
  "cases",
  "should_trigger",
  "assertions",
  "checks",
  "text",
  "files",
  "id",
  "type",
];
const shaped = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 1 }), tie("object"), tie("list")),
  list: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), tie("value"), { maxKeys: 5 }),
})).value;
const mutated = fc
  .tuple(fc.constantFrom(...shapes), fc.nat(), fc.nat(20), fc.constantFrom("", '"', "{", "]", ",", "\n", "null", "\\"))
  .map(([text, at, length, put]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + length));

describe("any eval file", () => {
  it.each(["evals.json", "triggers.json"])("is read or refused with its place: %s", async (name) => {
    const demo = workspace({ "skills/demo/SKILL.md": skillText("demo"), [`skills/demo/evals/${name}`]: "" });
    const text = fc.oneof(
      shaped.map((value) => JSON.stringify(value)),
      mutated,
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(text, async (content) => {
        writeFileSync(join(demo, "skills/demo/evals", name), content);
        const read = await readEvals(demo);
        const isPlaced =
          typeof read === "string"
            ? read.startsWith(`skills/demo/evals/${name}:`)
            : read.evals.every(
                ({ input, unusable, location }) =>
                  (input.trim() !== "" || unusable !== undefined) && (location.line ?? 0) > 0,
              );
        expect(isPlaced).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it("brings no file from outside of the package and the repository", async () => {
    const outside = workspace({ "secret.txt": "secret", "dir/secret.txt": "secret" });
    const links = { "skills/demo/out": { link: outside }, "skills/demo/evals/out": { link: join(outside, "dir") } };
    const inside = { "skills/demo/a/in.txt": "fine", "in.txt": "fine", "skills/demo/evals/in.txt": "fine" };
    const part = fc.constantFrom("..", ".", "a", "in.txt", "secret.txt", "out", "evals", "", "dir", "C:", "~", outside);
    const path = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 7 }), fc.constantFrom("/", "\\", "//"))
      .map(([parts, between]) => parts.join(between));
    const demo = workspace({
      "skills/demo/SKILL.md": skillText("demo"),
      "skills/demo/evals/evals.json": "",
      ...links,
      ...inside,
    });
    let read = 0;
    await fc.assert(
      fc.asyncProperty(path, async (file) => {
        const text = JSON.stringify([{ input: "a", checks: ["b"], files: [file] }]);
        writeFileSync(join(demo, "skills/demo/evals/evals.json"), text);
        const result = await readEvals(demo);
        if (typeof result === "string") return true;
        read++;
        return result.evals.every(({ files }) => files.every(({ content }) => content === "fine"));
      }),
      { numRuns: 300, examples: [["in.txt"], ["a/in.txt"], ["out/secret.txt"], ["../../../secret.txt"]] },
    );
    expect(read).toBeGreaterThan(1);
  });

  it("is read completely, however deep or long it is", async () => {
    expect(await readEvalText("[".repeat(1_000_000))).toMatch(/nested more than 100 levels deep/);
    const many = await readEvalText(
      JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ input: `${n}`, tag: n }))),
    );
    expect(many).toMatchObject({ evals: { length: 20_000 }, warnings: { length: 1 } });
  });
});
