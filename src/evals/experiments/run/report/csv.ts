import { sumOf } from "../../../base/collections.ts";
import { plain } from "../../../base/text/display.ts";
import type { ManifestCase, RunManifest } from "../../../base/types/run.ts";
import { readQuery } from "../../../base/types/suite.ts";
import type { Trial } from "../../../base/types/trial.ts";
import { describeFailure, promptTokens } from "../../results/tally.ts";

type TrialColumn = readonly [head: string, value: (trial: Trial, one: ManifestCase | undefined) => string | number];

const columns: readonly TrialColumn[] = [
  ["suite", ({ cell }) => cell.suite],
  ["case", ({ cell }) => cell.case],
  ["model", ({ cell }) => cell.model],
  ["arm", ({ cell }) => cell.arm],
  ["trial", ({ cell }) => cell.trial],
  ["attempt", ({ cell }) => cell.attempt ?? 1],
  ["query", ({ cell }, one) => (one ? readQuery(one, cell.trial) : "")],
  ["outcome", ({ outcome }) => outcome.kind],
  ["stage", ({ outcome }) => (outcome.kind === "broken" ? outcome.stage : "")],
  ["grade", ({ verdict }) => verdict?.grade ?? ""],
  ["selection", ({ verdict }) => verdict?.selection ?? ""],
  ["expected", ({ verdict }, one) => verdict?.expected ?? one?.expected ?? ""],
  ["picked", ({ verdict }) => verdict?.picked ?? ""],
  ["reason", describeReason],
  ["copy", ({ copy }) => (copy ? "yes" : "")],
  ["replies", ({ turns }) => turns.length],
  ["calls", ({ turns }) => sumOf(turns, ({ calls }) => calls.length)],
  ["input tokens", ({ turns }) => sumOf(turns, ({ usage }) => promptTokens(usage))],
  ["output tokens", ({ turns }) => sumOf(turns, ({ usage }) => usage.outputTokens)],
  ["cost in USD", ({ costUsd }) => costUsd],
  ["ms", ({ ms }) => ms],
  ["started at", ({ startedAt }) => startedAt],
];

/** The header line of the trials as CSV (RFC 4180). */
export const csvHead = toLine(columns.map(([head]) => head));

/** Creates a function that writes a trial of the run as one line of CSV, safe against spreadsheet formulas. */
export function csvWriter({ suites }: RunManifest): (trial: Trial) => string {
  const key = (suite: string, id: string) => JSON.stringify([suite, id]);
  const cases = new Map(suites.flatMap(({ name, cases: all }) => all.map((one) => [key(name, one.id), one] as const)));
  return (trial) => {
    const one = cases.get(key(trial.cell.suite, trial.cell.case));
    return toLine(columns.map(([, value]) => value(trial, one)));
  };
}

function describeReason({ outcome, verdict }: Trial): string {
  if (outcome.kind === "broken") return outcome.message;
  const open = verdict?.checks.filter(({ met }) => met !== "yes") ?? [];
  return open.map(describeFailure).join("; ");
}

function toLine(values: readonly (string | number)[]): string {
  return `${values.map(toCell).join(",")}\r\n`;
}

/** Quotes text. Spreadsheets evaluate text that starts with one of these signs unless an apostrophe precedes it. */
function toCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = plain(value);
  return `"${(/^\s*[=+\-@]/.test(safe) ? `'${safe}` : safe).replaceAll('"', '""')}"`;
}
