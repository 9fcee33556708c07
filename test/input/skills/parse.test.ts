import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";

/** What a SKILL.md in the folder `demo` comes to. */
function parse(text: string) {
  const parsed = parseSkill(text, { folder: "demo", file: "demo/SKILL.md" });
  if ("reason" in parsed) return parsed;
  const { warnings, ...rest } = parsed;
  return { ...rest, warnings: warnings.map(formatProblem) };
}

function loaded(text: string) {
  const parsed = parse(text);
  if ("reason" in parsed) throw new Error(parsed.reason);
  return parsed;
}

const bodyOf = (body: string) => loaded(`---\nname: demo\ndescription: Does it.\n---\n${body}`).document;

describe("front matter", () => {
  it("is read with the place of each key", () => {
    const text = `---
name: demo
description: >-
  Does it.
  And more.
license: MIT
compatibility: Node 20
metadata: { version: "1" }
allowed-tools: Read Bash(git:*)
---
# Demo
`;
    expect(loaded(text)).toEqual({
      name: "demo",
      description: "Does it. And more.",
      document: {
        frontMatter: {
          name: "demo",
          description: "Does it. And more.",
          license: "MIT",
          compatibility: "Node 20",
          metadata: { version: "1" },
          "allowed-tools": "Read Bash(git:*)",
        },
        locations: {
          name: { line: 2, column: 1 },
          description: { line: 3, column: 1 },
          license: { line: 6, column: 1 },
          compatibility: { line: 7, column: 1 },
          metadata: { line: 8, column: 1 },
          "allowed-tools": { line: 9, column: 1 },
        },
        body: "# Demo\n",
        bodyLine: 11,
        title: { text: "Demo", line: 11 },
        steps: [],
        never: [],
        references: [],
      },
      warnings: [],
    });
  });

  it("may have a byte order mark and any line breaks", () => {
    const text = "\uFEFF---\r\nname: demo\r\ndescription: Does it.\r\n---\r\n# Demo\r\n\r\n1. Do it.\r\n";
    const { document, warnings } = loaded(text);
    expect(document.steps).toEqual([{ text: "Do it.", line: 7, number: 1 }]);
    expect([document.body, warnings]).toEqual(["# Demo\n\n1. Do it.\n", []]);
  });

  it("is read with quotes if a plain value contains a colon", () => {
    const text = `---
name: demo
description: Use when: the user says "x",
  or: y\\z
metadata:
  note: kept
---
`;
    const { description, document, warnings } = loaded(text);
    expect(description).toBe('Use when: the user says "x", or: y\\z');
    expect(document.frontMatter.metadata).toEqual({ note: "kept" });
    expect(warnings).toEqual([
      'demo/SKILL.md:3:1: warning: The front matter is not valid YAML: "description" contains characters of YAML outside of quotes, such as ": ".\n' +
        "  Put the value in quotes. It is read as if it were quoted, but not every host does so.",
    ]);
  });

  it("reads a value up to what YAML takes for a comment, as hosts do", () => {
    expect(loaded("---\nname: demo\ndescription: Posts to the #releases channel.\n---\n")).toMatchObject({
      description: "Posts to the",
      warnings: [],
    });
  });

  it("takes no name of a clone for the name of a package", () => {
    const location = { folder: "repo-main", file: "repo-main/SKILL.md", isRepository: true };
    expect(parseSkill("---\nname: shrink\ndescription: d\n---\n", location)).toMatchObject({ warnings: [] });
  });

  it("warns about what only some hosts accept", () => {
    expect(loaded("---\nname: other\nversion: 2\nmodel: x\ndescription: d\n---\n").warnings).toMatchInlineSnapshot(`
      [
        "demo/SKILL.md:2:1: warning: The name "other" differs from its folder "demo".
        Use the same name for both.",
        "demo/SKILL.md:3:1: warning: The front matter has keys that are not part of the Agent Skills format: "version", "model".
        Keep those that your host reads; put your own data under "metadata".",
      ]
    `);
    expect(loaded("---\ndescription: d\n---\n")).toMatchObject({
      name: "demo",
      warnings: [
        `demo/SKILL.md:1: warning: The skill has no "name"; its folder's name is used: demo.\n  Add "name: demo".`,
      ],
    });
  });

  it.each([
    ["", 'it has no front matter: line 1 is not "---"'],
    ["# Demo\n---\nname: demo\n---\n", 'it has no front matter: line 1 is not "---"'],
    ["---\nname: demo\ndescription: d\n", 'its front matter is not closed by a second line "---"'],
    ["---\n---\n", 'it has no "description"'],
    ["---\nname: demo\n---\n", 'it has no "description"'],
    ["---\nname: demo\ndescription:\n---\n", 'it has no "description"'],
    ['---\nname: demo\ndescription: "  "\n---\n', 'it has no "description"'],
    ["---\nname: demo\ndescription: [a, b]\n---\n", 'its "description" is a list, not text: put it in quotes'],
    ["---\nname: 12\ndescription: d\n---\n", 'its "name" is a number, not text: put it in quotes'],
    ["---\nname: true\ndescription: d\n---\n", 'its "name" is a boolean, not text: put it in quotes'],
    ["---\n- name\n- description\n---\n", 'its front matter is not a map of "key: value"'],
    [
      "---\nname: a\nname: b\ndescription: d\n---\n",
      'its front matter cannot be read: "name" appears twice in this object',
    ],
    [
      "---\na: &a [*a]\ndescription: d\n---\n",
      expect.stringMatching(/^its front matter cannot be read: .*alias is inside its own anchor/),
    ],
    [
      "---\nname: [unclosed\ndescription: d\n---\n",
      expect.stringMatching(/^its front matter cannot be read: Invalid YAML: /),
    ],
    [
      `---\nname: ${"[".repeat(9999)}\n---\n`,
      "its front matter cannot be read: The value is nested more than 100 levels deep",
    ],
    [
      `---\n${"- ".repeat(9999)}\n---\n`,
      "its front matter cannot be read: The value is nested more than 100 levels deep",
    ],
    [`---\nname: demo\ndescription: ${"d".repeat(70_000)}\n---\n`, "its front matter is longer than 64 KiB"],
  ])("that no host can load has a reason: %.60j", (text, reason) => {
    expect(parse(text)).toEqual({ reason, line: expect.any(Number) });
  });

  it("has the line of what is wrong", () => {
    expect(parse("---\nname: demo\ndescription: 5\n---\n")).toMatchObject({ line: 3 });
    expect(parse("---\nname: demo\nx: 1\nname: again\n---\n")).toMatchObject({ line: 4 });
  });
});

