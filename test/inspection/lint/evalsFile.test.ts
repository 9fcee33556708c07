import fc from "fast-check";
import { expect, test } from "vitest";
import { evalsFileRules } from "../../../src/evals/inspection/lint/rules/suites.ts";
import { anEvalsFileSubject } from "./cases/cases.ts";
import { evalsFileCases } from "./cases/evalsFile.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong, where, and what to do", () => {
  expect(describeViolations(evalsFileRules, evalsFileCases)).toMatchInlineSnapshot(`
    {
      "evals-check-missing": [
        "$.evals[0]: The query "Shrink cat.png" expects nothing except that the skill loads. -> Say in expected_behavior what the answer must do.",
      ],
      "evals-check-vague": [
        "$.evals[0]: The check "The output is correct." names nothing to look for. -> Name what the answer must show: a figure, a file, a question, an order of steps.",
      ],
      "evals-duplicate-input": [
        "$.evals[1]: The query "Shrink cat.png" is a duplicate. -> Rephrase it.",
        "$.evals[1]: The query " shrink  cat.PNG\\n" is a duplicate. -> Rephrase it.",
      ],
      "evals-file-empty": [
        "$: The file has no query. -> Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.",
      ],
      "evals-file-shape": [
        "$: The file has no key \`evals\`. -> Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.",
        "$.evals: evals is an object, not a list. -> Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.",
        "$.evals[0]: The query of an entry is not under \`input\`; later entries are not checked. -> Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.",
        "$.evals[0]: The checks of an entry are not a list of strings under \`expected_behavior\`; later entries are not checked. -> Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.",
      ],
      "evals-file-size": [
        "$: The skill has only 4 queries. -> Write about 5 to 10 queries in the words of users.",
      ],
      "evals-input-names-skill": [
        "$.evals[0]: The query names the skill: "Run image-compressor on cat.png". -> Write it like a user who has never seen the list of skills.",
        "$.evals[0]: The query names the skill: "Use the image compressor skill". -> Write it like a user who has never seen the list of skills.",
      ],
      "evals-negatives": [
        "$: Every query expects the skill, so over-triggering is not measured. -> Add a near miss with "should_trigger": false: close to what the skill does, but not its task.",
      ],
    }
  `);
});

const words = ["evals", "cases", "queries", "should_trigger", "should_not_trigger", "input", "expected_behavior"];
const { content } = fc.letrec((tie) => ({
  content: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie("content"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...words), tie("content")),
  ),
}));

test("throws for no file, whatever it holds", () => {
  const inputs = fc.array(fc.record({ input: fc.string(), triggers: fc.boolean() }), { maxLength: 3 });
  fc.assert(
    fc.property(content, inputs, fc.string({ minLength: 1 }), (raw, evals, skill) => {
      const subject = { ...anEvalsFileSubject(raw, evals), skill };
      for (const { check } of evalsFileRules) expect(() => [...check(subject)]).not.toThrow();
    }),
    { numRuns: 200 },
  );
});
