import type { RunManifest, RunSummary } from "../types/run.ts";

/** What a terminal can show. `width` in columns; without `unicode` the text is ASCII only. */
export type Display = { colour: boolean; width: number; unicode: boolean };

/** What every report is made from. `display` is for text on a screen, `pretty` (default true) for JSON. */
export type ReportInput = { summary: RunSummary; manifest: RunManifest; display?: Display; pretty?: boolean };

/**
 * One form of a run's result. `file` is the name it is written under in the run's folder; a report without one goes to
 * stdout. `render` is pure, does not throw, and its text ends with a line break.
 */
export type Report = { readonly name: string; readonly file?: string; render(input: ReportInput): string };

/** Where nothing is known of the screen: a pipe, a log. */
export const pipe: Display = { colour: false, width: 100, unicode: true };
