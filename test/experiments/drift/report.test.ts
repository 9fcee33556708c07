import { describe, expect, it } from "vitest";
import {
  type Alarm,
  type DriftSummary,
  type DriftVerdict,
  driftSummarySchema,
  type NightChanges,
} from "../../../src/evals/base/types/drift.ts";
import { driftBlocks, driftJson, driftLead } from "../../../src/evals/experiments/drift/report.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { sections } from "../../fakes/text.ts";

const display = { color: false, width: 100, unicode: true };
const counts = (passed: number, trials: number) => ({ passed, trials });
const night = (day: number) => `2026-03-${String(day).padStart(2, "0")}T04-00-07-123`;

const figures = {
  ...{ nights: 31, score: 1.234, threshold: 20, margin: 0.1 },
  ...{ net: { change: 0.012, lower: -0.041, upper: 0.06, nights: 28, joined: 0, trials: 840 } },
  alarms: [],
};
const alarm: Alarm = {
  night: night(12),
  since: night(12),
  direction: "down",
  cases: [
    {
      ...{ case: "read-one", since: night(12), direction: "down", before: counts(113, 113), after: counts(0, 10) },
      score: 1e6,
    },
  ],
  change: -0.1,
  fate: "open",
  nightsAfter: 0,
};
const summary = (verdict: DriftVerdict, over: Partial<DriftSummary> = {}): DriftSummary => ({
  ...{ nightly: true, baseline: { run: night(1), acceptedAt: "2026-03-01T08:00:00.000Z" }, uncounted: null },
  ...{ tonight: null, verdict },
  ...over,
});
const print = (verdict: DriftVerdict, over?: Partial<DriftSummary>) => {
  const drift = summary(verdict, over);
  expect(driftSummarySchema.parse(driftJson(drift))).toMatchObject(drift);
  return renderTerminal(driftBlocks(drift), display);
};
const drifted = (over: Partial<Alarm>): DriftVerdict => ({
  kind: "drifted",
  alarm: { ...alarm, ...over },
  ...figures,
  score: 103_477.4,
});
/** The report without its facts. */
const brief = (verdict: DriftVerdict, over?: Partial<DriftSummary>) => print(verdict, over).split("\n\n")[0];

describe("the report of drift", () => {
  it("says what each verdict came to, and what to do", async () => {
    const [one] = alarm.cases;
    const rose = { ...one, case: "rename", direction: "up" as const, before: counts(1, 20), after: counts(10, 10) };
    const blip: Alarm = { ...alarm, fate: "blip", nightsAfter: 4 };
    const suspects = [{ case: "read-one", before: counts(19, 20), after: counts(13, 21), score: 7 }];
    const early = { kind: "inconclusive", because: "few-nights", ...figures, nights: 1, net: null } as const;
    const small = { kind: "inconclusive", because: "few-nights", wanted: 60, ...figures } as const;
    await expect(
      sections({
        "a case that fell, with all facts": print(drifted({})),
        "all cases a little": brief(drifted({ cases: [], change: -0.09, fate: "lasting", nightsAfter: 8 })),
        "a case that rose": brief(drifted({ direction: "up", cases: [rose] as Alarm["cases"], change: 0.09 })),
        "a blip": print({ kind: "back", alarm: blip, ...figures, alarms: [blip] }).split("\nBayes")[0],
        "nothing that drifted": brief({ kind: "no-drift", ...figures }),
        "a case that may have drifted": brief({ kind: "inconclusive", because: "suspects", suspects, ...figures }),
        "too few nights": brief(early),
        "a baseline that is too small": brief(small),
        "a night that does not count": brief({ ...early, nights: 0 }, { uncounted: "missing" }),
        "a run that was no night": print(early, { nightly: false }),
      }),
    ).toMatchFileSnapshot("snapshots/verdicts.txt");
    expect(print({ ...small, net: { ...figures.net, joined: 28 } })).toContain(
      "the baseline and 28 quiet nights after it",
    );
  });

  it("says in one line what changed since the previous night and the baseline", () => {
    const line = (changes: NightChanges, verdict: DriftVerdict = { kind: "no-drift", ...figures }) =>
      driftLead(summary(verdict, { changes }))[1];
    const none = { cases: [], same: 3, mean: { before: 0.95, after: 0.95 } };
    expect([
      line({ ...none, night: null }),
      line({ ...none, night: night(11) }),
      line(
        {
          ...{ night: night(11), cases: [{ case: "read-one", before: counts(3, 3), after: counts(0, 10) }], same: 1 },
          ...{ mean: { before: 1, after: 0.5 } },
        },
        drifted({}),
      ),
      line({ night: night(11), cases: [], same: 1, mean: null }),
    ]).toMatchSnapshot();
    expect(driftLead(summary({ kind: "no-drift", ...figures }))).toEqual([
      "NO DRIFT within 10 pp.",
      "Next: nothing to do.",
    ]);
  });
});
