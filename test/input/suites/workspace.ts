import type { Problem } from "../../../src/evals/base/types/errors.ts";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";
import type { Suite } from "../../../src/evals/base/types/suite.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { makeFolder } from "../../fakes/folder.ts";

export type Files = Record<string, string | Uint8Array>;

/** A folder of the test's own that holds these files; gone when the test is over. */
export async function workspace(files: Files): Promise<string> {
  return makeFolder(files);
}

export async function load(files: Files): Promise<{ suites: Suite[]; warnings: Problem[] }> {
  return await loadSuites(Object.keys(files), { cwd: await workspace(files) });
}

/** The one suite of a YAML text. */
export async function loadYaml(text: string): Promise<Suite> {
  const [suite] = (await load({ "s.yaml": text })).suites;
  if (!suite) throw new Error("no suite came back");
  return suite;
}

/** What the user is told when files do not load: the message of the EvalsError; any other end fails the test. */
export async function complaint(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof EvalsError) return error.message;
    throw error;
  }
  throw new Error("nothing was wrong");
}
