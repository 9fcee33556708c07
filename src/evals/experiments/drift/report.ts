import type { Alarm, DriftSummary, DriftVerdict, Suspect } from "../../base/types/drift.ts";
import { type Block, facts, heading, knownFacts, type Tone, text } from "../../reports/document.ts";
import { count, integer, percent, points, ratio, size, some } from "../../reports/format.ts";

const tones: Readonly<Record<DriftVerdict["kind"], Tone>> = {
  drifted: "bad",
  back: "good",
  "no-drift": "good",
  inconclusive: "warn",
};

/** The verdict in plain words, what to do, and its figures. `isLeading`: the lead says what differs and what to do. */
export function driftBlocks(drift: DriftSummary, { isLeading = false } = {}): Block[] {
  const { verdict } = drift;
  if (isRemark(drift)) return [text(`Drift since the baseline: ${driftReason(drift)}`)];
  const tone = verdict.kind === "drifted" && verdict.alarm.direction === "up" ? "warn" : tones[verdict.kind];
  return [
    heading(3, driftHeadline(drift), tone),
    text(driftReason(drift), ...(isLeading ? [] : [describeChanges(drift), `Next: ${driftNext(drift)}`])),
    facts(...listFacts(drift)),
  ];
}

/** Outside nightly jobs, a need for more nights is a remark, not a verdict. */
function isRemark({ nightly, verdict }: DriftSummary): boolean {
  return !nightly && verdict.kind === "inconclusive" && verdict.because === "few-nights";
}

/** The verdict as lines of text; none for a remark. */
export function driftLines(drift: DriftSummary): string[] {
  if (isRemark(drift)) return [];
  const changes = describeChanges(drift);
  const next = `Next: ${driftNext(drift)}`;
  return [`${driftHeadline(drift)}. ${driftReason(drift)}`, next, ...(changes ? [changes] : [])];
}

/** The lead of a nightly report of one suite: the verdict, what differs tonight, what to do. */
export function driftLead(drift: DriftSummary): string[] {
  const changes = describeChanges(drift);
  return [`${driftHeadline(drift)}.`, ...(changes ? [changes] : []), `Next: ${driftNext(drift)}`];
}

function describeChanges({ changes, verdict }: DriftSummary): string | undefined {
  if (!changes) return undefined;
  const { night, cases, same, mean } = changes;
  const moved = cases.map((one) => `${one.case} ${ratio(one.before)} -> ${ratio(one.after)}`);
  const rest = same > 0 ? `; ${count(same, "case")} as before` : "";
  const sinceNight =
    night === null
      ? "The first night since the baseline."
      : `Since the night of ${nameNight(night)}: ${moved.length === 0 ? "every case as before" : `${some(moved, 3)}${rest}`}.`;
  const drifted = verdict.kind === "drifted" ? verdict.alarm.cases.map((one) => one.case) : [];
  const sinceBaseline = [
    ...(mean ? [`mean pass rate ${percent(mean.before)} -> ${percent(mean.after)}`] : []),
    drifted.length > 0 ? `${some(drifted)} drifted` : "no case drifted",
  ];
  return `${sinceNight} Since the baseline: ${sinceBaseline.join("; ")}.`;
}

/** The drift of a suite with the verdict in words, as printed by `--json`. */
export function driftJson(drift: DriftSummary): DriftSummary {
  return { ...drift, headline: driftHeadline(drift), reason: driftReason(drift), next: driftNext(drift) };
}

const words: Readonly<Record<DriftVerdict["kind"], string>> = {
  drifted: "DRIFTED",
  back: "BACK",
  "no-drift": "NO DRIFT",
  inconclusive: "INCONCLUSIVE",
};

/** The verdict in one word. */
export const driftWord = ({ verdict }: DriftSummary) => words[verdict.kind];

function driftHeadline({ verdict }: DriftSummary): string {
  switch (verdict.kind) {
    case "drifted":
      return `DRIFTED since about ${nameNight(verdict.alarm.since)}: ${nameAlarm(verdict.alarm)}`;
    case "back":
      return `BACK: ${nameAlarm(verdict.alarm)}, and it was a blip`;
    case "no-drift":
      return `NO DRIFT within ${size(verdict.margin)}`;
    case "inconclusive":
      return `INCONCLUSIVE: ${verdict.because === "suspects" ? `${some(verdict.suspects.map((one) => one.case))} may have drifted` : verdict.wanted === undefined ? "too few nights" : "the baseline is too small"}`;
  }
}

/** `2026-03-12 04:00` for a night named after its run; other names are kept. */
function nameNight(night: string): string {
  const [, day, hour, minute] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)/.exec(night) ?? [];
  return day === undefined ? night : `${day} ${hour}:${minute}`;
}

