import type { SuiteSummary } from "../types/run.ts";
import { type Block, details, hasContent, type Inline, list, makeColumns, table } from "./document.ts";
import { count, integer } from "./format.ts";

type Misses = NonNullable<SuiteSummary["misses"]>;

const limits = { sentences: 8, picks: 3 } as const;

/** Why trials missed, over all cases. A tool that is never picked has a different problem from one called wrongly. */
export function missBlocks({ misses }: SuiteSummary): Block[] {
  if (!misses) return [];
  const sentences = [
    // A trial can fail although its tool was picked and called rightly, by an assertion for example.
    ...misses.tools.filter(hasMissed).map(describeTool),
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
    details("Picks and calls that missed", list("finding", sentences, limits.sentences)),
    details("Wrong arguments by parameter", table("parameter", columns, rows)),
  ].filter(hasContent);
}

const hasMissed = ({ trials, picked, wrongArguments, reachedLater }: Misses["tools"][number]) =>
  picked < trials || wrongArguments > 0 || reachedLater > 0;

function describeTool(one: Misses["tools"][number]): Inline {
  const { expected, trials, picked, wrongArguments, reachedLater, instead } = one;
  const tool = { code: expected, max: 60 };
  const others = instead.slice(0, limits.picks).map(({ picked: name, n }) => `${name} ${integer(n)}`);
  const picks = others.length === 0 ? "" : ` (picked instead: ${others.join(", ")})`;
  const later = reachedLater === 0 ? "" : `; reached later in ${integer(reachedLater)}`;
  const wrong = wrongArguments === 0 ? "" : `arguments wrong in ${integer(wrongArguments)}`;
  if (picked === 0) return [tool, `: never picked in ${count(trials, "trial")}${picks}${later}.`];
  const rest = wrong === "" ? "" : `; ${wrong}`;
  if (picked === trials) return [tool, `: picked in ${all(trials)}${rest}.`];
  return [tool, `: picked in ${integer(picked)} of ${count(trials, "trial")}${rest}${picks}${later}.`];
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
