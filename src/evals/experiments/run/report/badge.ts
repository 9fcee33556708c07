import { plain } from "../../../base/secrets/visible.ts";
import type { RunManifest, RunSummary } from "../../../base/types/run.ts";
import { percent, range, some } from "../../../reports/format.ts";
import { runStatus, statusTone } from "../../results/text.ts";
import { meanRate } from "./trend.ts";

const colours = { good: "brightgreen", warn: "yellow", bad: "red" } as const;

/**
 * The file of a badge endpoint, as shields.io reads it (https://shields.io/badges/endpoint-badge): the mean pass rate over
 * cases of each model with its 95% interval, and the date. The colour shows the run's status.
 */
export function makeBadge(summary: RunSummary, { startedAt }: RunManifest) {
  const models = [...new Set(summary.suites.map(({ model }) => model))];
  const rates = models.map((model) => {
    const own = summary.suites.filter((suite) => suite.model === model);
    const { rate, interval } = meanRate(own.flatMap(({ cases }) => cases));
    return `${rate === null || interval === null ? "no result" : `${percent(rate)} (${range(interval)})`} ${model}`;
  });
  return {
    schemaVersion: 1,
    label: "tool selection",
    message: plain(`${some(rates, 3) || "no result"} · ${startedAt.slice(0, 10)}`),
    color: colours[statusTone[runStatus(summary)]],
  };
}
