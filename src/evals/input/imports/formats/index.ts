import { bfcl } from "./bfcl.ts";
import type { Format } from "./imported.ts";
import { listFormats } from "./lists.ts";
import { mongodb } from "./mongodb.ts";
import { promptfoo } from "./promptfoo.ts";
import { promptLists, promptTable } from "./promptTable.ts";
import { vally, waza } from "./vally.ts";
import { vitestEvals } from "./vitestEvals.ts";

/** Every format, in the order in which a file is tested for it. */
export const formats: readonly Format[] = [
  mongodb,
  vitestEvals,
  bfcl,
  promptTable,
  promptLists,
  vally,
  waza,
  ...listFormats,
  promptfoo,
];
