import { getOrAdd } from "../../base/collections.ts";
import type { AboutSkills, RunSummary, SkillsSummary } from "../../base/types/run.ts";
import type { Trial } from "../../base/types/trial.ts";
import { type Block, makeColumns, section, table, text } from "../../reports/document.ts";
import { integer, percent, range } from "../../reports/format.ts";
import { estimate } from "../results/figures.ts";

type Counts = { truePositives: number; falsePositives: number; falseNegatives: number; trueNegatives: number };

/**
 * How well the skills of a run trigger on one model, over all suites. A trial that wants a skill is a positive of it,
 * and a negative of every other offered skill. One that wants no skill is a negative of all. One that names skills to
 * avoid is a negative of those only, because another skill may be right. Broken and ungraded trials do not count.
 */
export class SkillTally {
  readonly #counts = new Map<string, Counts>();
  readonly #named = new Set<string>();

  add({ verdict }: Trial, about: AboutSkills, offered: readonly string[]): void {
    if (!verdict?.skills || verdict.grade === "not-gradable") return;
    const fired = new Set(verdict.skills);
    const wanted = new Set(about.wanted);
    const unwanted = about.unwanted === "others" ? offered.filter((name) => !wanted.has(name)) : about.unwanted;
    for (const name of wanted) this.#of(name)[fired.has(name) ? "truePositives" : "falseNegatives"]++;
    for (const name of unwanted) this.#of(name)[fired.has(name) ? "falsePositives" : "trueNegatives"]++;
    for (const name of [...wanted, ...(about.unwanted === "others" ? [] : unwanted)]) this.#named.add(name);
  }

  summary(model: string): SkillsSummary | undefined {
    const shown = [...this.#counts].filter(([name, counts]) => this.#named.has(name) || counts.falsePositives > 0);
    if (shown.length === 0) return undefined;
    const skills = shown
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, counts]) => ({
        name,
        ...counts,
        precision: estimateShare(counts.truePositives, counts.falsePositives),
        recall: estimateShare(counts.truePositives, counts.falseNegatives),
      }));
    return { model, skills };
  }

  #of(name: string): Counts {
    const none = { truePositives: 0, falsePositives: 0, falseNegatives: 0, trueNegatives: 0 };
    return getOrAdd(this.#counts, name, () => none);
  }
}

type Share = SkillsSummary["skills"][number]["recall"];

function estimateShare(right: number, wrong: number): Share {
  return estimate({ passed: right, trials: right + wrong }) ?? null;
}

/** How well the skills of a run are triggered, by model. */
export function triggerBlocks({ skills = [] }: RunSummary): Block[] {
  return skills.flatMap(({ model, skills: all }) => {
    const rows = all.map((one) => [
      one.name,
      ...[one.truePositives, one.falsePositives, one.falseNegatives, one.trueNegatives].map(integer),
      shareText(one.precision),
      shareText(one.recall),
    ]);
    const rates = ["TP", "FP", "FN", "TN", "precision (95% CI)", "recall (95% CI)"];
    const explanation =
      "Precision: of the trials that loaded the skill, those that should have. Recall: of the trials that should have loaded it, those that did.";
    return section(`Skill triggering · ${model}`, [
      table("skill", makeColumns(["name", "skill"], ["figure", ...rates]), rows),
      text(explanation),
    ]);
  });
}

function shareText(share: Share): string {
  return share ? `${percent(share.rate)} (${range(share.interval)})` : "-";
}
