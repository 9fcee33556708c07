import { getOrAdd, groupBy, sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { wilson } from "../../base/stats/intervals.ts";
import type { ServersSummary } from "../../base/types/arms.ts";
import type { ManifestSuite, RunManifest } from "../../base/types/run.ts";
import { countListTokens, isCallable, isOwnTool, type OfferedTool, readOwnName } from "../../base/types/tool.ts";
import type { Trial } from "../../base/types/trial.ts";
import { confusedPair, type Pair } from "../results/picks.ts";
import { Ranking } from "../results/tally.ts";

type Share = ServersSummary["servers"][number]["right"];

/** The cases of one server, or those that expect no tool. */
class Row {
  readonly graded: Counts = { passed: 0, trials: 0 };
  readonly lost = new Map<string, { n: number; pairs: Ranking<Pair> }>();
  ownTool = 0;
  noTool = 0;
  broken = 0;
}

/** Counts the trials of a suite over a whole configuration: what each server loses to the others and takes from them. */
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
    const called = this.#listServers(trial);
    const other = called.find((server) => server !== owner);
    if (other === undefined) {
      if (called.length > 0) row.ownTool++;
      else row.noTool++;
      return;
    }
    const lost = getOrAdd(row.lost, other, () => ({ n: 0, pairs: new Ranking<Pair>() }));
    lost.n++;
    lost.pairs.add(pair);
  }

  summary(): ServersSummary {
    const rows = [...this.#rows];
    const lost = rows.flatMap(([from, { graded, lost: byServer }]) =>
      [...byServer].map(([to, { n, pairs }]) => {
        return { from, to, share: describeShare(n, graded.trials), confusions: pairs.ranked() };
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
      right: describeShare(passed, trials),
      lost: describeShare(
        sumOf(row.lost.values(), ({ n }) => n),
        trials,
      ),
      ownTool: row.ownTool,
      noTool: row.noTool,
      broken: row.broken,
      taken: describeShare(
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

function describeShare(passed: number, trials: number): Share {
  const interval = wilson({ passed, trials });
  return { passed, trials, interval: interval ? [interval[0], interval[1]] : null };
}
