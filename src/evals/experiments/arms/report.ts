import { sumOf } from "../../base/collections.ts";
import type { ArmAxis, ArmComparison, ArmSummary, ArmsSummary } from "../../base/types/arms.ts";
import { type Discovery, type DiscoverySummary, describeExposure } from "../../base/types/exposure.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import { type Block, details, list, makeColumns, type Span, section, table, text } from "../../reports/document.ts";
import {
  capital,
  count,
  duration,
  integer,
  money,
  pointsWithInterval,
  pValue,
  ratio,
  share,
  signedInteger,
  size,
  some,
} from "../../reports/format.ts";
import { describePair } from "../results/text.ts";

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

const verdictNames: Readonly<Record<ArmComparison["verdict"], Span>> = {
  better: { strong: "BETTER", tone: "good" },
  worse: { strong: "WORSE", tone: "bad" },
  mixed: { strong: "MIXED", tone: "warn" },
  equal: { strong: "EQUAL", tone: "good" },
  open: { strong: "NO DIFFERENCE SHOWN", tone: "warn" },
};

const titles: Readonly<Record<ArmAxis, string>> = {
  exposure: "Exposures",
  surface: "Surfaces",
  distractors: "Distractors",
  skill: "Effect of the skill",
};

type Compared = ArmSummary & { against: ArmComparison };

/** The arms of each axis of a suite side by side, each compared with the first. Empty if nothing is compared. */
export function armsBlocks({ arms: all = [] }: SuiteSummary): Block[] {
  return all.flatMap((summary) => {
    const { axis, skill, arms } = summary;
    const [first] = arms;
    if (!first) return [];
    const compared = arms.filter((one): one is Compared => one.against !== undefined);
    return section(skill === undefined ? titles[axis] : `${titles[axis]} ${skill}`, [
      ...compareArms(summary).map((sentence) => text(sentence)),
      text(nextStep(axis, compared)),
      armsTable(summary, first),
      ...compared.map((one) => casesBlock(one.against, one.name)),
      ...arms.map(({ foreign = [], name }) =>
        details(`Tools of other servers called instead: ${name}`, list("pair", foreign.map(describePair), maxItems)),
      ),
      ...compared.flatMap((one) => (one.discovery ? lossBlocks(one.discovery, ` with ${one.name}`) : [])),
      behaviorsTable(summary),
      text(explain(axis, arms)),
    ]);
  });
}

function compareArms({ arms }: ArmsSummary): Span[][] {
  const [first, ...others] = arms;
  return others.map((one) => {
    if (first && one.against)
      return [verdictNames[one.against.verdict], ` ${comparisonSentence({ ...one, against: one.against }, first)}`];
    const ungraded = `${count(one.notGradable + (first?.notGradable ?? 0), "trial")} not gradable, ${integer(one.broken + (first?.broken ?? 0))} broken`;
    return [`${one.name} cannot be compared: no case was graded in both arms (${ungraded}).`];
  });
}

function armsTable({ axis, arms }: ArmsSummary, first: ArmSummary): Block {
  const noun = axis === "skill" ? "arm" : axis;
  const [isSearched, isBroken] = [arms.some(({ discovery }) => discovery), arms.some((one) => one.broken > 0)];
  const columns: [name: string, value: (one: ArmSummary) => string, isShown?: boolean | undefined][] = [
    ["passed", share],
    ["chosen", ({ chosen }) => ratio(chosen), arms.some(({ chosen }) => chosen.trials > 0)],
    ["found", ({ discovery: one }) => (one ? `${integer(one.found)}/${integer(one.trials)}` : "-"), isSearched],
    ["foreign calls", ({ foreign = [] }) => integer(sumOf(foreign, ({ n }) => n)), axis === "distractors"],
    ["not gradable", ({ notGradable }) => integer(notGradable), arms.some((one) => one.notGradable > 0)],
    ["broken", ({ broken }) => integer(broken), isBroken],
    ["requests", ({ requestsPerTrial }) => (requestsPerTrial === null ? "-" : requestsPerTrial.toFixed(1))],
    ["tokens per request", (one) => tokensText(one, first)],
    ["time", ({ msPerTrial }) => (msPerTrial === null ? "-" : duration(msPerTrial)), axis === "skill"],
    ["cost", ({ costUsd }) => money(costUsd), axis === "skill"],
  ];
  const shown = columns.filter(([, , isShown = true]) => isShown);
  const rows = arms.map((one) => [one.name, ...shown.map(([, value]) => value(one))]);
  return table(noun, makeColumns(["name", noun], ["figure", ...shown.map(([name]) => name)]), rows);
}

