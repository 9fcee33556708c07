import { wilson } from "../stats/intervals.ts";
import type { AboutSkills, SkillsSummary } from "../types/run.ts";
import type { Trial } from "../types/trial.ts";

type Counts = { truePositives: number; falsePositives: number; falseNegatives: number; trueNegatives: number };

/**
 * How well the skills of a run trigger on one model, over all of its suites. A trial that wants a skill is a positive of
 * it, and a negative of every other that was offered; one that wants none is a negative of all; and one that says what
 * must not be loaded is a negative of that alone, for another skill may be right. Broken and ungraded trials count
 * nowhere.
 */
export class SkillTally {
  readonly #counts = new Map<string, Counts>();
  readonly #named = new Set<string>();
  readonly #loaded = new Map<string, SkillsSummary["loaded"][number]>();

  add({ verdict }: Trial, about: AboutSkills, offered: readonly string[]): void {
    if (!verdict?.skills || verdict.grade === "not-gradable") return;
    const fired = new Set(verdict.skills);
    const wanted = new Set(about.wanted);
    const unwanted = about.unwanted === "others" ? offered.filter((name) => !wanted.has(name)) : about.unwanted;
    for (const name of wanted) this.#of(name)[fired.has(name) ? "truePositives" : "falseNegatives"]++;
    for (const name of unwanted) this.#of(name)[fired.has(name) ? "falsePositives" : "trueNegatives"]++;
    for (const name of [...wanted, ...(about.unwanted === "others" ? [] : unwanted)]) this.#named.add(name);
    for (const loaded of fired.size > 0 ? fired : [null]) this.#note(verdict.expected, loaded);
  }

  /** The skills that were asked for or wrongly loaded, by name; of the others there is nothing to tell. */
  summary(model: string): SkillsSummary | undefined {
    const told = [...this.#counts].filter(([name, counts]) => this.#named.has(name) || counts.falsePositives > 0);
    if (told.length === 0) return undefined;
    const loaded = [...this.#loaded.values()].sort(
      (a, b) =>
        (a.expected < b.expected ? -1 : a.expected > b.expected ? 1 : b.n - a.n) ||
        ((a.loaded ?? "") < (b.loaded ?? "") ? -1 : 1),
    );
    const skills = told
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, counts]) => ({
        name,
        ...counts,
        precision: shareOf(counts.truePositives, counts.falsePositives),
        recall: shareOf(counts.truePositives, counts.falseNegatives),
      }));
    return { model, skills, loaded };
  }

  #of(name: string): Counts {
    const known = this.#counts.get(name) ?? {
      truePositives: 0,
      falsePositives: 0,
      falseNegatives: 0,
      trueNegatives: 0,
    };
    this.#counts.set(name, known);
    return known;
  }

  #note(expected: string, loaded: string | null): void {
    const key = JSON.stringify([expected, loaded]);
    const known = this.#loaded.get(key) ?? { expected, loaded, n: 0 };
    this.#loaded.set(key, { ...known, n: known.n + 1 });
  }
}

function shareOf(right: number, wrong: number) {
  const interval = wilson({ passed: right, trials: right + wrong });
  return interval ? { rate: right / (right + wrong), interval } : null;
}
