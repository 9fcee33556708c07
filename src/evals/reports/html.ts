import { createHash } from "node:crypto";
import type { RunSummary } from "../types/run.ts";
import { figureList } from "./htmlCheck.ts";
import { manifestSection } from "./htmlManifest.ts";
import { style } from "./htmlStyle.ts";
import { casesPassed, skillPart, suiteSection } from "./htmlSuite.ts";
import { Markup, markup, only } from "./markup.ts";
import type { Report } from "./report.ts";
import { judgeText, type SkillView, triggerViews } from "./skillView.ts";
import { figures, headline, modelLabel, outcome, statusTone, trialsPhrase } from "./view.ts";

/** Only this very style sheet is allowed, and nothing else: no script, no request, no form. */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'`;

/** The report to read at leisure: one file that asks the network for nothing and runs no script. */
export const html: Report = {
  name: "html",
  file: "report.html",
  render: ({ summary, manifest }) =>
    markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${headline(summary)}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<div class="page">
${pageHeader(summary)}
<main>
${summary.suites.map((suite, at) => suiteSection(suite, `suite-${at + 1}`, manifest))}${triggerViews(summary).map((view, at) => skillSection(view, `skills-${at + 1}`))}${manifestSection(manifest, summary.dir)}</main>
<footer>Intervals are 95% Wilson score intervals over graded trials. Broken and missing trials are in no rate. Cost is at list price.</footer>
</div>
</body>
</html>
`.source,
};

function pageHeader(summary: RunSummary): Markup {
  const { status, main, detail, beside } = outcome(summary);
  const models = [...new Set(summary.suites.map(modelLabel))].join(", ");
  const lede = [detail, ...beside, trialsPhrase(summary)].filter((part) => part !== "").join(" · ");
  const several = summary.suites.length > 1;
  const judge = judgeText(summary);
  return markup`<header>
<p class="eyebrow">tool-evals run ${summary.run}</p>
<h1><span class="${statusTone[status]}">${status.charAt(0) + status.slice(1).toLowerCase()}</span> ${main}</h1>
<p class="lede">${lede}${models === "" ? "" : ` on ${models}`}</p>
${only(several, () => figureList(figures({ totals: summary.totals })))}
${only(several, () => suiteIndex(summary))}${only(judge !== undefined, () => markup`\n<p class="note">${judge ?? ""}</p>`)}
</header>`;
}

function skillSection(view: SkillView, id: string): Markup {
  return markup`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${view.title}</h2>
${skillPart(view)}</section>
`;
}

function suiteIndex({ suites }: RunSummary): Markup {
  const items = suites.map(
    (suite, at) =>
      markup`<li><span class="mark ${suite.ok ? "good" : "bad"}" aria-hidden="true">${suite.ok ? "✓" : "✗"}</span><a href="#suite-${at + 1}">${suite.name} on <code>${suite.model}</code></a> <span class="soft">${casesPassed(suite)} cases passed${only(suite.verdict !== undefined, () => markup`, ${suite.verdict?.kind.replace("-", " ") ?? ""}`)}</span></li>`,
  );
  return markup`<nav aria-label="Suites"><ul>${items}</ul></nav>`;
}
