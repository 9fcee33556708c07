import type * as z from "zod";
import { exitCodes } from "../../base/types/errors.ts";
import type { Experiment, RunManifest } from "../../base/types/run.ts";
import { type Blocks, plainText } from "../../reports/document.ts";
import type { Verdict, VerdictSuite } from "../../reports/findings.ts";
import { blameDocument, blameJson } from "../blame/report.ts";
import { blameExitCode, blameReportSchema } from "../blame/verdict.ts";
import { type ComparisonReport, comparisonDocument, comparisonJson } from "../compare/report.ts";
import { improveDocument, improveJson } from "../improve/report.ts";
import { improveSummarySchema } from "../improve/verdict.ts";
import { caseLocation, manifestFacts, measureTime, type Report } from "../run/report/forms.ts";
import { blocksPage, experimentPage, type PageTrialCollector } from "../run/report/page.ts";
import { variantsDocument, variantsJson } from "../variants/report.ts";
import { variantsSummarySchema } from "../variants/verdict.ts";

/** How to read and show the result of a command. `verdicts`: only for results with several verdicts. */
type Kind<S> = {
  schema: z.ZodType<S>;
  document(result: S): Blocks;
  json(result: S): { exitCode: number };
  verdicts?(result: S): Pick<Verdict, "name" | "level" | "kind" | "lines">[];
};

const defineKind = <S>(kind: Kind<S>): Kind<unknown> => kind as Kind<unknown>;

/** Every command except `run` that stores a result in its record. */
const kinds: Readonly<Record<Experiment["command"], Kind<unknown>>> = {
  variants: defineKind({ schema: variantsSummarySchema, document: variantsDocument, json: variantsJson }),
  improve: defineKind({ schema: improveSummarySchema, document: improveDocument, json: improveJson }),
  blame: defineKind({
    schema: blameReportSchema,
    document: blameDocument,
    json: (report) => ({ blames: [blameJson(report)], exitCode: blameExitCode(report, undefined) }),
    verdicts: (report) =>
      blameJson(report).cases.map(({ case: name, verdict, headline, reason, next }) => ({
        name,
        level: blameExitCode({ ...report, cases: [{ verdict }] }, undefined) === exitCodes.passed ? "notice" : "error",
        kind: verdict?.kind ?? "stopped",
        lines: [headline, reason, `Next: ${next}`],
      })),
  }),
};

/** The report of a recorded experiment. Throws a ZodError if another version of tool-evals recorded the result. */
export function experimentReport(manifest: RunManifest, experiment: Experiment, trials: PageTrialCollector): Report {
  const { command, suite, model } = experiment;
  const { schema, document, json, verdicts } = kinds[command];
  const result = schema.parse(experiment.result);
  const asked = manifest.suites.find(({ name }) => name === suite);
  const cases = new Map(asked?.cases.map((one) => [one.id, one]));
  const blocks = document(result);
  const { exitCode } = json(result);
  return {
    document: () => blocks,
    json: () => json(result),
    page: () => experimentPage(blocks, manifest, trials),
    verdicts: () => {
      const timed = measureTime(manifest);
      const listed = verdicts?.(result) ?? [leadVerdict(command, blocks, exitCode, timed.ms)];
      const placed = listed.map((one): Verdict => {
        const location = caseLocation(cases.get(one.name)) ?? (asked && { file: asked.file });
        return { ...one, location };
      });
      const own = { name: suite, model, facts: { model, ...manifestFacts(manifest) }, verdicts: placed };
      return { suites: [own], where: ` with \`evals show ${manifest.id}\``, ...timed };
    },
  };
}

/** The report of a comparison, which has no record. */
export function comparisonReport(report: ComparisonReport, exitCode: number): Report {
  const blocks = comparisonDocument(report);
  return {
    document: () => blocks,
    json: () => ({ ...comparisonJson(report), exitCode }),
    page: () => blocksPage(blocks),
    verdicts: () => ({
      suites: report.comparisons.map((one): VerdictSuite => {
        const facts = { A: report.base.name, B: report.head.name };
        const { suite: name, model, exitCode, file, ms } = one;
        const lead = leadVerdict("compare", comparisonDocument({ ...report, comparisons: [one] }), exitCode, ms);
        return { name, model, facts, verdicts: [{ ...lead, location: file === undefined ? undefined : { file } }] };
      }),
      where: " in the log of this step",
    }),
  };
}

function leadVerdict(name: string, blocks: Blocks, exitCode: number, ms?: number): Verdict {
  const texts = blocks.slice(0, 3).flatMap((block) => {
    if (block.kind === "heading") return block.level === 1 ? [plainText(block.text)] : [];
    return block.kind === "text" ? block.lines.map(plainText) : [];
  });
  const red = exitCode === exitCodes.failed ? "failed" : "error";
  const level = exitCode === exitCodes.passed ? "notice" : red;
  return { name, level, kind: name, lines: texts, ms };
}
