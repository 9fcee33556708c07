import { isCallable, type OfferedTool } from "../../base/types/tool.ts";

/** From this many tools on, two orders that are drawn at random are never the same within a run. */
const manyTools = 13;

/**
 * How many different orders a list can be shown in, which is how many different requests its case has: tools and skills are
 * ordered apart, and instructions have no order. Infinity where there are more than any run asks.
 */
export function countOrders(tools: readonly Pick<OfferedTool, "origin">[]): number {
  const skills = tools.filter(({ origin }) => origin === "skill").length;
  const plain = tools.filter(isCallable).length;
  if (Math.max(skills, plain) >= manyTools) return Number.POSITIVE_INFINITY;
  return factorial(plain) * factorial(skills);
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}
