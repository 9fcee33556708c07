import type { LiftSummary, RunSummary, SkillsSummary, SuiteSummary } from "../../base/types/run.ts";
import { type Block, type Blocks, makeColumns, section, table, text } from "../../reports/document.ts";
import { count, duration, integer, money, percent, pointsWithInterval, range, ratio } from "../../reports/format.ts";

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

/** The effect of a skill, for a suite that also asks its cases without it. */
export function liftBlocks({ lift }: SuiteSummary): Block[] {
  if (!lift) return [];
  return section(`Effect of the skill ${lift.skill}`, [text(liftSentence(lift)), armsTable(lift), ...behaviours(lift)]);
}

/** The lift in one sentence, with what it means. */
function liftSentence({ net, arms }: LiftSummary): string {
  if (!net) {
    const { with: one, without: other } = arms;
    const trials = `${count(one.notGradable + other.notGradable, "trial")} not gradable, ${integer(one.broken + other.broken)} broken`;
    return `Lift could not be measured: no case was graded both with and without the skill (${trials}).`;
  }
  const [low, high] = net.interval;
  const meaning = low > 0 ? "it helps" : high < 0 ? "it harms" : "the difference may be chance";
  return `Lift ${pointsWithInterval(net.change, net.interval)} over ${count(net.cases, "case")}: ${meaning}.`;
}

function armsTable({ arms }: LiftSummary): Block {
  const row = (name: string, arm: LiftSummary["arms"]["with"]) => [
    name,
    ...[ratio(arm), integer(arm.notGradable), integer(arm.broken)],
    arm.meanTurns === null ? "-" : arm.meanTurns.toFixed(1),
    arm.meanTokens === null ? "-" : integer(arm.meanTokens),
    arm.meanMs === null ? "-" : duration(arm.meanMs),
    money(arm.costUsd),
  ];
  const figures = ["passed", "not gradable", "broken", "turns", "tokens", "time", "cost"];
  const rows = [row("with the skill", arms.with), row("without it", arms.without)];
  return table("arm", makeColumns(["name", "arm"], ["figure", ...figures]), rows);
}

function behaviours({ behaviours: all }: LiftSummary): Blocks {
  const met = (counts: LiftSummary["behaviours"][number]["with"]) =>
    `${ratio(counts)}${counts.unknown > 0 ? `, ${integer(counts.unknown)} undecided` : ""}`;
  const rows = all.map((one) => [one.case, one.text, met(one.with), met(one.without)]);
  const columns = makeColumns(["id", "case"], ["name", "behaviour"], ["figure", "with", "without"]);
  return section("Expected behaviour (met/graded)", [table("behaviour", columns, rows)]);
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
