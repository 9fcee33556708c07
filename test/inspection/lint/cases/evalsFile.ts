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
const triggerFile = {
  ...anEvalsFileSubject([{ query: "Shrink cat.png", should_trigger: true }], [{ input: "Shrink cat.png" }]),
  isTriggerFile: true,
};

export const evalsFileCases: CasesOf<EvalsFileSubject> = {
  "evals-file-shape": {
    clean: [of(...whole), triggerFile],
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
  "evals-check-missing": {
    clean: [of(...whole), triggerFile],
    violations: { "a query that triggers the skill says what is expected": [of({ input: "Shrink cat.png" })] },
  },
};
