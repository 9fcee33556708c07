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
  it("names what drifted, since when, and what to do", () => {
    expect(print(drifted({}))).toMatchInlineSnapshot(`
      "DRIFTED since about 2026-03-12 04:00: read-one fell
        read-one passes 0 of 10 times since 2026-03-12 04:00, and passed 113 of 113 before. The tools
          are those of the baseline, so the model or its host changed. Whether it lasts is not known yet.
        Next: look at what changed at the provider or in the host; if it stays, accept a new baseline
          with \`evals run -n 20 --accept\`.

      Nights: 31 since the baseline of 2026-03-01
      Bayes factor of a change: 103,000; an alarm from 20 on, which unchanged models reach in fewer than
        1 of 20 histories, however long
      Mean change: +1.2 pp (one-sided 95% limits -4.1 pp and +6 pp; last 28 nights, 840 trials, against
        the baseline)
      "
    `);
    expect(brief(drifted({ cases: [], change: -0.09, fate: "lasting", nightsAfter: 8 }))).toMatchInlineSnapshot(`
      "DRIFTED since about 2026-03-12 04:00: all cases a little down, -9 pp on average
        All cases together pass 9 pp less often than before; no single case stands out. The tools are
          those of the baseline, so the model or its host changed. It lasts: 8 nights since the alarm.
        Next: look at what changed at the provider or in the host; if it stays, accept a new baseline
          with \`evals run -n 20 --accept\`."
    `);
    const [one] = alarm.cases;
    const rose = { ...one, case: "rename", direction: "up" as const, before: counts(1, 20), after: counts(10, 10) };
    expect(brief(drifted({ direction: "up", cases: [rose] as Alarm["cases"], change: 0.09 }))).toMatchInlineSnapshot(`
      "DRIFTED since about 2026-03-12 04:00: rename rose
        rename passes 10 of 10 times since 2026-03-12 04:00, and passed 1 of 20 before. The tools are
          those of the baseline, so the model or its host changed. Whether it lasts is not known yet.
        Next: accept a new baseline with \`evals run -n 20 --accept\`, or the next regression hides behind
          the old one."
    `);
  });

  it("reports a blip", () => {
    const blip: Alarm = { ...alarm, fate: "blip", nightsAfter: 4 };
    const printed = print({ kind: "back", alarm: blip, ...figures, alarms: [blip] });
    expect(printed.split("\nBayes")[0]).toMatchInlineSnapshot(`
      "BACK: read-one fell, and it was a blip
        read-one fell on 2026-03-12 04:00; 4 nights since are like the baseline again.
        Next: nothing to do.

      Nights: 31 since the baseline of 2026-03-01, and 1 blip"
    `);
  });

  it("reports what is ruled out", () => {
    expect(brief({ kind: "no-drift", ...figures })).toMatchInlineSnapshot(`
      "NO DRIFT within 10 pp
        The cases pass as often as when the baseline was accepted. A case that stops passing is reported
          the same night.
        Next: nothing to do."
    `);
  });

  it("explains an inconclusive verdict", () => {
    const suspects = [{ case: "read-one", before: counts(19, 20), after: counts(13, 21), score: 7 }];
    expect(brief({ kind: "inconclusive", because: "suspects", suspects, ...figures })).toMatchInlineSnapshot(`
      "INCONCLUSIVE: read-one may have drifted
        read-one looks lower than before (19/20 -> 13/21), which chance can explain.
        Next: wait for the next night."
    `);
    const early = { kind: "inconclusive", because: "few-nights", ...figures, nights: 1, net: null } as const;
    expect(brief(early)).toMatchInlineSnapshot(`
      "INCONCLUSIVE: too few nights
        1 night is too few to rule out a drift of 10 pp on average.
        Next: keep running every night; a case that breaks is reported the same night."
    `);
    const small = { kind: "inconclusive", because: "few-nights", wanted: 60, ...figures } as const;
    expect(brief(small)).toMatchInlineSnapshot(`
      "INCONCLUSIVE: the baseline is too small
        The baseline has too few trials to rule out a drift of 10 pp on average. The nights since extend
          it, 28 at a time, as long as they agree with it.
        Next: accept a baseline with \`evals run --accept -n 60\`; a case that breaks is reported the same
          night until then."
    `);
    expect(print({ ...small, net: { ...figures.net, joined: 28 } })).toContain(
      "the baseline and 28 quiet nights after it",
    );
    expect(brief({ ...early, nights: 0 }, { uncounted: "missing" })).toMatchInlineSnapshot(`
      "INCONCLUSIVE: too few nights
        This night does not count, because more than 5% of its trials got no answer. 0 nights are too
          few to rule out a drift of 10 pp on average.
        Next: find out why trials broke; the next night continues from here."
    `);
    expect(print(early, { nightly: false })).toMatchInlineSnapshot(`
      "Drift since the baseline: 1 night is too few to rule out a drift of 10 pp on average.
      "
    `);
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
    ]).toMatchInlineSnapshot(`
      [
        "The first night since the baseline. Since the baseline: mean pass rate 95% -> 95%; no case drifted.",
        "Since the night of 2026-03-11 04:00: every case as before. Since the baseline: mean pass rate 95% -> 95%; no case drifted.",
        "Since the night of 2026-03-11 04:00: read-one 3/3 -> 0/10; 1 case as before. Since the baseline: mean pass rate 100% -> 50%; read-one drifted.",
        "Since the night of 2026-03-11 04:00: every case as before. Since the baseline: no case drifted.",
      ]
    `);
    expect(driftLead(summary({ kind: "no-drift", ...figures }))).toEqual([
      "NO DRIFT within 10 pp.",
      "Next: nothing to do.",
    ]);
  });
});
