import type { Design } from "../design.ts";
import { halving } from "./halving.ts";
import { uniform } from "./uniform.ts";
import type { VariantSetup, VariantVerdict } from "./verdict.ts";

/** From this many challengers on, trying all of them equally costs more than first finding the most promising. */
const many = 4;

/** The design that decides which wording to use. Arms: `incumbent`, and the challengers' names. */
export function variants(setup: VariantSetup): Design<VariantVerdict> {
  return setup.challengers.length < many ? uniform(setup) : halving(setup);
}
