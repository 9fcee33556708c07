import type { RuleInfo } from "../types/lint.ts";
import { nearest } from "../types/nearest.ts";
import type { Families, Kind } from "./target.ts";

/** Every rule as a reader needs it, family by family. */
export function catalogue(families: Families): RuleInfo[] {
  return (Object.keys(families) as Kind[]).flatMap((kind) =>
    families[kind].map(({ id, severity, why, docs, clauses }) => ({
      id,
      severity,
      on: kind === "judged tools" ? "tools, with --judge" : kind,
      why,
      docs,
      clauses,
    })),
  );
}

/** What is wrong with the id of a rule; nothing when there is such a rule. */
export function unknownRule(id: string, families: Families): { message: string; hint: string } | undefined {
  const ids = catalogue(families).map((rule) => rule.id);
  if (ids.includes(id)) return undefined;
  const close = nearest(id, ids);
  const hint = close === undefined ? "See them with `evals lint --rules`." : `Did you mean "${close}"?`;
  return { message: `there is no rule "${id}"`, hint };
}
