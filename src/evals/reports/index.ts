import { github } from "./github.ts";
import { html } from "./html.ts";
import { json } from "./json.ts";
import { junit } from "./junit.ts";
import { markdown } from "./markdown.ts";
import type { Report } from "./report.ts";
import { terminal } from "./terminal.ts";

/** Every form a run's result can take, by the name that `--as` takes. A new one is a file and a line here. */
export const reports = { terminal, json, junit, markdown, html, github } as const satisfies Record<string, Report>;
export type ReportName = keyof typeof reports;
