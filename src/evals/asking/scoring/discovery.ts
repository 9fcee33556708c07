import { type Expectation, type ExpectedCall, listExpectedCalls } from "../../base/types/suite.ts";
import type { Assertion, Discovery } from "../../base/types/trial.ts";
import type { Activity } from "./activity.ts";

/**
 * How the expected tools were found and chosen if the definitions of `deferred` tools (listed names) were not shown from the
 * start. Of several expected calls, the first that was not made decides. Undefined if no tool is expected or deferred.
 */
export function assessDiscovery(
  expect: Expectation | undefined,
  { all, searches, builtIns }: Activity,
  deferred: ReadonlySet<string>,
): Discovery | undefined {
  const expected = listExpectedCalls(expect)
    .filter(({ optional }) => !optional)
    .map((call) => ({ ...call, tools: [...call.tools, ...(call.acceptable ?? [])] }));
  if (expected.length === 0 || deferred.size === 0) return undefined;
  const queries = searches.length > 0 && { queries: searches.map(({ query }) => query) };
  const tools = expected.map((call) => {
    const rank = findRank(call, searches);
    const isShown = call.tools.some((tool) => !deferred.has(tool));
    return {
      rank,
      isFound: isShown || rank !== undefined,
      isChosen: all.some(({ tool }) => call.tools.includes(tool)),
    };
  });
  const missed = tools.find(({ isChosen }) => !isChosen);
  const rank = (missed ?? tools.find((one) => one.rank !== undefined))?.rank;
  const [builtIn] = builtIns;
  const found = { ...(rank !== undefined && { rank }), ...queries };
  if (!missed) return { outcome: rank === undefined ? "chosen-without-search" : "chosen", ...found };
  if (missed.isFound) return { outcome: "found-not-chosen", ...found };
  if (queries) return { outcome: "not-found", ...found };
  return builtIn ? { outcome: "built-in-used", builtIn: builtIn.tool } : { outcome: "not-searched" };
}

/** Why an expected tool was not called, as an assertion; undefined where it was. */
export function explainDiscovery(discovery: Discovery, { builtIns }: Activity): Assertion | undefined {
  const queries = (discovery.queries ?? []).map((query) => JSON.stringify(query)).join(", ");
  const [builtIn] = builtIns;
  const instead = builtIn ? `; called ${builtIn.tool} of the host instead` : "";
  const missed = (why: string): Assertion => ({ what: "search", met: "no", why });
  switch (discovery.outcome) {
    case "chosen":
    case "chosen-without-search":
      return undefined;
    case "found-not-chosen":
      return discovery.rank === undefined
        ? missed(`the expected tool was shown from the start and not called${instead}`)
        : missed(
            `the search for ${queries} found the expected tool (rank ${discovery.rank}), but it was not called${instead}`,
          );
    case "not-found":
      return missed(`the search for ${queries} did not find the expected tool${instead}`);
    case "built-in-used":
      return missed(`no tool was searched for${instead}`);
    case "not-searched":
      return missed("no tool was searched for");
  }
}

/** The rank of an expected tool, from 1, in the first search that found one. */
function findRank({ tools }: ExpectedCall, searches: Activity["searches"]): number | undefined {
  for (const { found } of searches) {
    const at = found.findIndex((name) => tools.includes(name));
    if (at >= 0) return at + 1;
  }
  return undefined;
}
