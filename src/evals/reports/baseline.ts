import type { Baseline } from "../types/baseline.ts";
import { type Block, type Blocks, heading, makeRows, section, type TextChange, text } from "./document.ts";
import { count, integer, share, some } from "./format.ts";

type BaselineCase = Baseline["cases"][number];

/** What differs from a baseline: changes of tool lists with the cases that were shown them, and lines on cases. */
export type BaselineDifference = {
  lists: readonly { cases: readonly string[]; changes: readonly TextChange[] }[];
  notes: readonly string[];
};

const describeBaseline = ({ suite, model }: Baseline) => `${suite} · ${model.id}`;

/** What a baseline holds: `4 cases, 14 tools, 78 of 80 trials passed`. */
function contents({ cases, toolsets }: Baseline): string {
  const sum = (of: (one: BaselineCase) => number) => cases.reduce((total, one) => total + of(one), 0);
  const trials = count(
    sum((one) => one.trials),
    "trial",
  );
  const passed = `${integer(sum((one) => one.passed))} of ${trials} passed`;
  return [count(cases.length, "case"), count(toolNames(toolsets).length, "tool"), passed].join(", ");
}

const toolNames = (toolsets: Baseline["toolsets"]) =>
  [...new Set(Object.values(toolsets).flatMap((list) => list.map(({ name }) => name)))].sort();

/** A baseline for a person to read. */
export function baselineDocument(baseline: Baseline, file: string): Block[] {
  const { git, run, acceptedAt, harness, host, node, cases, model, toolsets } = baseline;
  const commit = git && `commit ${git.commit}${git.dirty ? " with uncommitted changes" : ""}`;
  const rows = cases.map((one) => [one.id, rate(one)]);
  const columns = [
    { head: "case", kind: "name" as const },
    { head: "passed", kind: "figure" as const },
  ];
  return [
    heading(1, `${describeBaseline(baseline)} · ${contents(baseline)}`),
    {
      kind: "facts",
      facts: [
        ["File", file],
        ["Accepted", [acceptedAt, `from run ${run}`, ...(commit ? [commit] : [])].join(" · ")],
        ["Written by", [`tool-evals ${harness}`, ...(node ? [`Node ${node}`] : []), `host ${host}`].join(" · ")],
        [
          "Model",
          `${model.kind}, ${model.deterministic ? "deterministic" : "varies"}, ${JSON.stringify(model.settings)}`,
        ],
        ["Tools", some(toolNames(toolsets), 40)],
      ],
    },
    { kind: "table", columns, rows: makeRows(rows), most: Number.POSITIVE_INFINITY, noun: "case" },
  ];
}

/** A baseline that was accepted, and what it changes: `old` is the one that it replaces. */
export function acceptedDocument(
  fresh: Baseline,
  file: string,
  old: { baseline: Baseline; difference: BaselineDifference } | "none" | "unreadable",
): Block[] {
  const lines = [`Written to ${file}`, ...(old === "none" ? ["The first baseline of this suite and model."] : [])];
  const title = heading(1, `${describeBaseline(fresh)} · ${contents(fresh)}`);
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
    { kind: "diff", changes, most: Number.POSITIVE_INFINITY },
  ]);
  return section("", [...blocks, text(...notes)]).slice(1);
}

/** The cases that are the same in both but passed at another rate: `rename: 20/20 (100%) before, 11/20 (55%) now`. */
function rateChanges(before: Baseline, now: Baseline): string[] {
  const known = new Map(before.cases.map((one) => [one.id, one]));
  return now.cases.flatMap((one) => {
    const old = known.get(one.id);
    if (!old || old.hash !== one.hash || old.passed * one.trials === one.passed * old.trials) return [];
    return [`${one.id}: ${rate(old)} before, ${rate(one)} now`];
  });
}

const rate = (one: BaselineCase) => (one.trials === 0 ? "not graded" : share(one));
