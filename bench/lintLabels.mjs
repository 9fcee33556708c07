// How good the findings of lint are on tool lists of public servers, as labelled by reading each tool.
//   node bench/lintLabels.mjs            the shares by set and by rule
// bench/data/lint/lists.json names the packages, and from J on the public repositories, whose lists were read, with the
// number of findings when they were linted last. labels.json has one line for each labelled finding: true, pedantic (right,
// and of no use to the author) or false, with the reason. Each set was drawn from lists that nobody had looked at, with the
// rules as they were then, and labelled before anything was counted. From H on a set has errors and warnings only: all of a
// list, or ten of a rule.
// O and P are samples by rule. O: at most 60 of a rule and 4 of a rule on a list; P: 40 and 10. `of` is the number of
// findings of the rule on all lists of the set. Q has 50 infos, drawn at random from the lists of O.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const read = (name) => JSON.parse(readFileSync(join(import.meta.dirname, "data/lint", name), "utf8"));
const [labels, lists] = [read("labels.json"), read("lists.json")];
const kinds = ["true", "pedantic", "false"];

/** The 95% Wilson score interval of a share, in per cent. */
function formatInterval(found, n) {
  const z = 1.96;
  const middle = (found + z ** 2 / 2) / (n + z ** 2);
  const half = (z / (n + z ** 2)) * Math.sqrt((found * (n - found)) / n + z ** 2 / 4);
  const percent = (part) => Math.round(100 * part);
  return `${percent(Math.max(0, middle - half))}-${percent(Math.min(1, middle + half))}%`.padStart(10);
}

function share(rows) {
  const of = (kind) => rows.filter(({ label }) => label === kind).length;
  const percent = (kind) => `${Math.round((100 * of(kind)) / rows.length)}%`.padStart(9);
  if (rows.length === 0) return "";
  const intervals = [formatInterval(of("true"), rows.length), formatInterval(of("false"), rows.length)];
  return [String(rows.length).padStart(9), ...kinds.map(percent), ...intervals].join("");
}

/** The shares in all findings of a sample by rule: each rule counts as often as it was found, not as it was labelled. */
function weightedShare(rows) {
  const rules = [...new Set(rows.map(({ rule }) => rule))].map((name) => rows.filter(({ rule }) => rule === name));
  const total = rules.reduce((sum, [{ of }]) => sum + of, 0);
  const weigh = (kind) =>
    rules.reduce((sum, own) => sum + (own[0].of * own.filter(({ label }) => label === kind).length) / own.length, 0);
  const percent = (kind) => `${Math.round((100 * weigh(kind)) / total)}%`.padStart(9);
  return `${String(total).padStart(9)}${kinds.map(percent).join("")}`;
}

const sets = {
  A: "15 lists, before any change",
  B: "10 other lists, after the first change",
  C: "10 other lists, after the second",
  D: "9 other lists, after the third",
  E: "other findings on B, C and D, after the last",
  F: "62 other lists, before the fourth change",
  G: "2 other lists, after the fourth",
  H: "12 other lists, after the fifth",
  I: "17 other lists, after the sixth",
  J: "8 recorded lists, after the seventh",
  K: "6 other recorded lists, with the same rules",
  L: "7 other recorded lists, after the eighth",
  M: "9 other recorded lists, after the ninth",
  N: "7 other recorded lists, after the tenth",
  O: "567 other lists, with the same rules",
  P: "54 other lists, after the eleventh",
  Q: "infos on the lists of O",
};
const head = `${["labelled", ...kinds].map((name) => name.padStart(9)).join("")}  CI true CI false`;
const isLoud = ({ severity }) => severity !== "info";
const print = (name, rows) => console.log(`${name.padEnd(48)}${share(rows)}`);
const listOf = (some) => labels.filter(({ set }) => some.includes(set));
console.log(`${"".padEnd(48)}${head}`);
for (const [set, what] of Object.entries(sets)) print(`${set}: ${what}`, listOf(set));
for (const set of ["F", "G"]) print(`${set}, warnings and errors alone`, listOf(set).filter(isLoud));
for (const some of ["HI", "JKL", "MN", "OP"]) print(`${[...some].join(" and ")} together`, listOf(some));
const commonest = ["default-violates-schema", "description-missing"];
print(
  "O and P without the two commonest rules",
  listOf("OP").filter(({ rule }) => !commonest.includes(rule)),
);
for (const set of ["O", "P"])
  console.log(`${`${set}, weighted to all findings`.padEnd(48)}${weightedShare(listOf(set))}`);
const latest = listOf("OP");
console.log(`\n${"rule, sets O and P".padEnd(48)}${head}`);
for (const rule of [...new Set(latest.map((one) => one.rule))].sort())
  print(
    rule,
    latest.filter((one) => one.rule === rule),
  );
const sum = (key, some = lists) => some.reduce((total, one) => total + one[key], 0);
const counts = (some) =>
  `${sum("tools", some)} tools: ${sum("errors", some)} errors, ${sum("warnings", some)} warnings, ${sum("infos", some)} info`;
const [before, last] = ["HIJKLMN", "OP"].map((some) => lists.filter(({ set }) => some.includes(set)));
const countLists = (some) => some.reduce((total, { servers = 1 }) => total + servers, 0);
console.log(`\n${countLists(lists)} lists, ${sum("tools")} tools`);
console.log(`H to N: ${countLists(before)} lists, ${counts(before)}`);
console.log(`O and P: ${countLists(last)} lists, ${counts(last)}`);
for (const one of lists.filter(({ errors }) => errors > 0))
  console.log(`${one.package} ${one.version}: ${one.errors} error${one.errors === 1 ? "" : "s"}`);