describe("a body", () => {
  it("is split into the parts of the specification", () => {
    const document = bodyOf(`# Make a demo ##

The user wants a demo
of something.

## Steps

1. Read [the format](references/format.md).
   - Not a step.
   1. Not a step of its own either.
2. Write it,
   in one file.

   \`\`\`
   1. Shown, not done
   [shown](nowhere.md)
   \`\`\`
3) Run \`scripts/x.sh\`.

## What not to do

- Do not guess.
* Do not wait
  for long.
    - Nor for a little.

## References

- [The format](references/format.md "how")
- \`scripts/x.sh\`
- https://example.com/x, by others
- templates/a.txt holds the frame
- nothing that could be opened
`);
    expect(document).toMatchObject({
      title: { text: "Make a demo", line: 5 },
      situation: { text: "The user wants a demo of something.", line: 7 },
      steps: [
        { text: "Read [the format](references/format.md).", line: 12, number: 1 },
        { text: "Write it, in one file.", line: 15, number: 2 },
        { text: "Run `scripts/x.sh`.", line: 22, number: 3 },
      ],
      never: [
        { text: "Do not guess.", line: 26 },
        { text: "Do not wait for long.", line: 27 },
      ],
      references: [
        { text: "the format", line: 12, target: "references/format.md" },
        { text: "The format", line: 33, target: "references/format.md" },
        { text: "`scripts/x.sh`", line: 34, target: "scripts/x.sh" },
        { text: "https://example.com/x, by others", line: 35, target: "https://example.com/x" },
        { text: "templates/a.txt holds the frame", line: 36, target: "templates/a.txt" },
      ],
    });
  });

  it.each([
    ...["Do not", "Don't", "DON’T do this", "What not to do", "What this skill does not do", "Never", "Avoid"],
    ...["Limitations", "🚫 Things to never do", "When not to use it", "4. Out of scope", "Anti-patterns"],
  ])("keeps what must not be done under %j", (heading) => {
    expect(bodyOf(`# T\n\n## ${heading}\n\n1. Lose data\n\n## Next\n\n- no`)).toMatchObject({
      never: [{ text: "Lose data", line: 9 }],
      steps: [],
    });
    expect(bodyOf(`# T\n\n**${heading}:**\n- Lose data\n`).never).toEqual([{ text: "Lose data", line: 8 }]);
  });

  it("may say in a section when it applies", () => {
    const document = bodyOf(
      "Text.\n\n# T\n\nMore.\n\n## When to use\n\n- On Mondays\n\n### When not to use\n\n- On Fridays\n",
    );
    expect(document).toMatchObject({
      title: { text: "T", line: 7 },
      situation: { text: "On Mondays", line: 13 },
      never: [{ text: "On Fridays", line: 17 }],
    });
  });

  it("may underline its headings, and hold what looks like markup", () => {
    const document = bodyOf(`Title
=====
In the year
2024. it began <!-- not
here -->

Never
-----
* * *
- x
<!--
1. hidden
- hidden
-->
~~~
- code
\`\`\`
- code
~~~

    1. indented code
`);
    expect(document).toMatchObject({
      title: { text: "Title", line: 5 },
      situation: { text: "In the year 2024. it began <!-- not here -->", line: 7 },
      steps: [],
      never: [{ text: "x", line: 14 }],
    });
  });

  it("distinguishes links to files from others", () => {
    const text =
      '[a](a.md) [b](https://x.y/b.md) [c](#c) [d](mailto:d@x.y) ![e](img/e.png) `[f](f.md)` [`g`](g.md#part) [[h](h.md)](i) [j](<j k.md>) [l](l m.md "title")';
    expect(bodyOf(`${text}\n`).references.map(({ target }) => target)).toEqual([
      "a.md",
      "img/e.png",
      "g.md#part",
      "h.md",
      "j k.md",
      "l m.md",
    ]);
  });

  it("may be empty", () => {
    expect(bodyOf("")).toMatchObject({ body: "", bodyLine: 5, steps: [], never: [], references: [] });
  });
});