function nameAlarm({ cases, change, direction }: Alarm): string {
  if (cases.length === 0) return `all cases a little ${direction}, ${points(change)} on average`;
  const list = (way: "up" | "down") => cases.filter((one) => one.direction === way).map((one) => one.case);
  const [fell, rose] = [list("down"), list("up")];
  const parts = [fell.length > 0 ? `${some(fell)} fell` : "", rose.length > 0 ? `${some(rose)} rose` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

function driftReason(drift: DriftSummary): string {
  const { verdict, uncounted } = drift;
  return [...(uncounted ? [uncountedText[uncounted]] : []), describeVerdict(verdict)].join(" ");
}

const uncountedText: Readonly<Record<NonNullable<DriftSummary["uncounted"]>, string>> = {
  missing: "This night does not count, because more than 5% of its trials got no answer.",
  stopped: "This night does not count, because the run was stopped.",
};

function describeVerdict(verdict: DriftVerdict): string {
  switch (verdict.kind) {
    case "drifted": {
      const { alarm } = verdict;
      const moved =
        alarm.cases.length === 0
          ? `All cases together pass ${size(alarm.change)} ${alarm.change < 0 ? "less" : "more"} often than before; no single case stands out.`
          : `${some(alarm.cases.map(describeCase), 3)}.`;
      return `${moved} The tools are those of the baseline, so the model or its host changed. ${describeFate(alarm)}`;
    }
    case "back":
      return `${nameAlarm(verdict.alarm)} on ${nameNight(verdict.alarm.night)}; ${count(verdict.alarm.nightsAfter, "night")} since ${verdict.alarm.nightsAfter === 1 ? "is" : "are"} like the baseline again.`;
    case "no-drift":
      return "The cases pass as often as when the baseline was accepted. A case that stops passing is reported the same night.";
    case "inconclusive":
      return verdict.because === "suspects"
        ? `${some(verdict.suspects.map(describeSuspect), 3)}, which chance can explain.`
        : verdict.wanted !== undefined
          ? `The baseline has too few trials to rule out a drift of ${size(verdict.margin)} on average. The nights since extend it, 28 at a time, as long as they agree with it.`
          : `${count(verdict.nights, "night")} ${verdict.nights === 1 ? "is" : "are"} too few to rule out a drift of ${size(verdict.margin)} on average.`;
  }
}

function describeCase({ case: id, since, before, after }: Alarm["cases"][number]): string {
  return `${id} passes ${integer(after.passed)} of ${count(after.trials, "time")} since ${nameNight(since)}, and passed ${integer(before.passed)} of ${integer(before.trials)} before`;
}

function describeFate({ fate, nightsAfter }: Alarm): string {
  if (fate === "lasting") return `It lasts: ${count(nightsAfter, "night")} since the alarm.`;
  if (nightsAfter === 0) return "Whether it lasts is not known yet.";
  return `After ${count(nightsAfter, "more night")} it is not known whether it lasts.`;
}

function describeSuspect({ case: id, before, after }: Suspect): string {
  const isLower = after.passed * before.trials < before.passed * after.trials;
  return `${id} looks ${isLower ? "lower" : "higher"} than before (${ratio(before)} -> ${ratio(after)})`;
}

/** What to do next, as an imperative clause. */
function driftNext({ verdict, uncounted, nightly }: DriftSummary): string {
  if (verdict.kind === "drifted") {
    if (verdict.alarm.direction === "up")
      return "accept a new baseline with `evals run -n 20 --accept`, or the next regression hides behind the old one.";
    return "look at what changed at the provider or in the host; if it stays, accept a new baseline with `evals run -n 20 --accept`.";
  }
  if (uncounted === "missing") return "find out why trials broke; the next night continues from here.";
  if (verdict.kind !== "inconclusive") return "nothing to do.";
  if (verdict.because === "suspects")
    return nightly
      ? "wait for the next night."
      : "run every night with --nightly, which asks suspect cases more often.";
  if (verdict.wanted)
    return `accept a baseline with \`evals run --accept -n ${verdict.wanted}\`; a case that breaks is reported the same night until then.`;
  if (verdict.wanted === 0)
    return "use a wider margin (`--margin`), or more cases; a case that breaks is reported the same night in any case.";
  return nightly
    ? "keep running every night; a case that breaks is reported the same night."
    : "run every night with --nightly.";
}

function listFacts({ verdict, baseline }: DriftSummary): [string, string][] {
  const { nights, score, threshold, net, alarms } = verdict;
  const { format } = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
  const blips = alarms.filter(({ fate }) => fate === "blip").length;
  const history = blips > 0 ? `, and ${count(blips, "blip")}` : "";
  const alarm = `an alarm from ${format(threshold)} on, which unchanged models reach in fewer than 1 of 20 histories, however long`;
  return knownFacts([
    ["Nights", `${integer(nights)} since the baseline of ${baseline.acceptedAt.slice(0, 10)}${history}`],
    ["Bayes factor of a change", `${format(score)}; ${alarm}`],
    ["Mean change", net ? describeNet(net) : undefined],
  ]);
}

function describeNet({ change, lower, upper, nights, trials, joined }: NonNullable<DriftVerdict["net"]>): string {
  const quiet = joined > 0 ? ` and ${count(joined, "quiet night")} after it` : "";
  const pooled = `last ${count(nights, "night")}, ${count(trials, "trial")}, against the baseline${quiet}`;
  return `${points(change)} (one-sided 95% limits ${points(lower)} and ${points(upper)}; ${pooled})`;
}
