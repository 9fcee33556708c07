// How skill packages of public repositories are read and linted. No model is called.
//   node bench/wildSkills.mjs <folder>    the folder holds one clone per repository
//   --verbose                             also print every error of lint and every file that is passed over
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { EvalsError } from "../build/evals/base/types/errors.js";
import { discoverSkills } from "../build/evals/input/skills/discover.js";
import { readSkillEvals } from "../build/evals/input/skills/evals.js";
import { discover } from "../build/evals/input/suites/discover.js";
import { lint } from "../build/evals/inspection/lint/command.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { verbose: { type: "boolean" } } });
const [given] = positionals;
if (given === undefined) throw new Error("Name a folder that holds one clone per repository.");
const folder = resolve(given);

/** Keys under which the eval files in the wild have the text of a query. */
const texts = ["input", "prompt", "query", "user_request"];
const lists = ["evals", "cases", "test_cases", "queries", "should_trigger", "should_not_trigger"];

/** The number of queries in a file, counted without the reader under test; undefined for a file of another kind. */
function countQueries(file) {
  const value = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  const found = Array.isArray(value) ? value : lists.flatMap((key) => (Array.isArray(value?.[key]) ? value[key] : []));
  const isQuery = (one) => typeof one === "string" || texts.some((key) => typeof one?.[key] === "string");
  return found.length > 0 ? found.filter(isQuery).length : Number(isQuery(value));
}

/** Every package of a repository, the other packages of its folder beside it. */
async function findPackages(cwd) {
  const { packages, warnings } = await discover(["."], cwd);
  const folders = new Map();
  for (const path of packages) {
    const dir = resolve(cwd, path);
    folders.set(dirname(dir), [...(folders.get(dirname(dir)) ?? []), dir]);
  }
  const found = { skills: [], skipped: [], warnings };
  for (const dirs of folders.values())
    for (const dir of dirs) {
      const { skills, skipped } = await discoverSkills([{ dir, level: "named" }], { cwd });
      found.skills.push(...skills);
      found.skipped.push(...skipped);
    }
  return found;
}

async function readRepository(cwd) {
  const row = { packages: 0, refused: 0, files: 0, queries: 0, read: 0, checks: 0, left: 0, other: 0, errors: [] };
  const notes = [];
  let found;
  try {
    found = await findPackages(cwd);
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    return { ...row, notes: error.problems.map(({ message }) => message) };
  }
  row.packages = found.skills.length + found.skipped.length;
  row.refused = found.skipped.length;
  row.other = found.warnings.length;
  notes.push(...found.skipped.map(({ file, reason }) => `${file}: ${reason}`));
  notes.push(...found.warnings.map(({ message, place }) => `${place?.file}: ${message}`));
  for (const skill of found.skills) {
    try {
      const { evals, files, warnings } = await readSkillEvals(skill, { repository: cwd, cwd });
      row.files += files.length;
      row.queries += files.reduce((sum, file) => sum + countQueries(resolve(cwd, file)), 0);
      row.read += evals.length;
      row.left += evals.filter(({ unusable }) => unusable !== undefined).length;
      row.checks += evals.reduce((sum, { expectedBehavior }) => sum + expectedBehavior.length, 0);
      notes.push(...warnings.map(({ message, place }) => `${place?.file}: ${message}`));
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      row.refused++;
      notes.push(...error.problems.map(({ message, place }) => `${place?.file}:${place?.line}: ${message}`));
    }
  }
  let out = "";
  const io = {
    ...{ cwd, env: { HOME: cwd }, signal: new AbortController().signal, signalExitCode: () => 130 },
    ...{ out: (text) => (out += text), err: () => {}, isTerminal: false, columns: 80 },
  };
  try {
    if (found.skills.length > 0) {
      const paths = found.skills.map(({ dir }) => dir);
      await lint({ paths, json: true, format: "json", confusable: false, rules: false }, io);
      const { findings } = JSON.parse(out);
      row.errors.push(...findings.filter(({ severity, suppressed }) => severity === "error" && !suppressed));
    }
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    notes.push(...error.problems.map(({ message }) => message));
  }
  return { ...row, notes };
}

const names = readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
const rows = [];
for (const name of names) rows.push({ name: basename(name), ...(await readRepository(join(folder, name))) });

const columns = ["packages", "refused", "files", "queries", "read", "left", "checks", "other", "errors"];
const show = (row) =>
  columns.map((key) => String(key === "errors" ? row.errors.length : row[key]).padStart(9)).join("");
console.log(`${"repository".padEnd(44)}${columns.map((key) => key.padStart(9)).join("")}`);
for (const row of rows) console.log(`${row.name.slice(0, 43).padEnd(44)}${show(row)}`);
const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
const total = Object.fromEntries(
  columns.map((key) => [key, key === "errors" ? rows.flatMap((row) => row.errors) : sum(key)]),
);
console.log(`${`${rows.length} repositories`.padEnd(44)}${show(total)}`);
if (values.verbose)
  for (const row of rows) {
    for (const note of row.notes) console.log(`${row.name}: ${note}`);
    for (const { rule, message, where } of row.errors)
      console.log(`${row.name}: error ${rule}: ${where.file}:${where.line ?? ""} ${message}`);
  }
