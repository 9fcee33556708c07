import { readFileSync } from "node:fs";
import { join } from "node:path";
import { wilson } from "../../../../src/evals/base/stats/intervals.ts";
import type { JsonObject } from "../../../../src/evals/base/types/json.ts";
import { wordingRules } from "../../../../src/evals/inspection/lint/rules/index.ts";
import { alikeRules } from "../../../../src/evals/inspection/lint/rules/siblings.ts";

/** Where the tools of a list come from: real ones that were read before the rules were written or after, or made ones. */
const groups = {
  real: ["everything", "filesystem", "memory", "sequential-thinking", "chrome-devtools", "playwright"],
  later: ["github", "gitlab", "slack", "brave-search", "tavily", "context7"],
  made: ["made-shop", "made-developer", "made-notes", "made-calendar", "made-other-languages", "made-house"],
} as const;
export type Group = keyof typeof groups;

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8"));

/** By list and tool, the rules that a reader says are broken. */
export const labels: Record<string, Record<string, string[]>> = read("labels.json");

type Tool = JsonObject & { name: string };
export const toolsOf = (list: string): Tool[] => read(`lists/${list}.json`).tools;

/** What a rule and a reader say of the tools of a group: found by both, by the rule only, by the reader only. */
type Tally = { both: number; rule: number; reader: number };
/** A tool on which they differ. */
type Differs = `${string}/${string}`;

const sharedRules = alikeRules.filter(({ id }) => id === "description-sibling");
/** The rules that the labels are about. */
export const rules = [...wordingRules, ...sharedRules];

/** The ids of the rules that find something, by the name of the tool. */
function found(list: string): (tool: string, rule: string) => boolean {
  const tools = toolsOf(list);
  const names = tools.map(({ name }) => name);
  const hits = new Set<string>();
  for (const tool of tools) {
    const subject = { server: list, tool, names: new Set(names), shownName: tool.name };
    for (const { id, check } of wordingRules) for (const _ of check(subject)) hits.add(`${id} ${tool.name}`);
  }
  for (const { id, check } of sharedRules)
    for (const { at } of check({ server: list, tools })) hits.add(`${id} ${names[Number(at[0])]}`);
  return (tool, rule) => hits.has(`${rule} ${tool}`);
}

/** Runs every rule on every list: by rule and group the tally, and the tools on which rule and reader differ. */
export function measured(): { tally(rule: string, group: Group): Tally; wrong: Differs[]; missed: Differs[] } {
  const tallies = new Map<string, Tally>();
  const wrong: Differs[] = [];
  const missed: Differs[] = [];
  for (const [group, lists] of Object.entries(groups)) {
    for (const list of lists) {
      const finds = found(list);
      for (const { name } of toolsOf(list)) {
        for (const { id } of rules) {
          const key = `${id} ${group}`;
          const tally = tallies.get(key) ?? { both: 0, rule: 0, reader: 0 };
          tallies.set(key, tally);
          const labeled = labels[list]?.[name]?.includes(id) ?? false;
          if (finds(name, id)) tally[labeled ? "both" : "rule"]++;
          else if (labeled) tally.reader++;
          if (finds(name, id) && !labeled) wrong.push(`${id} ${list}/${name}`);
          // What the names of siblings cannot tell is listed nowhere: it is half of what there is.
          if (!finds(name, id) && labeled && id !== "description-sibling") missed.push(`${id} ${list}/${name}`);
        }
      }
    }
  }
  const tally = (rule: string, group: Group) => tallies.get(`${rule} ${group}`) ?? { both: 0, rule: 0, reader: 0 };
  return { tally, wrong, missed };
}

/** Precision and recall of every rule with 95 % Wilson intervals, as a markdown table. */
export function table(): string {
  const { tally } = measured();
  const rows = rules.flatMap(({ id, severity }) =>
    (Object.keys(groups) as Group[]).map((group) => {
      const { both, rule, reader } = tally(id, group);
      const cells = [share(both, both + rule), share(both, both + reader)];
      return `| ${id} | ${severity} | ${group} | ${both + reader} | ${both + rule} | ${cells.join(" | ")} |`;
    }),
  );
  const head = ["| rule | severity | lists | broken | found | precision | recall |", "|---|---|---|---|---|---|---|"];
  return `${[...head, ...rows].join("\n")}\n`;
}

/** `.98 (.95-.99)`, or a dash where there is nothing to divide by. */
function share(passed: number, trials: number): string {
  const interval = wilson({ passed, trials });
  if (!interval) return "-";
  const short = (value: number) => value.toFixed(2).replace(/^0/, "");
  return `${short(passed / trials)} (${interval.map(short).join("-")})`;
}
