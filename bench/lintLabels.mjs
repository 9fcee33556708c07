// How good the findings of lint are on tool lists of public servers, as labelled by hand.
//   node bench/lintLabels.mjs            the shares by set and by rule
// bench/data/lint/lists.json names the packages whose lists were read, labels.json has one line for each labelled finding:
// true, pedantic (right, and of no use to the author) or false, with the reason, and whether it is still reported.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const read = (name) => JSON.parse(readFileSync(join(import.meta.dirname, "data/lint", name), "utf8"));
const [labels, lists] = [read("labels.json"), read("lists.json")];
const kinds = ["true", "pedantic", "false"];

function share(rows) {
  const of = (kind) => rows.filter(({ label }) => label === kind).length;
  const percent = (kind) => `${Math.round((100 * of(kind)) / rows.length)}%`.padStart(9);
  return rows.length === 0 ? "" : `${String(rows.length).padStart(9)}${kinds.map(percent).join("")}`;
}

const sets = {
  A: "15 lists, before any change",
  B: "10 other lists, after the first change",
  C: "10 other lists, after the second",
  D: "9 other lists, after the third",
  E: "other findings on B, C and D, after the last",
};
const head = ["labelled", ...kinds].map((name) => name.padStart(9)).join("");
console.log(`${"".padEnd(48)}${head}`);
for (const [set, what] of Object.entries(sets))
  console.log(`${`${set}: ${what}`.padEnd(48)}${share(labels.filter((one) => one.set === set))}`);
console.log(`${"of all, those that are still reported".padEnd(48)}${share(labels.filter(({ kept }) => kept))}`);
console.log(`\n${"rule, as far as it is still reported".padEnd(48)}${head}`);
for (const rule of [...new Set(labels.map((one) => one.rule))].sort()) {
  const kept = labels.filter((one) => one.rule === rule && one.kept);
  if (kept.length > 0) console.log(`${rule.padEnd(48)}${share(kept)}`);
}
const sum = (key) => lists.reduce((total, one) => total + one[key], 0);
console.log(
  `\n${lists.length} lists, ${sum("tools")} tools: ${sum("errors")} errors, ${sum("warnings")} warnings, ${sum("infos")} info`,
);
for (const one of lists.filter(({ errors }) => errors > 0))
  console.log(`${one.package} ${one.version}: ${one.errors} error`);
