import { expect, test } from "vitest";
import { formatJsonPath } from "../../../src/evals/base/jsonSchema/walk.ts";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { aSkillSubject } from "./cases/cases.ts";

/** What the rules find in a `SKILL.md` as the loader reads it. */
function findingsIn(text: string, folder: string): string[] {
  const parsed = parseSkill(text, { folder, file: "SKILL.md" });
  if ("reason" in parsed) throw new Error(parsed.reason);
  const subject = aSkillSubject({ ...parsed, folder }, { "SKILL.md": text });
  return rules.skills.flatMap(({ id, check }) => [...check(subject)].map(({ at }) => `${id} ${formatJsonPath(at)}`));
}

const whole = `---
name: image-compressor
description: >-
  Compresses images to a target size. Use when the user says "make this image smaller" or "compress my photos".
  Not for converting between formats.
---
# Compress images

The user has an image that is too large.

1. Ask for the size that the image may have.
2. Run the converter with that size.

## Do not

- Overwrite the original.
`;

test("finds nothing in a package as the specification wants it", () => {
  expect(findingsIn(whole, "image-compressor")).toEqual([]);
});

test("points at the line of the file", () => {
  const spoiled = whole
    .replace("2. Run the converter", "2. Open [the sizes](sizes.md), and run the converter")
    .replace("Overwrite", "Over\u200bwrite");
  expect(findingsIn(spoiled, "compressor")).toEqual([
    "skill-name-folder $.frontMatter.name",
    "skill-reference-missing $.line[12]",
    "skill-stray-unicode $.line[16]",
    "skill-step-single-action $.line[12]",
  ]);
});

test("quotes the tool names in a step as they are", () => {
  const { document } = aSkillSubject().package;
  const steps = [{ number: 1, line: 9, text: "_Call_ `get_order` and summarize the state." }];
  const subject = aSkillSubject({ document: { ...document, steps } });
  const found = rules.skills
    .filter(({ id }) => id === "skill-step-single-action")
    .flatMap((r) => [...r.check(subject)]);
  expect(found.map(({ message }) => message)).toEqual([
    'Step 1 asks for 2 actions: "Call get_order and summarize the state.".',
  ]);
});
