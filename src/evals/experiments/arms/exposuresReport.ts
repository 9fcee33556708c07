import type {
  ChoiceByExposure,
  DiscoverySummary,
  ExposureComparison,
  ExposureSummary,
} from "../../base/types/discovery.ts";
import { describeExposure, nameComparedArm } from "../../base/types/exposure.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import type { Discovery } from "../../base/types/trial.ts";
import { type Block, details, list, makeColumns, type Span, section, table, text } from "../../reports/document.ts";
import {
  capital,
  count,
  integer,
  percent,
  pointsWithInterval,
  pValue,
  ratio,
  share,
  signedInteger,
  size,
  some,
} from "../../reports/format.ts";

const outcomeNames: Readonly<Record<Discovery["outcome"], string>> = {
  chosen: "chosen after a search",
  "chosen-without-search": "chosen without a search",
  "found-not-chosen": "found, not chosen",
  "not-found": "searched, not found",
  "not-searched": "never searched",
  "built-in-used": "a tool of the host used instead",
};

/** `found 18 of 20, chosen 17 of 18, chosen without a search 1` */
export function discoverySentence({ trials, found, chosen, outcomes }: DiscoverySummary): string {
  const direct = outcomes["chosen-without-search"] ?? 0;
  return [
    `found ${integer(found)} of ${integer(trials)}`,
    `chosen ${integer(chosen)} of ${integer(found)}`,
    ...(direct > 0 ? [`chosen without a search ${integer(direct)}`] : []),
  ].join(", ");
}

const maxItems = 8;

/** How expected tools were found and chosen; empty unless definitions are deferred. */
export function discoveryBlocks({ discovery }: SuiteSummary): Block[] {
  if (!discovery) return [];
  const { outcomes } = discovery;
  const lost = Object.entries(outcomes).filter(([name]) => !name.startsWith("chosen"));
  const parts = lost.map(([name, n]) => `${outcomeNames[name as Discovery["outcome"]]} ${integer(n)}`);
  return section("Tool search", [
    text(`${capital(discoverySentence(discovery))}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}.`),
    ...lossBlocks(discovery),
  ]);
}

/** Searches that did not lead to the expected tool, by outcome. `under` completes the titles with the exposure. */
function lossBlocks({ trials, notFound, notChosen, builtIns }: DiscoverySummary, under = ""): Block[] {
  const missing = notFound.map(({ expected, query, n }) => [
    `${integer(n)}x expected `,
    ...[{ code: expected, max: 60 }, ", searched for ", { code: query, max: 90 }],
  ]);
  const passed = notChosen.map(({ expected, picked, rank, n }) => [
    `${integer(n)}x expected `,
    ...[{ code: expected, max: 60 }, rank === undefined ? " (shown from the start)" : ` (rank ${integer(rank)})`],
    ...[", picked ", { code: picked, max: 60 }],
  ]);
  const replaced = builtIns.map(({ expected, tool, n }) => [
    ...[{ code: expected, max: 60 }, ": ", { code: tool, max: 60 }],
    ` in ${share({ passed: n, trials })} of the trials that expect a tool`,
  ]);
  return [
    details(`Searched, not found${under}`, list("entry", missing, maxItems)),
    details(`Found, not chosen${under}`, list("entry", passed, maxItems)),
    details(`A tool of the host used instead${under}`, list("entry", replaced, maxItems)),
  ];
}

const verdictNames: Readonly<Record<ExposureComparison["verdict"], Span>> = {
  better: { strong: "BETTER", tone: "good" },
  worse: { strong: "WORSE", tone: "bad" },
  mixed: { strong: "MIXED", tone: "warn" },
  equal: { strong: "EQUAL", tone: "good" },
  open: { strong: "NO DIFFERENCE SHOWN", tone: "warn" },
};

