import { pool } from "../../base/stats/counts.ts";
import type { Baseline } from "../../base/types/check.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import {
  type Block,
  type Blocks,
  diff,
  facts,
  hasContent,
  heading,
  makeColumns,
  section,
  type TextChange,
  table,
  text,
  unlimited,
} from "../../reports/document.ts";
import { count, integer, share, some } from "../../reports/format.ts";

/** What differs from a baseline: changes of tool lists, each with the cases that see the list, and notes on cases. */
export type BaselineDifference = {
  lists: readonly { cases: readonly string[]; changes: readonly TextChange[] }[];
  notes: readonly string[];
};

const describeBaseline = ({ suite, model }: Baseline) => `${suite} · ${model.id}`;

/** `4 cases, 14 tools, 78 of 80 trials passed` */
function contents({ cases, toolsets }: Baseline): string {
  const { passed, trials } = pool(cases);
  const { tools, skills } = listNames(toolsets);
  const lists = [
    ...(tools.length > 0 || skills.length === 0 ? [count(tools.length, "tool")] : []),
    ...(skills.length > 0 ? [count(skills.length, "skill")] : []),
  ];
  return [count(cases.length, "case"), ...lists, `${integer(passed)} of ${count(trials, "trial")} passed`].join(", ");
}

/** The distinct names in all lists of a baseline. `tools` excludes the instructions of servers. */
function listNames(toolsets: Baseline["toolsets"]) {
  const entries = Object.values(toolsets).flat();
  const list = (all: readonly OfferedTool[]) => [...new Set(all.map(({ name }) => name))].sort();
  return {
    all: list(entries),
    tools: list(entries.filter(({ origin }) => origin !== "skill" && origin !== "instructions")),
    skills: list(entries.filter(({ origin }) => origin === "skill")),
  };
}

/** The report of `evals baseline show`. */
export function baselineDocument(baseline: Baseline, file: string): Block[] {
  const { git, run, acceptedAt, harness, host, node, cases, model, toolsets } = baseline;
  const commit = git && `commit ${git.commit}${git.dirty ? " with uncommitted changes" : ""}`;
  const varies = model.deterministic ? "deterministic" : "varies";
  return [
    heading(1, `${describeBaseline(baseline)} · ${contents(baseline)}`),
    facts(
      ["File", file],
      ["Accepted", [acceptedAt, `from run ${run}`, ...(commit ? [commit] : [])].join(" · ")],
      ["Written by", [`tool-evals ${harness}`, ...(node ? [`Node ${node}`] : []), `host ${host}`].join(" · ")],
      ["Model", `${model.kind}, ${varies}, ${JSON.stringify(model.settings)}`],
      ["Tools", some(listNames(toolsets).all, 40)],
    ),
    table(
      "case",
      makeColumns(["id", "case"], ["figure", "passed"]),
      cases.map((one) => [one.id, rate(one)]),
      { max: unlimited },
    ),
  ];
}

/** The report of an accepted baseline: what changed since `old`, the one it replaces. */
export function acceptedDocument(
  fresh: Baseline,
  file: string,
  old: { baseline: Baseline; difference: BaselineDifference } | "none" | "unreadable",
): Block[] {
  const title = heading(1, `ACCEPTED ${describeBaseline(fresh)} · ${contents(fresh)}`, "good");
  const next = "Next: commit the file; `evals run` compares with it once the tools change.";
  const lines = [
    `Written to ${file}`,
    ...(old === "none" ? ["The first baseline of this suite and model."] : []),
    next,
  ];
  if (typeof old === "string") return [title, text(...lines)];
  const before = `the baseline of ${old.baseline.acceptedAt.slice(0, 10)} (run ${old.baseline.run})`;
  const { lists, notes } = old.difference;
  const rates = rateChanges(old.baseline, fresh);
  const changes = differenceBlocks(old.baseline, { lists, notes: [...notes, ...rates] });
  if (changes.length === 0) return [title, text(...lines, `Nothing changed since ${before}.`)];
  return [title, text(...lines), ...section(`Changes since ${before}`, changes)];
}

function differenceBlocks(baseline: Baseline, { lists, notes }: BaselineDifference): Blocks {
  const blocks = lists.flatMap(({ cases, changes }): Block[] => [
    text(cases.length < baseline.cases.length ? `Tools of ${some(cases)}:` : undefined),
    diff(changes, unlimited),
  ]);
  return [...blocks, text(...notes)].filter(hasContent);
}

/** The unchanged cases whose pass rate differs: `rename: 20/20 (100%) before, 11/20 (55%) now`. */
function rateChanges(before: Baseline, now: Baseline): string[] {
  const known = new Map(before.cases.map((one) => [one.id, one]));
  return now.cases.flatMap((one) => {
    const old = known.get(one.id);
    if (!old || old.hash !== one.hash || old.passed * one.trials === one.passed * old.trials) return [];
    return [`${one.id}: ${rate(old)} before, ${rate(one)} now`];
  });
}

const rate = (one: Baseline["cases"][number]) => (one.trials === 0 ? "not graded" : share(one));
