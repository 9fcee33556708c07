import { describe, expect, it } from "vitest";
import { calibrationReport } from "../../src/evals/reports/calibrate.ts";
import { columns } from "../../src/evals/reports/layout.ts";
import type { CalibrationSummary } from "../../src/evals/verdicts/calibrate.ts";

const display = { colour: false, width: 100, unicode: true };

const found: NonNullable<CalibrationSummary["found"]> = {
  trials: 20,
  cases: [
    { case: "always", base: { passed: 20, trials: 20 }, head: { passed: 20, trials: 20 } },
    { case: "often", base: { passed: 15, trials: 20 }, head: { passed: 18, trials: 19 } },
  ],
  noise: { difference: 0.0987, floor: 0.131 },
  correlation: {
    kind: "estimated",
    ...{ designEffect: 1.6, designEffectInterval: [0.3, 8.8], icc: 0.031, iccInterval: [0, 0.41], cases: 1 },
  },
  level: { independent: 0.0225, correlated: 0.07 },
  duplicates: { share: 0.61, oneTrialSuffices: false },
  detect: [
    { drop: 0.1, power: 0.62, kind: "beyond", most: 50, costUsd: 3.2 },
    { drop: 0.2, power: 0.83, kind: "reachable", trials: 15, costUsd: 0.96 },
  ],
};

const calibrated: CalibrationSummary = {
  run: "run-1",
  dir: "/home/me/reports/run-1",
  suite: "files",
  model: "anthropic:claude",
  note: null,
  stopped: false,
  trials: 20,
  made: { trials: 80, broken: 1 },
  found,
  costUsd: 1.28,
  exitCode: 0,
};

describe("the report of a calibration", () => {
  it("is this on a model that varies", () => {
    expect(calibrationReport(calibrated, display)).toMatchInlineSnapshot(`
      "NOISE FLOOR 13.1 points at 20 trials a case

      files · anthropic:claude · 2 cases × 20 trials in each of two equal arms

      Noise: two equal lists differ by up to 13.1 points in 95 of 100 comparisons with 20 trials a case
        (mean over cases). Here they differed by +9.9. A smaller difference than that says nothing.

      Correlation: trials of one case hang together with 0.03 (intraclass, 95% interval 0.00 to 0.41,
        from 1 case that varied; 0 is independent). With that, \`--check thorough\` would call this suite
        regressed without any change in 7% of runs; with independent trials in 2%. It promises at most 5%.

      Repeats: 61% of pairs of replies to one case called the same tools with the same arguments, so
        more than one trial a case is needed.

      A drop of 10 points in every case is found in only 62% of runs even with 50 trials per case and
        arm; both arms cost about $3.20. More cases help more than more trials.
      A drop of 20 points in every case is found in 83% of runs with 15 trials per case and arm; both
        arms cost about $0.9600.

      case    first arm  second arm
      ─────────────────────────────
      often   15/20      18/19
      always  20/20      20/20

      Trials: 80 (1 broken, in no rate) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("says what cannot be known", () => {
    const why = "every case always passed or always failed, so nothing varied";
    const detect = found.detect.map((one) => ({ ...one, costUsd: "unknown" as const }));
    const unknown = { ...calibrated, found: { ...found, correlation: { kind: "undefined" as const, why }, detect } };
    const text = calibrationReport({ ...unknown, costUsd: "unknown" }, display);
    expect(text).toContain(`Correlation: not known, for ${why}.\n`);
    expect(text).toContain("with 15 trials per case and arm.\n");
    expect(text).toContain("· cost unknown\n");
  });

  it("is this where every reply is the same", () => {
    const noise = { difference: 0, floor: 0.1 };
    const alike = { ...found, noise, duplicates: { share: 1, oneTrialSuffices: true } };
    expect(calibrationReport({ ...calibrated, trials: 1, found: alike }, display)).toMatchInlineSnapshot(`
      "ALWAYS THE SAME: one trial a case suffices

      files · anthropic:claude · 2 cases × 1 trial in each of two equal arms

      Every reply to a case called the same tool with the same arguments, whatever the order of the
        tools. A second trial tells nothing new, and any difference between two lists is a difference.

      Trials: 80 (1 broken, in no rate) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
    const apart = { ...alike, noise: { ...noise, difference: -0.5 } };
    expect(calibrationReport({ ...calibrated, trials: 1, found: apart }, display)).toContain(
      "Yet the results of those calls differed, so the arms do not pass alike.",
    );
  });

  it("is this when it was stopped, or nothing was scored", () => {
    const stopped = { ...calibrated, found: null, stopped: true };
    expect(calibrationReport(stopped, display)).toMatchInlineSnapshot(`
      "STOPPED before there was enough to calibrate on; what was asked is on the record

      files · anthropic:claude

      Trials: 80 (1 broken, in no rate) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
    expect(calibrationReport({ ...stopped, stopped: false }, display)).toMatch(
      /^NOT SCORED: nothing was scored in both arms\n/,
    );
  });

  it("fits 80 columns in ASCII", () => {
    const text = calibrationReport(
      { ...calibrated, suite: "é".repeat(100) },
      { ...display, width: 80, unicode: false },
    );
    expect(text).toMatch(/^[\n -~]*$/);
    for (const line of text.split("\n")) expect(columns(line)).toBeLessThanOrEqual(80);
  });
});
