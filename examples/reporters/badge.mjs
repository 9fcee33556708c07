import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Writes `badge.json` beside the record, for an endpoint badge of shields.io (https://shields.io/badges/endpoint-badge): the mean pass rate
 * over the cases of each model and the day of the run.
 *
 * @type {import("tool-evals").Reporter}
 */
export default async ({ summary, manifest, dir }) => {
  const models = [...new Set(summary.suites.map(({ model }) => model))];
  const rates = models.map((model) => {
    const own = summary.suites.filter((suite) => suite.model === model);
    const passed = own.flatMap(({ cases }) => cases.flatMap(({ rate }) => rate ?? []));
    const mean = passed.reduce((sum, rate) => sum + rate, 0) / passed.length;
    return passed.length === 0 ? `no result ${model}` : `${Math.floor(mean * 100)}% ${model}`;
  });
  const colors = ["brightgreen", "red"];
  const badge = {
    schemaVersion: 1,
    label: "tool selection",
    message: `${rates.join(", ") || "no result"} · ${manifest.startedAt.slice(0, 10)}`,
    // Yellow: nothing was decided, such as in a run that was stopped.
    color: summary.ok ? "brightgreen" : (colors[summary.exitCode] ?? "yellow"),
  };
  await writeFile(join(dir, "badge.json"), `${JSON.stringify(badge, null, 2)}\n`);
};
