import { expect, test } from "vitest";
import { annotationRules } from "../../../src/evals/inspection/lint/rules/annotations.ts";
import { annotationCases } from "./cases/annotations.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong with annotations, where, and what to do", () => {
  expect(describeViolations(annotationRules, annotationCases)).toMatchInlineSnapshot(`
    {
      "annotation-against-verb": [
        "$.annotations.readOnlyHint: readOnlyHint is true, but "operation" can be "set". -> Set readOnlyHint to false, or make a second tool for what changes something.",
        "$.annotations.readOnlyHint: readOnlyHint is true, but a tool named "create" changes something. -> Set readOnlyHint to false, or name the tool for what it reads.",
        "$.annotations.destructiveHint: destructiveHint is false, but a tool named "delete" destroys something. -> Set destructiveHint to true, or choose a verb that says what is kept.",
      ],
      "annotation-contradiction": [
        "$.annotations.destructiveHint: readOnlyHint and destructiveHint are both true. -> Set the wrong one to false.",
      ],
      "annotation-shape": [
        "$.annotations: annotations is an array, not an object. -> Make annotations an object of hints, or remove it.",
        "$.annotations.readOnlyHint: readOnlyHint is "true", not true or false. -> Make readOnlyHint true or false, or remove it.",
        "$.annotations.title: The title is 1, not a string. -> Give the tool a name for people in a few words, or remove the title.",
      ],
      "annotation-unknown": [
        "$.annotations.readonlyHint: "readonlyHint" is not an annotation of the protocol. -> Spell it readOnlyHint.",
      ],
    }
  `);
});
