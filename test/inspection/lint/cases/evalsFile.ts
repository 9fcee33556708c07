import type { EvalsFileSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { anEvalsFileSubject, type CasesOf } from "./cases.ts";

type Entry = { input: string; expected_behavior?: string[]; should_trigger?: boolean };

const inputs = ["Shrink cat.png", "My photos are too big", "This image must fit into a mail", "Make it 200 kB"];
const whole: readonly Entry[] = [
  ...inputs.map((input) => ({ input, expected_behavior: ["asks for a target size before it starts"] })),
  { input: "Convert cat.png to a JPEG", should_trigger: false },
];

/** A file in the specified shape with these entries, read as the loader does. */
function of(...entries: readonly Entry[]): EvalsFileSubject {
  const evals = entries.map(({ input, expected_behavior: expectedBehavior = [], should_trigger: triggers = true }) => {
    return { input, expectedBehavior, triggers };
  });
  return anEvalsFileSubject({ evals: entries }, evals);
}

const raw = (content: unknown) => anEvalsFileSubject(content, [{ input: "Shrink cat.png" }]);
const asking = (...texts: string[]) => of(...texts.map((input) => ({ input, expected_behavior: ["names the size"] })));
const expecting = (...checks: string[]) => of({ input: "Shrink cat.png", expected_behavior: checks });
const triggerSet = anEvalsFileSubject(
  [
    { query: "Shrink cat.png", should_trigger: true },
    { query: "Convert it", should_trigger: false },
  ],
  [{ input: "Shrink cat.png" }, { input: "Convert it", triggers: false }],
);

/** Two queries that want the skill, and a separate file of near misses. */
const separate = anEvalsFileSubject(
  {},
  [{ input: "Shrink cat.png" }, { input: "Make it small" }],
  [{ input: "Convert it" }, { input: "Crop it" }, { input: "Rotate it" }].map((one) => ({ ...one, triggers: false })),
);

export const evalsFileCases: CasesOf<EvalsFileSubject> = {
  "evals-file-shape": {
    clean: [of(...whole), triggerSet, raw({ should_trigger: ["Shrink cat.png"], should_not_trigger: [] })],
    violations: {
      "an object with the key evals": [raw([{ input: "a", expected_behavior: ["b"] }]), raw({ cases: [] }), raw("a")],
      "evals is a list of objects": [raw({ evals: {} }), raw({ evals: ["Shrink cat.png"] })],
      "input is a string": [raw({ evals: [{ prompt: "a", expected_behavior: ["b"] }] })],
      "expected_behavior is a list of strings": [
        raw({ evals: [{ input: "a", expected_behavior: "b" }] }),
        raw({ evals: [{ input: "a", assertions: ["b"] }] }),
      ],
    },
  },
  "evals-file-empty": { clean: [of(...whole)], violations: { "at least one query": [of()] } },
  "evals-file-size": {
    clean: [of(...whole), of(), separate],
    violations: { "at least 5 queries": [of(...whole.slice(1)), asking("Shrink cat.png")] },
  },
  "evals-negatives": {
    clean: [of(...whole), of(), separate],
    violations: { "some query does not trigger the skill": [asking("Shrink cat.png", "Make it small")] },
  },
  "evals-check-missing": {
    clean: [of(...whole), triggerSet],
    violations: { "a query that triggers the skill says what is expected": [of({ input: "Shrink cat.png" })] },
  },
  "evals-duplicate-input": {
    clean: [of(...whole)],
    violations: {
      "no query twice": [asking("Shrink cat.png", "Shrink cat.png")],
      "no two that differ only in case and white space": [asking("Shrink cat.png", " shrink  cat.PNG\n")],
    },
  },
  "evals-input-names-skill": {
    clean: [
      of(...whole),
      of({ input: "Not the image-compressor, please", should_trigger: false }),
      { ...asking("Fill this pdf", "What is in pdf/notes.txt?"), skill: "pdf" },
    ],
    violations: {
      "no query contains the name of the skill": [
        asking("Run image-compressor on cat.png"),
        { ...asking("/pdf fill this"), skill: "pdf" },
      ],
      'no query contains its words before "skill"': [
        asking("Use the image compressor skill"),
        { ...asking("Use your `pdf` skill"), skill: "pdf" },
      ],
    },
  },
  "evals-check-vague": {
    clean: [
      of(...whole),
      expecting("The response is a correct JSON object", "works offline", "The answer is 42", "Says that it did well"),
    ],
    violations: {
      "a check says what to look for, not that it is good": [
        expecting("names the size", "The output is correct."),
        expecting("works as expected"),
        expecting("Helpful response is appropriate", "responds appropriately"),
      ],
    },
  },
};
