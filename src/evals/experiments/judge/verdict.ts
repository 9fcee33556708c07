import * as z from "zod";
import { type Opinion, type OpinionCounts, opinions } from "../../asking/scoring/judge.ts";
import type { ExitCode } from "../../base/types/errors.ts";
import { costSchema } from "../../base/types/trial.ts";
import { judgeMeasuresSchema, measureJudge } from "../results/judgeMeasures.ts";
import { toExitCode } from "../results/outcome.ts";

const count = z.number().int().min(0);
const opinionSchema = z.enum(opinions);

const disagreementSchema = z.object({
  id: z.string(),
  line: count,
  criterion: z.string(),
  human: opinionSchema,
  judge: opinionSchema,
  why: z.string().nullable(),
  evidence: z.string().nullable(),
});
type Disagreement = z.infer<typeof disagreementSchema>;

/** The result of `evals judge check`: the object that `--json` prints and the report is made from. */
export const judgeCheckSummarySchema = judgeMeasuresSchema.extend({
  judge: z.string(),
  prompt: z.string(),
  labels: z.object({ file: z.string(), sha256: z.string(), count }),
  counts: z.record(opinionSchema, z.record(opinionSchema, count)),
  stopped: z.boolean(),
  minKappa: z.number().nullable(),
  disagreements: z
    .array(disagreementSchema)
    .readonly()
    .describe("the worst first: false passes, false fails, then the others"),
  broken: z
    .array(z.object({ id: z.string(), line: count, why: z.string() }))
    .readonly()
    .describe("labels that the judge gave no usable answer to; they are excluded from rates"),
  costUsd: costSchema,
  written: z.string().nullable().describe("where the figure was written; null when it was not"),
  exitCode: count,
});
export type JudgeCheckSummary = z.infer<typeof judgeCheckSummarySchema>;

/** A label with the opinion of the judge, or with the reason why there is none (`broken`). */
export type JudgedLabel = Omit<Disagreement, "judge"> & ({ judge: Opinion } | { broken: string });

/** The subject of a check, and how it ended. */
type CheckFacts = Pick<JudgeCheckSummary, "prompt" | "labels" | "minKappa" | "costUsd"> & {
  judge: string;
  /** The exit code of a check that was stopped. */
  stopped: ExitCode | undefined;
};

/** The summary of a check, before the figure is written. */
export function summarizeJudgeCheck(judged: readonly JudgedLabel[], { stopped, ...facts }: CheckFacts) {
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
    // A broken label makes the measurement incomplete; only a complete one passes or fails the gate.
    exitCode: toExitCode({
      failed: isBelow && broken.length === 0,
      undecided: broken.length > 0,
      stopped: wasStopped ? stopped : undefined,
    }),
  };
}

/** The order of the report: false passes do the most harm, doubts the least. */
function harm({ human, judge }: Disagreement): number {
  if (judge === "cannot tell") return 4;
  return (judge === "met" ? 0 : 2) + (human === "cannot tell" ? 1 : 0);
}
