import type { SuiteSummary } from "../../base/types/run.ts";
import type { Trial } from "../../base/types/trial.ts";
import { Counter } from "./tally.ts";

/** Counts what the mocks of a suite answered, in all arms. A mock without calls may have matchers that fit none. */
export class MockTally {
  readonly #labels: readonly string[];
  readonly #places: readonly string[] | undefined;
  readonly #used = new Set<string>();
  readonly #unmatched = new Counter();
  #answered = 0;

  /** `places`: the places of the mocks in their files, in the order of the labels. */
  constructor(labels: readonly string[], places?: readonly string[]) {
    this.#labels = labels;
    this.#places = places;
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
    const isUnused = (_: string, at: number) => !this.#used.has(this.#labels[at] ?? "");
    const unusedPlaces = this.#places?.filter(isUnused) ?? [];
    return {
      answered: this.#answered,
      unused: this.#labels.filter(isUnused),
      ...(unusedPlaces.length > 0 && { unusedPlaces }),
      unmatched: this.#unmatched.ranked().map(([text, n]) => ({ text, n })),
    };
  }
}
