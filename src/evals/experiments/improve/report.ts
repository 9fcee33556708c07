import { type Block, type Fact, list, makeColumns, section, type TableCell, table } from "../../reports/document.ts";
import { count, integer, money, percent, some } from "../../reports/format.ts";
import { variantsDocument, variantsJson } from "../variants/report.ts";
import { findScreened } from "../variants/verdict.ts";
import type { ImproveSummary } from "./verdict.ts";

/** The report of `evals improve`: the verdict of the proof, its evidence, and what was searched before it. */
export function improveDocument({ search, proof }: ImproveSummary): Block[] {
  const blocks = search.rounds.flatMap((round, at) => {
    const asked = round.proposals.filter(({ refused }) => refused === null);
    const refused = round.proposals.flatMap(({ name, refused: why }) => (why === null ? [] : [`${name}: ${why}`]));
    const problem = round.problem ? [round.problem] : [];
    const first = round.screening[0] ?? [];
    const known = [...new Set([...asked.map(({ name }) => name), ...first.map(({ challenger }) => challenger)])];
    const rows = known.map((name): TableCell[] => {
      const last = findScreened(round.screening, name);
      return [name, last ? percent(last.rate) : "-", last ? `${last.round} of ${round.screening.length}` : "-"];
    });
    const columns = makeColumns(["name", "wording"], ["figure", "train cases passed", "halvings reached"]);
    const title = `Search, round ${at + 1} of ${search.rounds.length} (${count(round.proposals.length, "proposal")})`;
    return [
      ...section(title, [table("wording", columns, rows)]),
      ...section("Refused before any call", [list("proposal", [...refused, ...problem])]),
    ];
  });
  return variantsDocument(proof, { command: "improve", blocks, facts: describeSearch(search) });
}

function describeSearch({ train, heldOut, recorded, room, writer, rounds }: ImproveSummary["search"]): Fact[] {
  const derived = train.length + heldOut.length - recorded;
  const costs = rounds.map(({ costUsd }) => costUsd);
  const known = costs.reduce<number>((sum, cost) => sum + (cost === "unknown" ? 0 : cost), 0);
  const cost = costs.includes("unknown") ? "unknown" : money(known);
  const proposers = writer
    ? [`${writer.model}, cost ${cost}, prompt ${writer.prompt.slice(0, 12)}`]
    : [...new Set(rounds.flatMap(({ proposals }) => proposals.map(({ by }) => by)))];
  const byIds = derived > 0 ? `; ${integer(derived)} not recorded in the suite, and split by their ids` : "";
  return [
    ["Split", `${integer(train.length)} train, ${integer(heldOut.length)} held out${byIds}`],
    ...(room ? [["Train cases with room", room.length > 0 ? some(room) : "none"] as const] : []),
    ...(proposers.length > 0 ? [["Proposals by", some(proposers)] as const] : []),
    [
      "Error rate",
      "at most 5% of searches adopt a wording that is no better: one is tested, on cases that the search never asked",
    ],
  ];
}

/** The object that `evals improve --json` prints. */
export function improveJson({ search, proof }: ImproveSummary) {
  return { ...variantsJson(proof, "improve"), search };
}
