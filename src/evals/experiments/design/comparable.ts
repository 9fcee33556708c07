import { getExposure, type PlannedCase } from "../../asking/trials/plan.ts";
import { nameExposure } from "../../base/types/exposure.ts";
import { canonicalJson, type JsonObject } from "../../base/types/json.ts";
import { isSameModel, type Model } from "../../base/types/model.ts";
import { version } from "../workspace/version.ts";

/** The facts about a run or baseline that determine whether two runs of a suite can be compared. */
export type ComparedRun = {
  suite: string;
  model: string;
  /** The model that the replies name, if known: `model` may be an alias of it. */
  repliedBy?: string | undefined;
  settings?: JsonObject | undefined;
  host: string;
  /** How tools were shown (see `nameExposure`). */
  exposure: string;
  harness: string;
  cases: readonly { id: string; hash: string }[];
};

/** Describes everything that decides whether these cases on this model can be compared with a baseline. */
export function describeRun(cases: readonly PlannedCase[], model: Model, { host }: { host: string }): ComparedRun {
  return {
    suite: cases[0]?.suite.name ?? "",
    model: model.id,
    settings: model.settings,
    host,
    exposure: nameExposure(getExposure(model)),
    harness: version,
    cases: cases.map(({ case: { id, hash } }) => ({ id, hash })),
  };
}

/** `cases`: ids that are in both runs unchanged, in the order of the new run. `notes` name the others. */
export type Comparability =
  | { kind: "comparable"; cases: string[]; notes: string[] }
  | { kind: "not comparable"; reasons: string[] };

/**
 * The cases that can be compared between then (a baseline or an earlier run) and now, or every reason why none can.
 * `withChanged`: cases that were added or reworded since are asked anew, too. Settings are compared only if both are
 * known.
 */
export function comparability(
  then: ComparedRun,
  now: ComparedRun,
  { withChanged = false }: { withChanged?: boolean } = {},
): Comparability {
  const [was, is] = then.settings && now.settings ? [then.settings, now.settings] : [{}, {}];
  const reasons = findDifferences({ ...then, settings: was }, { ...now, settings: is });
  if (reasons.length > 0) return { kind: "not comparable", reasons };
  const before = new Map(then.cases.map(({ id, hash }) => [id, hash]));
  const after = new Set(now.cases.map(({ id }) => id));
  const ids = (keep: (one: { id: string; hash: string }) => boolean) => now.cases.filter(keep).map(({ id }) => id);
  const cases = ids(({ id, hash }) => before.get(id) === hash);
  // A reworded case has another prompt or expectation, so its rates cannot be compared.
  const [added, reworded] = [
    ids(({ id }) => !before.has(id)),
    ids(({ id, hash }) => (before.get(id) ?? hash) !== hash),
  ];
  const others = {
    ...(!withChanged && { Added: added }),
    "Removed or not selected": then.cases.filter(({ id }) => !after.has(id)).map(({ id }) => id),
    ...(!withChanged && { Reworded: reworded }),
  };
  return {
    kind: "comparable",
    cases,
    notes: [
      ...(cases.length === 0 && !withChanged ? ["No case is the same in both, so nothing can be compared"] : []),
      ...Object.entries(others).flatMap(([what, all]) =>
        all.length > 0 ? [`${what} (not compared): ${all.join(", ")}`] : [],
      ),
      ...describeUrls(was, is),
    ],
  };
}

/** Settings that affect how a model is reached, not what it answers. */
const reaching = new Set(["baseUrl", "retries", "timeoutMs"]);

/** The settings that can change an answer, as one canonical text. */
function readDeciding(settings: JsonObject): string {
  return canonicalJson(Object.fromEntries(Object.entries(settings).filter(([key]) => !reaching.has(key))));
}

function describeUrls({ baseUrl: before }: JsonObject, { baseUrl: after }: JsonObject): string[] {
  if (typeof before !== "string" || typeof after !== "string" || before === after) return [];
  return [`Another base URL is asked now (${after}, before ${before}): the same model is assumed behind both`];
}

type Known = ComparedRun & { settings: JsonObject };

function findDifferences(then: Known, now: Known): string[] {
  const reasons: string[] = [];
  const compare = (what: string, before: string, after: string, remedy: string) => {
    if (before !== after) reasons.push(`${what} differs: "${before}" before, "${after}" now. ${remedy}.`);
  };
  compare("The suite", then.suite, now.suite, "Compare runs of the same suite");
  const identify = ({ model: id, repliedBy }: ComparedRun) => ({ id, repliedBy });
  if (!isSameModel(identify(then), identify(now)))
    compare("The model", then.model, now.model, "Run the same model, or accept a new baseline for it");
  else
    compare(
      "The settings of the model",
      readDeciding(then.settings),
      readDeciding(now.settings),
      "Use the same settings, or accept a new baseline",
    );
  compare("The host profile", then.host, now.host, "Use the same --host, or accept a new baseline for it");
  compare("The exposure", then.exposure, now.exposure, "Use the same --exposure, or accept a new baseline for it");
  compare("The major version", major(then.harness), major(now.harness), "Accept a new baseline with this version");
  return reasons;
}

/** Before 1.0.0, a minor version may change anything (semver.org, 4), so it counts as a major one. */
function major(version: string): string {
  const [first = "", second = ""] = version.split(".");
  return first === "0" ? `0.${second}` : first;
}