function nextStep(axis: ArmAxis, compared: readonly Compared[]): string | undefined {
  if (!compared.some(({ against: { verdict } }) => verdict === "worse" || verdict === "mixed")) return undefined;
  if (axis === "exposure")
    return "Next: put the words that were searched for into names, descriptions or anthropic/searchHint, or set anthropic/alwaysLoad for the tools that are chosen less often.";
  if (axis === "distractors")
    return "Next: see which tools of other servers are called instead (below), and describe how your tools differ from them.";
  return undefined;
}

/** What the columns mean, and which arm the rest of the report is about. */
function explain(axis: ArmAxis, arms: readonly ArmSummary[]): string {
  const kinds = arms.map(({ exposure }) => `${exposure.kind}: ${describeExposure(exposure)}`).join("; ");
  const shown = axis === "exposure" ? `${kinds}. Found: by a search. ` : "";
  const { name = "" } = arms.find(({ arm }) => arm === "head") ?? {};
  return `${shown}Chosen: an expected tool was called. The cases and the gate below are those of ${name}.`;
}

function tokensText({ tokensPerRequest: tokens }: ArmSummary, { tokensPerRequest: first }: ArmSummary): string {
  if (tokens === null) return "-";
  const difference = first === null ? 0 : Math.round(tokens - first);
  return difference === 0 ? integer(tokens) : `${integer(tokens)} (${signedInteger(difference)})`;
}

/** `names against all: chosen 14 of 40 against 40 of 40, passed -65.0 pp (95% CI ...), -2,300 tokens per request.` */
function comparisonSentence(one: Compared, first: ArmSummary): string {
  const { verdict, net, p, margin, comparisons, notAsked = [], chosen } = one.against;
  const common = notAsked.length > 0 ? " in the cases of both" : "";
  const difference = Math.round((one.tokensPerRequest ?? 0) - (first.tokensPerRequest ?? 0));
  const facts = [
    chosen.own.trials + chosen.first.trials === 0
      ? ""
      : `chosen ${ratio(chosen.own)} against ${ratio(chosen.first)}${common}`,
    net === null ? "" : `passed ${pointsWithInterval(net.change, p === null ? null : net.interval)}`,
    p && (verdict === "better" || verdict === "worse") ? `one-sided ${pValue(p[verdict])}` : "",
    difference === 0 ? "" : `${signedInteger(difference)} tokens per request`,
  ];
  return [
    `${one.name} against ${first.name}: ${facts.filter((fact) => fact !== "").join(", ")}`,
    verdict === "equal" && p !== null ? `; a difference of ${size(margin)} is ruled out` : "",
    p === null ? ". The model is deterministic." : `. ${count(comparisons, "test")} share an error rate of 5%.`,
    notAsked.length > 0 ? ` Not asked there: ${some(notAsked)}.` : "",
  ].join("");
}

function casesBlock({ fell, rose }: ArmComparison, name: string): Block {
  const list = (all: ArmComparison["fell"]) =>
    some(all.map((one) => `${one.case} (${ratio(one.base)} -> ${ratio(one.head)})`));
  return text(
    fell.length > 0 ? `With ${name}, fewer trials of ${list(fell)} passed.` : undefined,
    rose.length > 0 ? `With ${name}, more trials of ${list(rose)} passed.` : undefined,
  );
}

function behaviorsTable({ arms, behaviors = [] }: ArmsSummary): Block {
  const rows = behaviors.map(({ case: id, text: sentence, met }) => [id, sentence, ...met.map(ratio)]);
  const names = arms.map(({ name }) => name);
  const columns = makeColumns(["id", "case"], ["name", "expected behavior (met)"], ["figure", ...names]);
  return table("behavior", columns, rows);
}
