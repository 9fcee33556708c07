import { resolve } from "node:path";
import { EvalsError, type Problem } from "../errors.ts";
import type { Suite } from "../types/suite.ts";
import { checkSuite } from "./check.ts";
import { parseDocument, type SuiteDocument } from "./document.ts";
import type { Fault } from "./fault.ts";
import { normalise } from "./normalise.ts";
import { readText } from "./text.ts";

type Loaded = { suite?: Suite; namePlace?: Problem["place"]; problems: readonly Problem[] };

/**
 * Reads suite files, in the order given. `files` are relative to `cwd` or absolute; messages name them as given.
 * Throws one EvalsError with all problems of all files when any of them holds an error; else warnings come back, but for
 * those that lint gives by rules of its own, where it `lints`.
 */
export async function loadSuites(
  files: readonly string[],
  { cwd, lints = false }: { cwd: string; lints?: boolean },
): Promise<{ suites: Suite[]; warnings: Problem[] }> {
  const loaded = await Promise.all(files.map((file) => loadSuite(file, cwd, lints)));
  const problems = [...loaded.flatMap((one) => one.problems), ...repeatedNames(loaded)];
  if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
  return { suites: loaded.flatMap(({ suite }) => suite ?? []), warnings: problems };
}

async function loadSuite(file: string, cwd: string, lints: boolean): Promise<Loaded> {
  try {
    const document = parseDocument(await readText(resolve(cwd, file), file), file);
    const { faults, checked } = checkSuite(document.data);
    const told = faults.filter(({ linted }) => !(linted && lints));
    const problems = [...document.problems, ...told.map((fault) => problemOf(fault, document))].sort(byPlace);
    if (!checked) return { problems };
    return { suite: normalise(checked, document, cwd), namePlace: document.place(["name"]), problems };
  } catch (error) {
    if (error instanceof EvalsError) return { problems: error.problems };
    throw error;
  }
}

function problemOf({ path, part, severity = "error", message, hint }: Fault, document: SuiteDocument): Problem {
  return { severity, message, ...(hint && { hint }), place: document.place(path, part) };
}

function byPlace(a: Problem, b: Problem): number {
  const [x, y] = [a.place, b.place];
  return (x?.line ?? 0) - (y?.line ?? 0) || (x?.column ?? 0) - (y?.column ?? 0);
}

/** Records and baselines are found by the suite's name, so no two suites may share one. */
function repeatedNames(loaded: readonly Loaded[]): Problem[] {
  const first = new Map<string, string>();
  return loaded.flatMap(({ suite, namePlace }): Problem[] => {
    if (!suite) return [];
    const other = first.get(suite.name);
    if (other === undefined) {
      first.set(suite.name, suite.file);
      return [];
    }
    const message = `the suite name "${suite.name}" is taken by ${other}`;
    return [
      { severity: "error", message, hint: "give one of them another `name`", ...(namePlace && { place: namePlace }) },
    ];
  });
}
