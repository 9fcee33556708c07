import type { RunSummary, SkillsSummary } from "../../base/types/run.ts";
import { type Block, makeColumns, section, table, text } from "../../reports/document.ts";
import { integer, percent, range } from "../../reports/format.ts";

type Share = SkillsSummary["skills"][number]["recall"];

/** How well the skills of a run are triggered, by model. */
export function triggerBlocks({ skills = [] }: RunSummary): Block[] {
  return skills.flatMap(({ model, skills: all, loaded }) => {
    const rows = all.map((one) => [
      one.name,
      ...[one.truePositives, one.falsePositives, one.falseNegatives, one.trueNegatives].map(integer),
      shareText(one.precision),
      shareText(one.recall),
    ]);
    const picked = loaded.map(({ expected, loaded: name, n }) => [expected, name ?? "(none)", integer(n)]);
    const rates = ["TP", "FP", "FN", "TN", "precision (95% CI)", "recall (95% CI)"];
    const pairs = makeColumns(["name", "expected", "loaded"], ["figure", "trials"]);
    const explanation =
      "Precision: of the trials that loaded the skill, those that should have. Recall: of the trials that should have loaded it, those that did.";
    return [
      ...section(`Skill triggering · ${model}`, [
        table("skill", makeColumns(["name", "skill"], ["figure", ...rates]), rows),
        text(explanation),
      ]),
      ...section("Skills that were loaded", [table("pair", pairs, picked)]),
    ];
  });
}

function shareText(share: Share): string {
  return share ? `${percent(share.rate)} (${range(share.interval)})` : "-";
}

/** The judge of a run, and how well it agrees with people if that was measured. */
export function judgeText({ judge }: RunSummary): string | undefined {
  if (!judge) return undefined;
  const measured = judge.figure?.replace(/^judge /, "");
  return measured ?? `${judge.model}: agreement with people not measured (see \`evals judge check\`)`;
}
