import { describe, expect, it } from "vitest";
import { displayWidth } from "../../../src/evals/base/text/columns.ts";
import { calibrationDocument } from "../../../src/evals/experiments/calibrate/report.ts";
import type { CalibrationSummary } from "../../../src/evals/experiments/calibrate/verdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

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
  it("renders a model that varies", () => {
    expect(renderTerminal(calibrationDocument(calibrated), display)).toMatchInlineSnapshot(`
      "NOISE FLOOR 13.1 pp with 20 trials per case
        How sure: equal tool lists differ by at most 13.1 pp in 95% of comparisons with 20 trials per
          case.
        Next: compare with \`-n 15\`, which detects a drop of 20 pp in every case 8 times in 10.

      files · anthropic:claude · 2 cases, 20 trials in each of two equal arms

      Noise: the two equal lists differed by +9.9 pp here (mean over cases).
      Correlation: trials of one case are correlated (intraclass correlation 0.03, 95% CI 0.00 to 0.41,
        from 1 case that varied; 0 is independent). With that, a check would call this unchanged suite
        regressed in 7% of runs, and with independent trials in 2%. It promises at most 5%.
      Repeats: 61% of pairs of replies to one case called the same tools with the same arguments, so
        more than one trial per case is needed.
      Power: a drop of 10 pp in every case is detected in only 62% of runs even with 50 trials per case
        and arm; both arms cost about $3.20. More cases help more than more trials.
      Power: a drop of 20 pp in every case is detected in 83% of runs with 15 trials per case and arm;
        both arms cost about $0.96.

      case    first arm  second arm
      ─────────────────────────────
      often   15/20      18/19
      always  20/20      20/20

      Trials: 80 (1 broken, excluded from rates) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
  });

  it("says what is unknown", () => {
    const why = "every case always passed or always failed, so nothing varied";
    const detect = found.detect.map((one) => ({ ...one, costUsd: "unknown" as const }));
    const unknown = { ...calibrated, found: { ...found, correlation: { kind: "undefined" as const, why }, detect } };
    const text = renderTerminal(calibrationDocument({ ...unknown, costUsd: "unknown" }), display);
    expect(text).toContain(`Correlation: unknown, because ${why}.\n`);
    expect(text).toContain("with 15 trials per case and arm.\n");
    expect(text).toContain("· cost unknown\n");
  });

  it("renders identical replies", () => {
    const noise = { difference: 0, floor: 0.1 };
    const alike = { ...found, noise, duplicates: { share: 1, oneTrialSuffices: true } };
    expect(
      renderTerminal(calibrationDocument({ ...calibrated, trials: 1, deterministic: true, found: alike }), display),
    ).toMatchInlineSnapshot(`
      "DETERMINISTIC: one trial per case is enough
        How sure: certain. Every reply to a case called the same tool with the same arguments, whatever
          the order of the tools.
        Next: ask each case once with \`-n 1\`.

      files · anthropic:claude · 2 cases, 1 trial in each of two equal arms

      A second trial adds no information, and any difference between two lists is real.

      Trials: 80 (1 broken, excluded from rates) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
    const seen = renderTerminal(calibrationDocument({ ...calibrated, deterministic: false, found: alike }), display);
    expect(seen).toContain("How sure: as far as these trials show. Every reply to a case");
    expect(seen).not.toContain("certain");
    const apart = { ...alike, noise: { ...noise, difference: -0.5 } };
    expect(renderTerminal(calibrationDocument({ ...calibrated, trials: 1, found: apart }), display)).toContain(
      "Yet the results of those calls differed, so the pass rates of the arms differ.",
    );
  });

  it("renders a stopped calibration, and one without scores", () => {
    const stopped = { ...calibrated, found: null, stopped: true };
    expect(renderTerminal(calibrationDocument(stopped), display)).toMatchInlineSnapshot(`
      "STOPPED before there were enough trials to calibrate; those made are on the record
        Next: finish it with \`evals calibrate --resume run-1\`.

      files · anthropic:claude

      Trials: 80 (1 broken, excluded from rates) · cost $1.28
      Record: /home/me/reports/run-1
      "
    `);
    expect(renderTerminal(calibrationDocument({ ...stopped, stopped: false }), display)).toMatch(
      /^NOT SCORED: nothing was scored in both arms\n/,
    );
  });

  it("fits 80 columns in ASCII", () => {
    const text = renderTerminal(calibrationDocument({ ...calibrated, suite: "é".repeat(100) }), {
      ...display,
      width: 80,
      unicode: false,
    });
    expect(text).toMatch(/^[\n -~]*$/);
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  });
});
