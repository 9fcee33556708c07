// All rows of the bench: a name, what it measures, what it must reach, and `once(random, r)`, which plays it one time.
import { blameRows } from "./rows/blame.mjs";
import { checkRows } from "./rows/check.mjs";
import { driftRows } from "./rows/drift.mjs";
import { improveRows } from "./rows/improve.mjs";
import { otherRows } from "./rows/others.mjs";
import { peerRows } from "./rows/peers.mjs";
import { variantRows } from "./rows/variants.mjs";

export const rows = [
  ...checkRows,
  ...driftRows,
  ...blameRows,
  ...variantRows,
  ...improveRows,
  ...otherRows,
  ...peerRows,
];
