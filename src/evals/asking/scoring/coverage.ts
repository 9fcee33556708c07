import { listProperties } from "../../base/jsonSchema/values.ts";
import { type Case, listExpectedCalls } from "../../base/types/suite.ts";
import type { Tool } from "../../base/types/tool.ts";

/** `uncovered`: tools that no case expects. `parameters`: those of expected tools that no case names in `args`. */
export type Coverage = { tools: number; uncovered: string[]; parameters: { tool: string; names: string[] }[] };

/** Which of these tools, and which of their parameters, the expectations of cases name. */
export function measureCoverage(tools: readonly Tool[], cases: readonly Pick<Case, "expect">[]): Coverage {
  const named = new Map<string, Set<string>>();
  for (const { tools: names, args = {} } of cases.flatMap(({ expect }) => listExpectedCalls(expect)))
    for (const name of names) {
      const parameters = named.get(name) ?? new Set();
      named.set(name, parameters);
      for (const parameter of Object.keys(args)) parameters.add(parameter);
    }
  const parameters = tools.flatMap(({ name, inputSchema }) => {
    const checked = named.get(name);
    const names = checked
      ? listProperties(inputSchema)
          .map(([one]) => one)
          .filter((one) => !checked.has(one))
      : [];
    return names.length > 0 ? [{ tool: name, names }] : [];
  });
  const uncovered = tools.map(({ name }) => name).filter((name) => !named.has(name));
  return { tools: tools.length, uncovered, parameters };
}