/** The exposures (or surfaces) of a suite side by side, each compared with the first. Empty if there is only one. */
export function exposureBlocks({ exposures = [], choices = [] }: SuiteSummary): Block[] {
  const [first] = exposures;
  if (!first) return [];
  const compared = exposures.flatMap((one) => (one.against ? [{ ...one, against: one.against }] : []));
  const rows = exposures.map((one) => [
    nameComparedArm(one),
    share(one),
    ratio(one.chosen),
    one.discovery ? `${integer(one.discovery.found)}/${integer(one.discovery.trials)}` : "-",
    one.requestsPerTrial === null ? "-" : one.requestsPerTrial.toFixed(1),
    tokensText(one, first),
  ]);
  const isSurfaces = first.surface !== undefined;
  const noun = isSurfaces ? "surface" : "exposure";
  const columns = makeColumns(
    ["name", noun],
    ["figure", "passed", "chosen", "found", "requests", "tokens per request"],
  );
  return section(isSurfaces ? "Surfaces" : "Exposures", [
    ...compared.map((one) => text([verdictNames[one.against.verdict], ` ${comparisonSentence(one, first)}`])),
    text(isSurfaces ? undefined : nextStep(compared.map(({ against }) => against.verdict))),
    table(noun, columns, rows),
    ...compared.map((one) => casesBlock(one.against, nameComparedArm(one))),
    ...compared.flatMap((one) => (one.discovery ? lossBlocks(one.discovery, ` with ${nameComparedArm(one)}`) : [])),
    choicesTable(exposures, choices),
    text(
      isSurfaces
        ? `All tools of a surface: ${describeExposure(first.exposure)}. Chosen: an expected tool was called. The cases and the gate below are those of ${nameComparedArm(first)}.`
        : `${exposures.map(({ exposure }) => `${exposure.kind}: ${describeExposure(exposure)}`).join("; ")}. Chosen: an expected tool was called. Found: by a search. The cases and the gate below are those of ${first.exposure.kind}.`,
    ),
  ]);
}

function nextStep(verdicts: readonly ExposureComparison["verdict"][]): string | undefined {
  if (!verdicts.some((verdict) => verdict === "worse" || verdict === "mixed")) return undefined;
  return "Next: put the words that were searched for into names, descriptions or anthropic/searchHint, or set anthropic/alwaysLoad for the tools that are chosen less often.";
}

function tokensText(
  { tokensPerRequest: tokens }: ExposureSummary,
  { tokensPerRequest: first }: ExposureSummary,
): string {
  if (tokens === null) return "-";
  const difference = first === null ? 0 : Math.round(tokens - first);
  return difference === 0 ? integer(tokens) : `${integer(tokens)} (${signedInteger(difference)})`;
}

/** `names against all: chosen 14 of 40, 40 of 40 before; -65.0 pp (95% CI ...); -2,300 tokens per request.` */
function comparisonSentence(one: ExposureSummary & { against: ExposureComparison }, first: ExposureSummary): string {
  const { verdict, net, p, margin, comparisons, left = [] } = one.against;
  // Records of older versions have the cases of each alone.
  const chosen = one.against.chosen ?? { own: one.chosen, first: first.chosen };
  const common = left.length > 0 ? " in the cases of both" : "";
  const difference = Math.round((one.tokensPerRequest ?? 0) - (first.tokensPerRequest ?? 0));
  const tested = p && (verdict === "better" || verdict === "worse") ? `, one-sided ${pValue(p[verdict])}` : "";
  const end = verdict === "equal" && p !== null ? `; a difference of ${size(margin)} is ruled out` : "";
  return [
    `${nameComparedArm(one)} against ${nameComparedArm(first)}`,
    `: chosen ${ratio(chosen.own)} against ${ratio(chosen.first)}${common}`,
    net === null ? "" : `, passed ${pointsWithInterval(net.change, p === null ? null : net.interval)}`,
    tested,
    difference === 0 ? "" : `, ${signedInteger(difference)} tokens per request`,
    end,
    p === null ? ". The model is deterministic." : `. ${count(comparisons, "test")} share an error rate of 5%.`,
    left.length > 0 ? ` Not asked there: ${some(left)}.` : "",
  ].join("");
}

function casesBlock({ fell, rose }: ExposureComparison, name: string): Block {
  const list = (all: ExposureComparison["fell"]) =>
    some(all.map((one) => `${one.case} (${ratio(one.base)} -> ${ratio(one.head)})`));
  return text(
    fell.length > 0 ? `With ${name}, fewer trials of ${list(fell)} passed.` : undefined,
    rose.length > 0 ? `With ${name}, more trials of ${list(rose)} passed.` : undefined,
  );
}

/** The expected tools that were chosen at different rates. */
function choicesTable(exposures: readonly ExposureSummary[], choices: readonly ChoiceByExposure[]): Block {
  const rates = (chosen: ChoiceByExposure["chosen"]) =>
    chosen.flatMap(({ passed, trials }) => (trials === 0 ? [] : [passed / trials]));
  const differing = choices.filter(({ chosen }) => new Set(rates(chosen)).size > 1);
  const rows = differing.map(({ expected, chosen }) => [
    expected,
    ...chosen.map((counts) =>
      counts.trials === 0 ? "-" : `${ratio(counts)} ${percent(counts.passed / counts.trials)}`,
    ),
  ]);
  const columns = makeColumns(
    ["name", "chosen, by expected tool"],
    ["figure", ...exposures.map((one) => one.surface ?? one.exposure.kind)],
  );
  return table("tool", columns, rows, { max: maxItems });
}
