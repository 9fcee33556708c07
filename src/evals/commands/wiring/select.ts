import { type Problem, usageError } from "../../errors.ts";
import { discover } from "../../suites/discover.ts";
import { loadSuites } from "../../suites/load.ts";
import { override } from "../../suites/override.ts";
import type { Suite } from "../../types/suite.ts";
import type { Io } from "../io.ts";
import type { RunFlags } from "../run.ts";

/** The flags that say which cases, and how. */
export type SuiteFlags = Partial<Pick<RunFlags, "paths" | "trials" | "passRate" | "maxTurns" | "execute" | "case">>;

/** The suites that a command is about, as its flags change and filter them. No case at all is an error. */
export async function selectSuites(flags: SuiteFlags, io: Io): Promise<{ suites: Suite[]; warnings: Problem[] }> {
  const loaded = await loadSuites(await discover(flags.paths ?? [], io.cwd), { cwd: io.cwd });
  const changes = {
    ...(flags.trials !== undefined && { trials: flags.trials }),
    ...(flags.passRate !== undefined && { passRate: flags.passRate }),
    ...(flags.maxTurns !== undefined && { maxTurns: flags.maxTurns }),
    ...(flags.execute !== undefined && { execute: flags.execute }),
    ...(flags.case !== undefined && { cases: flags.case }),
  };
  const suites = loaded.suites.map((suite) => override(suite, changes)).filter((suite) => suite.cases.length > 0);
  if (suites.length > 0) return { suites, warnings: loaded.warnings };
  throw usageError(
    `no case matches ${flags.case?.join(", ")}`,
    "See the ids with `evals run --dry-run`, or leave --case out.",
  );
}
