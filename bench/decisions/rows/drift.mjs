// The drift monitor, night by night on an unchanged list.
import { DriftMonitor, drawBeta, drawNormal, globalTest } from "../product.mjs";
import { suites } from "../suites.mjs";

const logistic = (x) => 1 / (1 + Math.exp(-x));
const movedBy = (p, by) => (p <= 0 || p >= 1 || by === 0 ? p : logistic(Math.log(p / (1 - p)) + by));
const clamp = (rate) => Math.min(1, Math.max(0, rate));
const nearlySure = (rates) => rates.findIndex((rate) => rate >= 0.95 && rate < 1);

/** What happens to the model on a night. */
const changes = {
  break: (rates) => rates.with(rates.indexOf(Math.max(...rates)), 0),
  "one .95 -> .3": (rates) => rates.with(nearlySure(rates), 0.3),
  "one .95 -> .6": (rates) => rates.with(nearlySure(rates), 0.6),
  "all -10": (rates) => rates.map((rate) => clamp(rate - 0.1)),
  "all -40": (rates) => rates.map((rate) => clamp(rate - 0.4)),
  repair: (rates) => rates.with(rates.indexOf(Math.min(...rates)), 1),
  "-4 logits": (rates) => rates.map((rate) => movedBy(rate, -4)),
};

const none = {
  nights: 90,
  trials: 3,
  bank: 20,
  bankNights: 1,
  wobble: 0,
  ownWobble: 0,
  within: 0,
  bankWithin: 0,
  options: {},
};

/**
 * Plays one history of nights. `change` from night `from` to night `to`; `wobble`: of all cases together, `ownWobble`: of
 * each case, in logits per night; `within`, `bankWithin`: correlation of one night's trials. `stop(monitor, night)` ends it.
 */
function playNights(random, setting, stop) {
  const { suite, change, from = 1, to = Number.POSITIVE_INFINITY, missed = 0, lists } = { ...none, ...setting };
  const { nights, trials, bank, bankNights, wobble, ownWobble, within, bankWithin, options } = {
    ...none,
    ...setting,
  };
  const rates = suites[suite];
  const drawNight = (base, correlation) => {
    const common = wobble > 0 ? wobble * drawNormal(random) : 0;
    return base.map((rate) => {
      const p = movedBy(rate, common + (ownWobble > 0 ? ownWobble * drawNormal(random) : 0));
      if (correlation === 0 || p <= 0 || p >= 1) return p;
      if (correlation === 1) return Number(random.next() < p);
      const weight = 1 / correlation - 1;
      return drawBeta(p * weight, (1 - p) * weight, random);
    });
  };
  const draw = (rate, k) => {
    let passed = 0;
    for (let t = 0; t < k; t++) if (random.next() < rate) passed++;
    return { passed, trials: k };
  };
  const bankOf = new Map(rates.map((_, i) => [String(i), []]));
  for (let night = 0; night < bankNights; night++) {
    const tonight = drawNight(rates, bankWithin);
    for (const [i, rate] of tonight.entries()) bankOf.get(String(i)).push(draw(rate, bank / bankNights));
  }
  const monitor = new DriftMonitor(bankOf, { trials, ...options });
  let calls = 0;
  for (let night = 1; night <= nights; night++) {
    if (random.next() < missed) continue;
    const isChanged = change !== undefined && night >= from && night <= to;
    const tonight = drawNight(isChanged ? changes[change](rates) : rates, within);
    const isAsked = (i) => lists === undefined || lists(i, night);
    const asked = tonight.flatMap((rate, i) => (isAsked(i) ? [[String(i), draw(rate, trials)]] : []));
    calls += asked.length * trials;
    monitor.startNight(String(night), new Map(asked));
    for (let more = monitor.followUps(); more.length > 0; more = monitor.followUps())
      for (const id of more) {
        monitor.addFollowUp(id, draw(tonight[Number(id)], 1));
        calls++;
      }
    monitor.endNight();
    if (stop(monitor, night)) return { night, calls, monitor };
  }
  return { night: Number.POSITIVE_INFINITY, calls, monitor };
}

const isDrifted = (monitor) => monitor.openAlarm() !== undefined;

function nullRow(setting, { quick = false, figure } = {}) {
  const { suite, ...rest } = setting;
  const n = suites[suite].length;
  const { trials, nights } = { ...none, ...setting };
  return {
    group: "drift: false alarms over 90 nights",
    name: `${suite}: ${describe(rest)}`,
    quick,
    cost: n,
    fewer: n >= 200 ? 10 : n >= 50 ? 4 : 1,
    measures: { "false alarms": "share", "calls a night": "mean" },
    targets: { "false alarms": figure === undefined ? { atMost: 0.05 } : { near: figure, repetitions: 300 } },
    once(random) {
      const { night, calls } = playNights(random, setting, isDrifted);
      return {
        "false alarms": Number.isFinite(night),
        ...(!Number.isFinite(night) && { "calls a night": calls / n / nights / trials }),
      };
    },
  };
}

