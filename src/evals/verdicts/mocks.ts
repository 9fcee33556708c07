import type { SuiteSummary } from "../types/run.ts";
import type { Trial } from "../types/trial.ts";
import { Counter } from "./tally.ts";

/** What the mocks of a suite answered, in all arms. A mock that answered no call may have matchers that fit none. */
export class MockTally {
  readonly #labels: readonly string[];
  readonly #used = new Set<string>();
  readonly #unmatched = new Counter();
  #answered = 0;

  constructor(labels: readonly string[]) {
    this.#labels = labels;
  }

  add({ turns }: Trial): void {
    for (const { execution } of turns.flatMap(({ calls }) => calls)) {
      if (execution?.status === "executed" && execution.mock !== undefined) {
        this.#answered++;
        this.#used.add(execution.mock);
      }
      if (execution?.status === "skipped" && execution.unmatched) this.#unmatched.add(execution.reason);
    }
  }

  summary(): NonNullable<SuiteSummary["mocks"]> {
    return {
      answered: this.#answered,
      unused: this.#labels.filter((label) => !this.#used.has(label)),
      unmatched: this.#unmatched.ranked().map(([text, n]) => ({ text, n })),
    };
  }
}
