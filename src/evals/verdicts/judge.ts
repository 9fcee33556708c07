import type { Interval } from "../stats/intervals.ts";
import { kappa, wilson } from "../stats/intervals.ts";
import type { ExitCode } from "../types/errors.ts";
import { type Opinion, type OpinionCounts, opinions } from "../types/judge.ts";
import type { Cost } from "../types/trial.ts";
import { toExitCode } from "./exitCode.ts";

/** So many of so many, with the interval of the rate; null where there are none. */
type Share = { n: number; of: number; interval: Interval | null };

/** How far a judge agrees with people. A false pass: the judge finds met what people find not met; a false fail: the reverse. */
export type JudgeMeasures = {
  agreed: Share;
  /** Null where kappa is not defined; its interval where nothing was disagreed on. */
  kappa: { value: number; interval: Interval | null } | null;
  falsePasses: Share;
  falseFails: Share;
  cannotTell: Share;
};

/** A label on which judge and people differ. */
type Disagreement = {
  id: string;
  line: number;
  criterion: string;
  human: Opinion;
  judge: Opinion;
  why: string | null;
  evidence: string | null;
};

/** The result of `evals judge check`: the object that `--json` prints and the report is made from. */
export type JudgeCheckSummary = JudgeMeasures & {
  judge: string;
  prompt: string;
  labels: { file: string; sha256: string; count: number };
  counts: OpinionCounts;
  stopped: boolean;
  minKappa: number | null;
  /** The worst first: false passes, false fails, then the others. */
  disagreements: readonly Disagreement[];
  /** Labels that the judge gave no usable answer to; they are in no rate. */
  broken: readonly { id: string; line: number; why: string }[];
  costUsd: Cost;
  /** Where the figure was written; null when it was not. */
  written: string | null;
  exitCode: number;
};

/** A label and what the judge made of it: an opinion, or, when `broken`, why there is none. */
export type JudgedLabel = Omit<Disagreement, "judge"> & ({ judge: Opinion } | { broken: string });

/** What a check is about, and what ended it. */
type CheckFacts = Pick<JudgeCheckSummary, "prompt" | "labels" | "minKappa" | "costUsd"> & {
  judge: string;
  /** The exit code of a check that was stopped. */
  stopped: ExitCode | undefined;
};

/** The summary of a check, before the figure is written. */
export function summariseJudgeCheck(judged: readonly JudgedLabel[], { stopped, ...facts }: CheckFacts) {
  const none = () => ({ met: 0, "not met": 0, "cannot tell": 0 });
  const counts: OpinionCounts = { met: none(), "not met": none(), "cannot tell": none() };
  const answered = judged.flatMap((one) => ("judge" in one ? [one] : []));
  for (const { human, judge } of answered) counts[human][judge]++;
  const measures = measureJudge(counts);
  const broken = judged.flatMap((one) => ("broken" in one ? [{ id: one.id, line: one.line, why: one.broken }] : []));
  const isBelow = facts.minKappa !== null && (measures.kappa === null || measures.kappa.value < facts.minKappa);
  const wasStopped = stopped !== undefined && broken.length > 0;
  return {
    ...facts,
    counts,
    ...measures,
    stopped: wasStopped,
    disagreements: answered
      .filter(({ human, judge }) => human !== judge)
      .sort((a, b) => harm(a) - harm(b) || a.line - b.line),
    broken,
    // What broke makes the measurement incomplete, whatever it shows; only a whole one passes or fails the gate.
    exitCode: toExitCode({
      failed: isBelow && broken.length === 0,
      undecided: broken.length > 0,
      stopped: wasStopped ? stopped : undefined,
    }),
  };
}

/** The order of the report: what a judge passes wrongly does the most harm, a doubt the least. */
function harm({ human, judge }: Disagreement): number {
  if (judge === "cannot tell") return 4;
  return (judge === "met" ? 0 : 2) + (human === "cannot tell" ? 1 : 0);
}

/** Agreement and error rates from the counts. A rate's interval is Wilson's, at 95 %, as is that of kappa. */
export function measureJudge(counts: OpinionCounts): JudgeMeasures {
  const table = opinions.map((human) => opinions.map((judge) => counts[human][judge]));
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const measured = sum(table.flat());
  const share = (passed: number, trials: number) => ({
    n: passed,
    of: trials,
    interval: wilson({ passed, trials }) ?? null,
  });
  const human = (opinion: Opinion) => sum(Object.values(counts[opinion]));
  const agreement = kappa(table);
  return {
    agreed: share(sum(opinions.map((opinion) => counts[opinion][opinion])), measured),
    kappa: agreement ? { value: agreement.kappa, interval: agreement.interval ?? null } : null,
    falsePasses: share(counts["not met"].met, human("not met")),
    falseFails: share(counts.met["not met"], human("met")),
    cannotTell: share(sum(opinions.map((opinion) => counts[opinion]["cannot tell"])), measured),
  };
}
