import { getExposure, type PlannedCase } from "../../asking/trials/plan.ts";
import { once } from "../../base/collections.ts";
import { nameRanker, type RankerName, rankerNames } from "../../base/search/rankers.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import {
  allDefinitions,
  describeExposure,
  type Exposure,
  type ExposureKind,
  exposureKinds,
} from "../../base/types/exposure.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import { asksModel } from "../../base/types/suite.ts";
import { countListTokens, isCallable } from "../../base/types/tool.ts";
import { integer } from "../../reports/format.ts";

/** How tools are shown. `exposure`: comma-separated kinds; default: that of each model. */
export type ExposureOptions = { exposure?: string | undefined; ranker?: RankerName | undefined };

/** Sets the exposures under which each model is asked. Throws a usage error for one that a model does not support. */
export function applyExposures(models: readonly Model[], options: ExposureOptions): Model[] {
  const kinds = options.exposure === undefined ? undefined : parseExposures(options.exposure);
  const chosen = (model: Model) => kinds ?? listExposureKinds(model).slice(0, 1);
  const searched = models.some((model) => chosen(model).some((kind) => kind === "names" || kind === "search"));
  if (options.ranker !== undefined && !searched) {
    throw usageError(
      "--ranker has no effect: all definitions are shown.",
      "Add --exposure names or --exposure search.",
    );
  }
  return models.map((model) => {
    const askedUnder = chosen(model).map((kind) => createExposure(model, kind, options.ranker));
    const note = [model.note, describeExposure(askedUnder[0] ?? allDefinitions)].filter((part) => part !== undefined);
    return { ...model, askedUnder, note: note.join("; ") };
  });
}

/** The exposures that a run compares with the first one. */
export function listFurtherExposures({ exposure }: ExposureOptions): ExposureKind[] {
  return exposure === undefined ? [] : parseExposures(exposure).slice(1);
}

/** Parses `--exposure` into its kinds, in order, each once. Throws a usage error for an unknown kind. */
export function parseExposures(text: string): ExposureKind[] {
  const words = text.split(",").map((word) => word.trim());
  const kinds = words.map((word) => {
    const kind = exposureKinds.find((known) => known === word);
    if (kind) return kind;
    const hint = `Use ${exposureKinds.join(", ")}, with commas between several.`;
    throw usageError(`--exposure: "${word}" is not an exposure.`, didYouMean(word, exposureKinds, hint));
  });
  return [...new Set(kinds)];
}

/** The exposures that a model supports, its default first. */
function listExposureKinds(model: Model): readonly ExposureKind[] {
  if ("converse" in model) return model.exposures ?? ["all"];
  return model.searches ? ["all", "names", "search"] : ["all", "names"];
}

function createExposure(model: Model, kind: ExposureKind, ranker: RankerName | undefined): Exposure {
  const kinds = listExposureKinds(model);
  if (!kinds.includes(kind)) throw createRefusal(model, kind, kinds);
  if (kind === "names") return { kind, ranker: nameRanker(ranker ?? "keyword") };
  return kind === "search" ? { kind, ranker: chooseSearch(model, ranker) } : { kind };
}

function createRefusal(model: Model, kind: ExposureKind, kinds: readonly ExposureKind[]) {
  const possible = kinds.map((one) => `--exposure ${one}`).join(" or ");
  if ("converse" in model) {
    return usageError(`${model.id} is a host, which cannot be made to show tools as "${kind}".`, `Use ${possible}.`);
  }
  return kind === "host"
    ? usageError(
        `${model.id} is asked without a host, so no host shows it the tools.`,
        `Use ${possible}, or a host such as -m claude-code.`,
      )
    : usageError(`The API of ${model.id} has no tool search.`, "Use --exposure names, which searches on the client.");
}

/** The tool search of a model's API for a `--ranker`; its default without one. */
function chooseSearch(model: Model, ranker: RankerName | undefined): string {
  const searches = ("ask" in model && model.searches) || {};
  const [first = ""] = Object.values(searches);
  if (ranker === undefined) return first;
  const found = searches[ranker];
  if (found !== undefined) return found;
  const offered = rankerNames.filter((name) => name in searches).map((name) => `--ranker ${name}`);
  const message = `The tool search of ${model.id} does not rank by "${ranker}".`;
  throw usageError(message, offered.length > 0 ? `Use ${offered.join(" or ")}.` : "Omit --ranker.");
}

/** Asks APIs, free of charge, whether they accept the planned tool search. Throws a usage error if one does not. */
export async function verifySearches(models: readonly Model[], signal: AbortSignal): Promise<void> {
  for (const model of models) {
    const search = model.askedUnder?.find(({ kind }) => kind === "search")?.ranker;
    if (search === undefined || !("ask" in model)) continue;
    const reason = await model.refusesSearch?.(search, signal);
    if (reason === undefined) continue;
    throw usageError(
      `${model.id} refuses the tool search ${search}: ${reason}.`,
      "Use a model that has it, or --exposure names, which searches on the client.",
    );
  }
}

/** Warns of each local model whose context window is smaller than the longest request of the cases. */
export async function warnOfSmallWindows(
  models: readonly Model[],
  cases: readonly PlannedCase[],
  io: Pick<Io, "err" | "signal">,
): Promise<void> {
  const countTools = once(({ tools }: PlannedCase["toolset"]) => countListTokens(tools.filter(isCallable)));
  for (const model of models) {
    if (!("ask" in model) || !model.readContextWindow) continue;
    const isWhole = ({ exposure }: PlannedCase) => getExposure(model, exposure).kind === "all";
    const requests = cases
      .filter((one) => !one.unavailable && asksModel(one.suite, model) && isWhole(one))
      .map((one) => ({ tools: countTools(one.toolset), query: countQueryTokens(one.case) }));
    const [longest] = requests.sort((a, b) => b.tools + b.query - (a.tools + a.query));
    const window = longest && (await model.readContextWindow(io.signal));
    if (!window || longest.tools + longest.query <= window.tokens) continue;
    printProblem(io)({
      severity: "warning",
      message: `The context window of ${model.id} has ${integer(window.tokens)} tokens, but the longest request about ${integer(longest.tools + longest.query)}: ${integer(longest.tools)} of the tool list and ${integer(longest.query)} of the query.`,
      hint: window.remedy,
    });
  }
}

function countQueryTokens({ messages, paraphrases = [] }: PlannedCase["case"]): number {
  const count = (text: string) => Math.ceil(Buffer.byteLength(text) / 4);
  const longest = Math.max(count(messages.at(-1)?.content ?? ""), ...paraphrases.map(count));
  return messages.slice(0, -1).reduce((sum, { content }) => sum + count(content), longest);
}
