import { caseOf, runOf, suiteOf } from "./samples.ts";

const tool = (expected: string, given: object) => ({
  ...{ expected, trials: 10, picked: 0, passed: 0, wrongArguments: 0, reachedLater: 0, instead: [], ...given },
});
/** A run with every explanation of missed trials and of passes with another tool. */
export const missed = runOf(
  [
    suiteOf({
      cases: [
        caseOf({
          ...{ id: "read", input: "Read it", expected: "read_note", passed: 1 },
          outcomes: { "right-tool": 0, substituted: 1, "wrong-arguments": 4 },
        }),
      ],
      mocks: { answered: 12, unused: ["list_notes[2]"], unmatched: [{ text: "save_note has no mock", n: 3 }] },
      misses: {
        tools: [
          tool("save_note", {
            instead: [
              { picked: "append_note", n: 8 },
              { picked: "(none)", n: 2 },
            ],
          }),
          tool("read_note", { picked: 10, passed: 6, wrongArguments: 4 }),
          // A result or code of the user decided: the pick is not what missed.
          tool("move_note", { picked: 10, passed: 7 }),
          tool("find_note", {
            ...{ picked: 4, passed: 3, wrongArguments: 1, reachedLater: 5 },
            instead: [{ picked: "list_notes", n: 6 }],
          }),
        ],
        parameters: [{ tool: "read_note", parameter: "name", missing: 3, wrongType: 0, wrongValue: 1, invented: 0 }],
        preconditions: [{ tool: "find_note", before: "list_notes", named: false, n: 5 }],
        repeated: [{ tool: "save_note", after: "denial", n: 7 }],
      },
    }),
  ],
  1,
);
/** What its reports say about them. */
export const missSentences = [
  ...["save_note 0/10 0 0 append_note 8, (none) 2", "read_note 10/10 4 0", "find_note 4/10 1 5 list_notes 6"],
  ...["Before find_note came list_notes in 5 trials: its description does not name it."],
  ...["save_note: 7 calls repeated with the same arguments after it had not been executed."],
  ...["12 calls answered", "list_notes[2]"],
  ...["save_note has no mock"],
];