function describe(setting) {
  const parts = Object.entries(setting).flatMap(([key, value]) =>
    typeof value === "function"
      ? []
      : [`${key} ${typeof value === "object" ? Object.entries(value).flat().join(" ") : value}`],
  );
  return parts.join(", ") || "as specified";
}

/** Nights until a change is reported, 1 for the same night. `figure`: [reported, median] as simulated. */
function reportedRow(setting, { quick = false, reported, median } = {}) {
  const { suite, change, from, ...rest } = setting;
  return {
    group: "drift: nights until a change is reported",
    name: `${suite}: ${change} from night ${from}, ${describe(rest)}`,
    quick,
    cost: suites[suite].length,
    fewer: 2,
    measures: { reported: "share", nights: "median", "named right": "share", "named wrong": "share" },
    targets: {
      ...(reported !== undefined && { reported: { near: reported, repetitions: 600 } }),
      ...(median !== undefined && { nights: { atMost: median } }),
      "named wrong": { atMost: 0.015 },
    },
    once(random) {
      const { night, monitor } = playNights(random, setting, (one, n) => n >= from && isDrifted(one));
      const isReported = Number.isFinite(night);
      const changed = suites[suite].flatMap((rate, i) =>
        changes[change](suites[suite])[i] === rate ? [] : [String(i)],
      );
      const named = isReported
        ? monitor
            .verdict()
            .alarms.at(-1)
            .cases.map((one) => one.case)
        : [];
      return {
        reported: isReported,
        nights: isReported ? night - from + 1 : 91,
        ...(isReported && changed.length === 1 && { "named right": named.includes(changed[0]) }),
        ...(isReported && changed.length === 1 && { "named wrong": named.some((id) => !changed.includes(id)) }),
      };
    },
  };
}

/** After an alarm: a lasting change is called so, a night's blip is taken back. */
function fateRow(suite, change, isLasting, target) {
  return {
    group: "drift: lasting or a blip",
    name: `${suite}: ${change}, ${isLasting ? "lasting" : "one night"}`,
    cost: suites[suite].length,
    fewer: 2,
    measures: { alarms: "share", right: "share", "nights after": "median" },
    targets: { right: { atLeast: target } },
    once(random) {
      const setting = { suite, change, from: 30, nights: 60, ...(!isLasting && { to: 30 }) };
      let alarm;
      playNights(random, setting, (monitor, night) => {
        alarm ??= monitor.openAlarm();
        // Only an alarm on the night itself can be a blip of that night.
        if (alarm === undefined) return night >= 30 && !isLasting;
        return Number(alarm.night) < 30 || alarm.fate !== "open";
      });
      if (!alarm || Number(alarm.night) < 30) return { alarms: false };
      const right = isLasting ? "lasting" : "blip";
      return { alarms: true, right: alarm.fate === right, "nights after": alarm.nightsAfter };
    },
  };
}

/** How often NO DRIFT is reported on a night: mostly when nothing changed, and rarely at a true loss of about the margin. */
function clearRow(suite, change, night, target, setting = {}) {
  return {
    group: "drift: NO DRIFT",
    name: `${suite}: ${change ?? "nothing changed"}, night ${night}, ${describe(setting)}`,
    cost: suites[suite].length / 3,
    fewer: 4,
    measures: { "no drift": "share" },
    targets: target ? { "no drift": target } : {},
    once(random) {
      const { monitor } = playNights(random, { suite, change, nights: night, ...setting }, () => false);
      return { "no drift": monitor.verdict().kind === "no-drift" };
    },
  };
}

/** Rules of others: the night against the bank by an exact test of a drop, at 5 % every night or at .05/90. */
function naiveRow(suite, wobble, level, name) {
  const rates = suites[suite];
  return {
    group: "drift: others' rules, false alarms over 90 nights",
    name: `${suite}: ${name}, wobble ${wobble}`,
    fewer: 4,
    measures: { "false alarms": "share" },
    targets: {},
    once(random) {
      const draw = (rate, trials) => ({
        passed: Array.from({ length: trials }, () => Number(random.next() < rate)).reduce((a, b) => a + b, 0),
        trials,
      });
      const bank = rates.map((rate) => draw(rate, 20));
      for (let night = 1; night <= 90; night++) {
        const by = wobble > 0 ? wobble * drawNormal(random) : 0;
        const tonight = rates.map((rate) => draw(movedBy(rate, by), 3));
        if (globalTest(bank.map((base, i) => ({ base, head: tonight[i] }))).p <= level) return { "false alarms": true };
      }
      return { "false alarms": false };
    },
  };
}

