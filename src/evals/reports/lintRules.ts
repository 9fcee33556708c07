import type { RuleInfo } from "../types/lint.ts";
import { count } from "./format.ts";
import type { Display } from "./report.ts";
import { screenFor } from "./screen.ts";

/** The catalogue of rules for a person to read. */
export function rulesText(rules: readonly RuleInfo[], display: Display): string {
  const screen = screenFor(display);
  const families = [...new Set(rules.map(({ on }) => on))];
  const lines = families.flatMap((family) => {
    const own = rules.filter(({ on }) => on === family);
    return [
      screen.paint("bold", screen.text(`${family}: ${count(own.length, "rule")}`)),
      ...own.flatMap(({ id, severity, why }) => [
        ...screen.lines(`${id} (${severity})`, 2, 4),
        ...screen.lines(why, 4, 4),
      ]),
      "",
    ];
  });
  return `${[...lines, count(rules.length, "rule")].join("\n")}\n`;
}

/** The same as a table in markdown, each rule with a link to what it goes by. */
export function rulesMarkdown(rules: readonly RuleInfo[]): string {
  const rows = rules.map(({ id, severity, on, why, docs }) => {
    const name = docs.startsWith("http") ? `[\`${id}\`](${docs})` : `\`${id}\``;
    return `| ${name} | ${severity} | ${on} | ${why.replaceAll("|", "\\|")} |`;
  });
  return `${["| rule | severity | on | why |", "|---|---|---|---|", ...rows].join("\n")}\n`;
}
