import type { Alarm, DriftSummary, DriftVerdict, Suspect } from "../types/drift.ts";
import { type Block, heading, section, type Tone, text } from "./document.ts";
import { count, integer, points, ratio, size, some } from "./format.ts";

type Uncounted = NonNullable<DriftSummary["uncounted"]>;

const tones: Readonly<Record<DriftVerdict["kind"], Tone>> = {
  drifted: "bad",
  back: "good",
  "no-drift": "good",
  inconclusive: "warn",
};

/** The verdict of the drift monitor: in plain words, then what to do, then its figures. */
export function driftBlocks(drift: DriftSummary, explain = false): Block[] {
  const { verdict } = drift;
  if (isRemark(drift)) return [text(`Drift since the baseline: ${driftReason(drift)}`)];
  const tone = verdict.kind === "drifted" && verdict.alarm.direction === "up" ? "warn" : tones[verdict.kind];
  return [
    heading(3, driftHeadline(drift), tone),
    text(driftReason(drift), `Next: ${driftNext(drift)}`),
    { kind: "facts", facts: facts(drift) },
    ...(explain ? section("What the terms mean", [{ kind: "facts", facts: terms }]) : []),
  ];
}

const terms: readonly (readonly [string, string])[] = [
  [
    "Bayes factor of a change",
    "How much better the trials fit a change of the pass rates on some night than one pass rate throughout. It starts at 1 and seldom grows while nothing changes, however many nights are added.",
  ],
  [
    "Alarm",
    "The factor reached 20 times the number of monitors of the run. A case is named where its own trials are enough for that; else all cases changed a little.",
  ],
  ["Blip", "An alarm after which the nights are like those before it. The nights of a blip are no longer counted."],
];

/** A plain run on an unchanged list is no nightly job: that more nights are needed is a remark there, no verdict. */
function isRemark({ nightly, verdict }: DriftSummary): boolean {
  return !nightly && verdict.kind === "inconclusive" && verdict.because === "few-nights";
}

/** The verdict as lines of text; none where it is a remark. */
export function driftLines(drift: DriftSummary): string[] {
  if (isRemark(drift)) return [];
  const figures = facts(drift).map((fact) => fact.join(": "));
  return [`${driftHeadline(drift)}. ${driftReason(drift)}`, `Next: ${driftNext(drift)}`, ...figures];
}

/** The drift of a suite as `--json` has it, with the verdict in words. */
export function driftJson(drift: DriftSummary): DriftSummary {
  return { ...drift, headline: driftHeadline(drift), reason: driftReason(drift), next: driftNext(drift) };
}

/** The verdict in one line. */
function driftHeadline({ verdict }: DriftSummary): string {
  switch (verdict.kind) {
    case "drifted":
      return `DRIFTED since about ${nameNight(verdict.alarm.since)}: ${nameAlarm(verdict.alarm)}`;
    case "back":
      return `BACK: ${nameAlarm(verdict.alarm)}, and it was a blip`;
    case "no-drift":
      return `NO DRIFT within ${size(verdict.margin)}`;
    case "inconclusive":
      return `INCONCLUSIVE: ${verdict.because === "suspects" ? `${some(verdict.suspects.map((one) => one.case))} may have drifted` : "too few nights"}`;
  }
}

/** `2026-03-12 04:00` of a night that is named by its run; other names stay. */
function nameNight(night: string): string {
  const [, day, hour, minute] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)/.exec(night) ?? [];
  return day === undefined ? night : `${day} ${hour}:${minute}`;
}

function nameAlarm({ cases, change, direction }: Alarm): string {
  if (cases.length === 0) return `all cases a little ${direction}, ${points(change)} on average`;
  const list = (way: "up" | "down") => cases.filter((one) => one.direction === way).map((one) => one.case);
  const [fell, rose] = [list("down"), list("up")];
  return [...(fell.length > 0 ? [`${some(fell)} fell`] : []), ...(rose.length > 0 ? [`${some(rose)} rose`] : [])].join(
    ", ",
  );
}

/** What happened, in words without statistics. */
function driftReason(drift: DriftSummary): string {
  const { verdict, uncounted } = drift;
  return [...(uncounted ? [uncountedText[uncounted]] : []), describeVerdict(verdict)].join(" ");
}

const uncountedText: Readonly<Record<Uncounted, string>> = {
  missing: "This night does not count, because more than 5% of its trials brought no answer.",
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
        : `${countNights(verdict.nights)} too few to rule out a drift of ${size(verdict.margin)} on average.`;
  }
}

const countNights = (nights: number) => `${count(nights, "night")} ${nights === 1 ? "is" : "are"}`;

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

/** What to do, as one imperative sentence. */
function driftNext({ verdict, uncounted, nightly }: DriftSummary): string {
  if (verdict.kind === "drifted") {
    if (verdict.alarm.direction === "up")
      return "accept a new baseline with `evals run -n 20 --accept`, or the next regression hides behind the old one.";
    return "look at what changed at the provider or in the host; if it stays, accept a new baseline with `evals run -n 20 --accept`.";
  }
  if (uncounted === "missing") return "find out why trials broke; the next night goes on from here.";
  if (verdict.kind !== "inconclusive") return "nothing has to be done.";
  if (verdict.because === "suspects")
    return nightly
      ? "wait for the next night."
      : "run every night with --nightly, which asks suspect cases more often.";
  return nightly
    ? "go on; a break of one case is reported in the night it happens."
    : "run every night with --nightly.";
}

function facts({ verdict, baseline }: DriftSummary): [string, string][] {
  const { nights, score, threshold, net, alarms } = verdict;
  const { format } = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
  const blips = alarms.filter(({ fate }) => fate === "blip").length;
  const history = blips > 0 ? `, and ${count(blips, "blip")}` : "";
  return [
    ["Nights", `${integer(nights)} since the baseline of ${baseline.acceptedAt.slice(0, 10)}${history}`],
    [
      "Bayes factor of a change",
      `${format(score)}; an alarm from ${format(threshold)} on, which unchanged models reach in fewer than 1 of 20 histories, however long`,
    ],
    ...(net
      ? [
          [
            "Mean change",
            `${points(net.change)} (one-sided 95% limits ${points(net.lower)} and ${points(net.upper)}; last ${count(net.nights, "night")}, ${count(net.trials, "trial")}, against the baseline)`,
          ] satisfies [string, string],
        ]
      : []),
  ];
}
