import type { LiftSummary, RunSummary, SkillsSummary, SuiteSummary } from "../types/run.ts";
import type { FigureTable } from "./check.ts";
import { capital, count, duration, integer, money, percent, points, range } from "./format.ts";

/** What all reports say of skills, as raw text: a heading, sentences, and tables. */
export type SkillView = { title: string; sentences: string[]; tables: FigureTable[] };

type Share = SkillsSummary["skills"][number]["recall"];

/** How well the skills of a run trigger, a model at a time. */
export function triggerViews({ skills = [] }: RunSummary): SkillView[] {
  return skills.map(({ model, skills: all, loaded }) => ({
    title: `How well skills are loaded · ${model}`,
    sentences: [
      "Precision: of the trials that loaded it, those that wanted it. Recall: of those that wanted it, those that loaded it.",
    ],
    tables: [
      {
        title: "Skills",
        heads: ["skill", "TP", "FP", "FN", "TN", "precision (95%)", "recall (95%)"],
        names: 1,
        rows: all.map((one) => [
          one.name,
          ...[one.truePositives, one.falsePositives, one.falseNegatives, one.trueNegatives].map(integer),
          shareText(one.precision),
          shareText(one.recall),
        ]),
      },
      {
        title: "What was loaded",
        heads: ["expected", "loaded", "trials"],
        names: 2,
        rows: loaded.map(({ expected, loaded: name, n }) => [expected, name ?? "(none)", integer(n)]),
      },
    ],
  }));
}

/** What a skill is worth, for a suite that asks its cases without it too. */
export function liftView({ lift }: SuiteSummary): SkillView | undefined {
  if (!lift) return undefined;
  return {
    title: `What the skill ${lift.skill} is worth`,
    sentences: [liftSentence(lift)],
    tables: [armsTable(lift), behavioursTable(lift)].filter(({ rows }) => rows.length > 0),
  };
}

function liftSentence({ net, arms }: LiftSummary): string {
  if (!net) return `No lift can be told: no case was graded both with and without it (${ungraded(arms)}).`;
  const [low, high] = net.interval;
  const sure = low > 0 ? "it helps" : high < 0 ? "it harms" : "chance alone could make this";
  return `Lift ${points(net.change)} points (95% ${points(low)} to ${points(high)}) over ${count(net.cases, "case")}: ${sure}.`;
}

function ungraded({ with: one, without: other }: LiftSummary["arms"]): string {
  return `${integer(one.notGradable + other.notGradable)} trials not graded, ${integer(one.broken + other.broken)} broken`;
}

function armsTable({ arms }: LiftSummary): FigureTable {
  const row = (name: string, arm: LiftSummary["arms"]["with"]) => [
    name,
    `${integer(arm.passed)}/${integer(arm.trials)}`,
    integer(arm.notGradable),
    integer(arm.broken),
    arm.meanTurns === null ? "–" : arm.meanTurns.toFixed(1),
    arm.meanTokens === null ? "–" : integer(arm.meanTokens),
    arm.meanMs === null ? "–" : duration(arm.meanMs),
    money(arm.costUsd),
  ];
  return {
    title: "Both arms",
    heads: ["arm", "passed", "not gradable", "broken", "turns", "tokens", "time", "cost"],
    names: 1,
    rows: [row("with the skill", arms.with), row("without it", arms.without)],
  };
}

function behavioursTable({ behaviours }: LiftSummary): FigureTable {
  const met = ({ passed, trials, unknown }: LiftSummary["behaviours"][number]["with"]) =>
    `${integer(passed)}/${integer(trials)}${unknown > 0 ? ` +${integer(unknown)}?` : ""}`;
  return {
    title: "Expected behaviour (met/graded, ? could not be told)",
    heads: ["case", "behaviour", "with", "without"],
    names: 2,
    rows: behaviours.map((one) => [one.case, one.text, met(one.with), met(one.without)]),
  };
}

function shareText(share: Share): string {
  return share ? `${percent(share.rate)} (${range(share.interval)})` : "–";
}

/** Who judged, with how far people agreed with it, where that was measured. */
export function judgeText({ judge }: RunSummary): string | undefined {
  if (!judge) return undefined;
  return capital(judge.figure ?? `judge ${judge.model}: not measured against people, see \`evals judge check\``);
}
