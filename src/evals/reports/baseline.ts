import type { Baseline } from "../types/baseline.ts";
import { atMost, count, percent } from "./format.ts";
import type { Display } from "./report.ts";
import { screenFor } from "./screen.ts";

type BaselineCase = Baseline["cases"][number];

/** How a baseline is named in a line of text. */
export const baselineTitle = ({ suite, model }: Baseline): string => `${suite} · ${model.id}`;

/** What a baseline holds: `4 cases, 14 tools, 78 of 80 trials passed`. */
export function baselineFigures({ cases, toolsets }: Baseline): string {
  const tools = new Set(Object.values(toolsets).flatMap((list) => list.map(({ name }) => name)));
  const sum = (of: (one: BaselineCase) => number) => cases.reduce((total, one) => total + of(one), 0);
  const passed = `${sum((one) => one.passed)} of ${count(
    sum((one) => one.trials),
    "trial",
  )} passed`;
  return [count(cases.length, "case"), count(tools.size, "tool"), passed].join(", ");
}

/** A baseline for a person to read. Untrusted text in it is made visible. */
export function baselineText(baseline: Baseline, file: string, display: Display): string {
  const screen = screenFor(display);
  const { git, run, acceptedAt, harness, host, node, cases, model } = baseline;
  const tools = [...new Set(Object.values(baseline.toolsets).flatMap((list) => list.map(({ name }) => name)))].sort();
  const commit = git && `commit ${git.commit}${git.dirty ? " with uncommitted changes" : ""}`;
  const facts = [
    `file: ${file}`,
    [`accepted: ${acceptedAt}`, `from run ${run}`, ...(commit ? [commit] : [])].join(" · "),
    [`by: tool-evals ${harness}`, ...(node ? [`Node ${node}`] : []), `host ${host}`].join(" · "),
    `model: ${model.kind}, ${model.deterministic ? "always answers alike" : "varies"}, ${JSON.stringify(model.settings)}`,
    `tools: ${atMostNames(tools)}`,
  ];
  const rows = cases.map((one) => [{ text: one.id }, { text: passes(one) }]);
  const lines = [
    screen.paint("bold", screen.text(`${baselineTitle(baseline)} · ${baselineFigures(baseline)}`)),
    ...facts.flatMap((fact) => screen.lines(fact, 2, 4)),
    ...screen.table([{ head: "case" }, { head: "passed", fixed: true }], rows).map((line) => `  ${line}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** The cases that both hold, word for word, and that passed at another rate: `rename: 20/20 (100%) before, 11/20 (55%) now`. */
export function rateChanges(before: Baseline, now: Baseline): string[] {
  const then = new Map(before.cases.map((one) => [one.id, one]));
  return now.cases.flatMap((one) => {
    const old = then.get(one.id);
    if (!old || old.hash !== one.hash || old.passed * one.trials === one.passed * old.trials) return [];
    return [`${one.id}: ${passes(old)} before, ${passes(one)} now`];
  });
}

function passes({ passed, trials }: BaselineCase): string {
  return trials === 0 ? "not graded" : `${passed}/${trials} (${percent(passed / trials)})`;
}

function atMostNames(names: readonly string[]): string {
  const { shown, left } = atMost(names, 40);
  return shown.join(", ") + (left > 0 ? ` and ${left} more` : "");
}