const three = ["M_MIX10", "M_GOOD8", "M_FLAKY8"];
const nullSettings = [
  ...[...three, "MIX5"].flatMap((suite) =>
    [0, 0.2, 0.3].flatMap((wobble) => [1, 3, 5].map((trials) => ({ suite, wobble, trials }))),
  ),
  ...three.flatMap((suite) => [0, 0.3].map((wobble) => ({ suite, wobble, bank: 5 }))),
  ...[0, 0.3].flatMap((wobble) => ["GOOD50", "mixed200"].map((suite) => ({ suite, wobble }))),
  ...three.map((suite) => ({ suite, bank: 40, bankNights: 10, wobble: 0.2 })),
  // Two cases added, one removed, a fifth of the nights missed.
  ...["M_MIX10", "M_FLAKY8"].flatMap((suite) =>
    [0, 0.2].map((wobble) => ({
      suite,
      wobble,
      missed: 0.2,
      lists: (i, night) => (i === 0 ? night < 40 : i === 1 ? night >= 20 : i === 2 ? night >= 45 : true),
    })),
  ),
  // Correlated trials, follow-ups and bank included, with the correlation that was measured.
  ...[0.1, 0.3].flatMap((within) =>
    three.map((suite) => ({ suite, within, bankWithin: within, options: { correlation: within } })),
  ),
  // Unmeasured correlation: follow-ups share the night's luck.
  ...three.map((suite) => ({ suite, within: 0.1 })),
  ...three.map((suite) => ({ suite, ownWobble: 0.5 })),
];
/** What the default does not cover: a bank that is correlated too, and more correlation than was measured. */
const beyond = [
  ...three.map((suite) => ({ suite, within: 0.1, bankWithin: 0.1 })),
  ...three.map((suite) => ({ suite, within: 0.1, bankWithin: 0.1, bank: 40, bankNights: 10 })),
  ...["M_MIX10", "M_FLAKY8"].map((suite) => ({ suite, within: 0.3, options: { correlation: 0.1 } })),
];

export const driftRows = [
  ...nullSettings.map((setting) =>
    nullRow(setting, { quick: setting.suite === "M_FLAKY8" && setting.wobble === 0.3 && setting.trials === 3 }),
  ),
  ...beyond.map((setting) => ({ ...nullRow(setting), group: "drift: limits", targets: {} })),
  ...three.flatMap((suite) => [
    reportedRow({ suite, change: "break", from: 30 }, { reported: 1, median: 1, quick: suite === "M_MIX10" }),
    reportedRow({ suite, change: "one .95 -> .3", from: 30 }, { reported: 1, median: suite === "M_GOOD8" ? 2 : 3 }),
    reportedRow({ suite, change: "one .95 -> .6", from: 30 }, { reported: 1, median: suite === "M_GOOD8" ? 6 : 12 }),
    reportedRow({ suite, change: "all -10", from: 30 }),
    reportedRow({ suite, change: "break", from: 1 }, { reported: 1, median: 1 }),
    reportedRow({ suite, change: "one .95 -> .6", from: 1 }),
    reportedRow({ suite, change: "one .95 -> .6", from: 1, bank: 40, bankNights: 5 }),
    reportedRow({ suite, change: "all -10", from: 1, bank: 40, bankNights: 10 }),
    reportedRow({ suite, change: "break", from: 30, trials: 1 }, { reported: 1, median: suite === "M_FLAKY8" ? 2 : 1 }),
  ]),
  reportedRow({ suite: "M_MIX10", change: "repair", from: 30 }, { reported: 1, median: 1 }),
  reportedRow({ suite: "M_MIX10", change: "-4 logits", from: 30 }, { reported: 1, median: 1 }),
  ...["M_MIX10", "M_GOOD8"].flatMap((suite) => [
    fateRow(suite, "break", true, 0.99),
    fateRow(suite, "break", false, 0.99),
    fateRow(suite, "one .95 -> .3", true, 0.95),
    fateRow(suite, "one .95 -> .3", false, 0.95),
    fateRow(suite, "all -40", true, 0.92),
    fateRow(suite, "all -40", false, 0.95),
  ]),
  ...["M_MIX10", "M_GOOD8", "GOOD50"].flatMap((suite) => [
    ...[3, 14, 30].map((night) => clearRow(suite, undefined, night, night === 14 ? { atLeast: 0.85 } : undefined)),
    ...[7, 30].map((night) => clearRow(suite, "all -10", night, { atMost: 0.09 })),
  ]),
  // Nights that joined the baseline must not hide a drop that came before them.
  ...three.flatMap((suite) =>
    [0, 0.2].flatMap((wobble) =>
      [60, 112].flatMap((night) => [
        clearRow(suite, undefined, night, undefined, { wobble }),
        clearRow(suite, "all -10", night, { atMost: 0.05 }, { wobble }),
      ]),
    ),
  ),
  ...three.flatMap((suite) =>
    [0, 0.3].flatMap((wobble) => [
      naiveRow(suite, wobble, 0.05, "5 % every night"),
      naiveRow(suite, wobble, 0.05 / 90, ".05/90 every night"),
    ]),
  ),
];
