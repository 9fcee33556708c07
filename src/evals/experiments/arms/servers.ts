import { getOrAdd, groupBy, sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { wilson } from "../../base/stats/intervals.ts";
import type { ServersSummary } from "../../base/types/arms.ts";
import type { ManifestSuite, RunManifest, SuiteSummary } from "../../base/types/run.ts";
import { countListTokens, isCallable, isOwnTool, type OfferedTool, readOwnName } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import {
  type Block,
  type Item,
  list,
  makeColumns,
  type Span,
  section,
  type TableCell,
  table,
  text,
} from "../../reports/document.ts";
import { count, integer, rateWithInterval, ratioWithInterval } from "../../reports/format.ts";
import { confusedPair, type Pair } from "../results/calls.ts";
import { Ranking } from "../results/tally.ts";
import { describePair } from "../results/text.ts";

type Server = ServersSummary["servers"][number];

/** The cases of one server, or those that expect no tool. */
class Row {
  readonly graded: Counts = { passed: 0, trials: 0 };
  readonly lost = new Map<string, { n: number; pairs: Ranking<Pair> }>();
  broken = 0;
}

/** Counts the trials of a suite over a whole configuration: what each server loses to others and takes from them. */
export class ServersTally {
  readonly #suite: ManifestSuite;
  readonly #members: NonNullable<ManifestSuite["servers"]>;
  readonly #toolsets: RunManifest["toolsets"];
  readonly #rows = new Map<string | null, Row>();
  /** The server of each case; null if it expects no tool. Does not contain cases about several servers. */
  readonly #owners: ReadonlyMap<string, string | null>;

  constructor(suite: ManifestSuite, members: NonNullable<ManifestSuite["servers"]>, toolsets: RunManifest["toolsets"]) {
    this.#suite = suite;
    this.#members = members;
    this.#toolsets = toolsets;
    this.#owners = new Map(
      suite.cases.flatMap((one): [string, string | null][] => {
        if (one.server !== undefined) return [[one.id, one.server]];
        return one.expectedTools.length === 0 ? [[one.id, null]] : [];
      }),
    );
    for (const owner of [...members.map(({ name }) => name), null]) this.#rows.set(owner, new Row());
  }

  add(trial: Trial): void {
    const owner = this.#owners.get(trial.cell.case);
    const row = owner === undefined ? undefined : this.#rows.get(owner);
    if (owner === undefined || !row) return;
    if (trial.outcome.kind === "broken") row.broken++;
    if (!trial.verdict || trial.verdict.grade === "not-gradable") return;
    row.graded.trials++;
    const pair = confusedPair(trial);
    if (!pair) {
      row.graded.passed++;
      return;
    }
    const other = this.#listServers(trial).find((server) => server !== owner);
    if (other === undefined) return;
    const lost = getOrAdd(row.lost, other, () => ({ n: 0, pairs: new Ranking<Pair>() }));
    lost.n++;
    lost.pairs.add(pair);
  }

  summary(): ServersSummary {
    const rows = [...this.#rows];
    const lost = rows.flatMap(([from, { graded, lost: byServer }]) =>
      [...byServer].map(([to, { n, pairs }]) => {
        return { from, to, share: estimateShare(n, graded.trials), confusions: pairs.ranked() };
      }),
    );
    const rate = ({ share }: (typeof lost)[number]) => share.passed / share.trials;
    return {
      servers: this.#members.map((one) => this.#describeServer(one, rows)),
      lost: lost.sort((a, b) => rate(b) - rate(a)),
      clashes: this.#findClashes(),
      several: this.#suite.cases.length - this.#owners.size,
    };
  }

  #describeServer({ name, failure }: { name: string; failure?: string | undefined }, rows: [string | null, Row][]) {
    const row = this.#rows.get(name) ?? new Row();
    const { passed, trials } = row.graded;
    const lost = sumOf(row.lost.values(), ({ n }) => n);
    const others = rows.filter(([owner]) => owner !== name).map(([, one]) => one);
    const listed = this.#list().filter((tool) => tool.server === name);
    const tools = listed.filter(isCallable);
    const instructions = listed.filter(({ origin }) => origin === "instructions");
    return {
      name,
      ...(failure !== undefined && { failure }),
      tools: tools.length,
      tokens: countListTokens([...tools, ...instructions]),
      cases: [...this.#owners.values()].filter((owner) => owner === name).length,
      right: estimateShare(passed, trials),
      lost: estimateShare(lost, trials),
      broken: row.broken,
      taken: estimateShare(
        sumOf(others, (one) => one.lost.get(name)?.n ?? 0),
        sumOf(others, ({ graded }) => graded.trials),
      ),
    };
  }

  #listServers({ turns, toolset }: Trial): string[] {
    const servers = new Map((this.#toolsets[toolset] ?? []).map(({ name, server }) => [name, server]));
    return turns.flatMap(({ calls }) => calls.flatMap(({ tool }) => servers.get(tool) ?? []));
  }

  /** The tools of the configuration. A case may have its own list instead. */
  #list(): readonly OfferedTool[] {
    const lists = this.#suite.cases.map(({ toolset }) => this.#toolsets[toolset] ?? []);
    const ofServers = (tools: readonly OfferedTool[]) => tools.some(({ ownName }) => ownName !== undefined);
    return lists.find(ofServers) ?? [];
  }

  #findClashes(): ServersSummary["clashes"] {
    const own = this.#list().filter((one) => isCallable(one) && isOwnTool(one));
    const clashes = [...groupBy(own, readOwnName)].filter(([, tools]) => tools.length > 1);
    return clashes.map(([name, tools]) => ({ name, servers: tools.map(({ server }) => server) }));
  }
}

