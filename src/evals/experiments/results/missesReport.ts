import { sumOf } from "../../base/sum.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import { type Block, details, hasContent, type Inline, list, makeColumns, table } from "../../reports/document.ts";
import { count, integer } from "../../reports/format.ts";
import { describePair } from "./text.ts";

type Misses = NonNullable<SuiteSummary["misses"]>;

const limits = { sentences: 12, picks: 5 } as const;
const noMisses: Misses = { tools: [], parameters: [], preconditions: [], repeated: [] };

/** Why trials missed, over all cases. A tool that is never picked has a different problem from one called wrongly. */
export function missBlocks({ misses = noMisses, confusion }: SuiteSummary): Block[] {
  // A trial can fail although its tool was picked and called rightly, by an assertion for example.
  const tools = misses.tools.filter(hasMissed);
  const described = new Set(tools.map(({ expected }) => expected));
  const sentences = [
    ...tools.map(describeTool),
    // What is expected can also be no call, several calls or a skill.
    ...confusion.filter(({ expected, picked }) => expected !== picked && !described.has(expected)).map(describePair),
    ...misses.preconditions.map(describePrecondition),
    ...misses.repeated.map(describeRepeated),
  ];
  const columns = makeColumns(
    ["name", "tool", "parameter"],
    ["figure", "missing", "wrong type", "wrong value", "invented"],
  );
  const rows = misses.parameters.map(({ tool, parameter, missing, wrongType, wrongValue, invented }) => [
    tool,
    parameter,
    ...[missing, wrongType, wrongValue, invented].map(integer),
  ]);
  return [
    details("Confused tools and wrong calls", list("finding", sentences, limits.sentences)),
    details("Wrong arguments by parameter", table("parameter", columns, rows)),
  ].filter(hasContent);
}

const hasMissed = ({ trials, picked, wrongArguments, reachedLater }: Misses["tools"][number]) =>
  picked < trials || wrongArguments > 0 || reachedLater > 0;

function describeTool(one: Misses["tools"][number]): Inline {
  const { expected, trials, picked, wrongArguments, reachedLater, instead } = one;
  const tool = { code: expected, max: 60 };
  const rest = sumOf(instead.slice(limits.picks), ({ n }) => n);
  const others = [
    ...instead.slice(0, limits.picks).map(({ picked: name, n }) => `${name} ${integer(n)}`),
    ...(rest > 0 ? [`others ${integer(rest)}`] : []),
  ];
  const picks = others.length === 0 ? "" : ` (picked instead: ${others.join(", ")})`;
  const later = reachedLater === 0 ? "" : `; reached later in ${integer(reachedLater)}`;
  const wrong = wrongArguments === 0 ? "" : `arguments wrong in ${integer(wrongArguments)}`;
  if (picked === 0) return [tool, `: never picked in ${count(trials, "trial")}${picks}${later}.`];
  const calls = wrong === "" ? "" : `; ${wrong}`;
  if (picked === trials) return [tool, `: picked in ${all(trials)}${calls}.`];
  return [tool, `: picked in ${integer(picked)} of ${count(trials, "trial")}${calls}${picks}${later}.`];
}

const all = (trials: number) => (trials === 1 ? "the only trial" : `all ${integer(trials)} trials`);

function describePrecondition({ tool, before, named, n }: Misses["preconditions"][number]): Inline {
  const about = named ? "its description names it" : "its description does not name it";
  return [`Before `, { code: tool }, " came ", { code: before }, ` in ${count(n, "trial")}: ${about}.`];
}

function describeRepeated({ tool, after, n }: Misses["repeated"][number]): Inline {
  const why = after === "denial" ? "it had not been executed" : "it had returned an error";
  return [{ code: tool }, `: ${count(n, "call")} repeated with the same arguments after ${why}.`];
}
