import { allDefinitions, type Exposure, type ExposureKind } from "../types/exposure.ts";
import type { Model } from "../types/model.ts";

/** The exposures that a model can be asked under, its default first. */
export function listExposures(model: Model): readonly ExposureKind[] {
  return "converse" in model ? (model.exposures ?? ["all"]) : ["all"];
}

/** How a model is shown its tools: in the arm `head`, then in the arms of further exposures. */
export function chooseExposures(model: Model): readonly [Exposure, ...Exposure[]] {
  const [kind] = listExposures(model);
  return [kind === undefined ? allDefinitions : { kind }];
}
