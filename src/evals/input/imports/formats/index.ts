import { bfcl } from "./bfcl.ts";
import type { Format } from "./imported.ts";
import { mongodb } from "./mongodb.ts";
import { promptfoo } from "./promptfoo.ts";
import { promptLists, promptTable } from "./promptTable.ts";
import { apifyCases, apifyTasks, mcpEvals, posthog, whichtool } from "./taskLists.ts";
import { vally, waza } from "./vally.ts";
import { mcpEvalsSource, vitestEvals } from "./vitestEvals.ts";

/** Every format, in the order in which a file is tested for it. */
export const formats: readonly Format[] = [
  mongodb,
  vitestEvals,
  mcpEvalsSource,
  apifyCases,
  apifyTasks,
  bfcl,
  promptTable,
  promptLists,
  vally,
  waza,
  posthog,
  whichtool,
  promptfoo,
  mcpEvals,
];