function estimateShare(passed: number, trials: number): Server["right"] {
  return { passed, trials, interval: wilson({ passed, trials }) ?? null };
}

/** Which trials each server of a configuration loses to other servers and takes from them; empty for other suites. */
export function serverBlocks({ servers: summary }: SuiteSummary): Block[] {
  if (!summary) return [];
  const { servers, lost, clashes, several } = summary;
  const columns = makeColumns(["name", "server"], ["figure", "tools", "tokens", "right tool", "lost", "taken"]);
  return section("Servers", [
    table("server", columns, servers.map(describeServer), { max: 100 }),
    listLosses(lost),
    text(describeClashes(clashes)),
    ...servers.flatMap(({ name: server, failure, broken }) =>
      failure === undefined
        ? []
        : [text([{ code: server }, ` did not start, ${count(broken, "trial")} broken: `, { code: failure, max: 300 }])],
    ),
    text(several > 0 ? `${count(several, "case")} with tools of several servers: excluded.` : undefined),
    text(
      "With 95% confidence intervals. Right tool: trials of the cases of a server that picked an expected tool. Lost: they called another server's tool instead. Taken: trials of all other cases that called its tool instead.",
    ),
  ]);
}

function describeServer({ name, failure, tools, tokens, right, lost, taken }: Server): TableCell[] {
  if (failure !== undefined) return [name, "-", "-", "not started", "-", "-"];
  const others = [lost, taken].map((share) => formatShare(share, ratioWithInterval));
  return [name, integer(tools), integer(tokens), formatShare(right), ...others];
}

function formatShare(share: Server["right"], write = rateWithInterval): string {
  return share.interval === null ? "-" : write(share, share.interval);
}

function listLosses(lost: ServersSummary["lost"]): Block {
  const items = lost.map(({ from, to, share, confusions }): Item => {
    const owner: Span = from === null ? "Cases that expect no tool" : { code: from };
    return {
      text: [owner, " lost to ", { code: to }, `: ${formatShare(share)}`],
      items: confusions.map(describePair),
      max: 3,
      noun: "pair",
    };
  });
  return list("pair of servers", items, 10);
}

function describeClashes(clashes: ServersSummary["clashes"]): Span[] | undefined {
  if (clashes.length === 0) return undefined;
  const shown = clashes.slice(0, 8).flatMap(({ name, servers }, at): Span[] => {
    return [at === 0 ? "" : "; ", { code: name, max: 60 }, ` (${servers.join(", ")})`];
  });
  const more = clashes.length > 8 ? `; and ${count(clashes.length - 8, "more name")}` : "";
  return [`${count(clashes.length, "name")} on several servers: `, ...shown, `${more}.`];
}
