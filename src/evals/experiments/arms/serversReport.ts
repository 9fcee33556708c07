import type { ServersSummary } from "../../base/types/arms.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
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
import { confusionGrid } from "../results/figures.ts";
import { describePair } from "../results/text.ts";

type Server = ServersSummary["servers"][number];

/** Which trials each server of a configuration loses to other servers and takes from them; empty for other suites. */
export function serverBlocks({ servers: summary, name, model }: SuiteSummary): Block[] {
  if (!summary) return [];
  const { servers, lost, clashes, several } = summary;
  const { wrong, own } = listPicks(summary);
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
    ...confusionGrid(`Server of the case (rows) and of the pick (columns) · ${name} · ${model}`, wrong, own),
  ]);
}

function describeServer({ name, failure, tools, tokens, right, lost, taken }: Server): TableCell[] {
  if (failure !== undefined) return [name, "-", "-", "not started", "-", "-"];
  const others = [lost, taken].map((share) => describeShare(share, ratioWithInterval));
  return [name, integer(tools), integer(tokens), describeShare(right), ...others];
}

function describeShare(share: Server["right"], write = rateWithInterval): string {
  return share.interval === null ? "-" : write(share, share.interval);
}

function listLosses(lost: ServersSummary["lost"]): Block {
  const items = lost.map(({ from, to, share, confusions }): Item => {
    const owner: Span = from === null ? "Cases that expect no tool" : { code: from };
    return {
      text: [owner, " lost to ", { code: to }, `: ${describeShare(share)}`],
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

/** The picks of tools of other servers, and of tools of the right server. */
function listPicks({ servers, lost }: ServersSummary) {
  const none = "(no tool)";
  const missed = servers.map(({ name, noTool }) => ({ expected: name, picked: none, n: noTool }));
  const others = lost.map(({ from, to, share }) => ({ expected: from ?? none, picked: to, n: share.passed }));
  const own = servers.map(({ name, right, ownTool }) => ({ expected: name, n: right.passed + ownTool }));
  return { wrong: [...missed, ...others].filter(({ n }) => n > 0), own };
}
