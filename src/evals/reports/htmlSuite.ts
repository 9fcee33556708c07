import type { CaseSummary, RunManifest, SuiteSummary } from "../types/run.ts";
import { checkView } from "./check.ts";
import { atMost, count, integer, percent, range, ranked } from "./format.ts";
import { checkPart, figureList, tableOf } from "./htmlCheck.ts";
import { type Markup, markup, multiline, only } from "./markup.ts";
import { liftView, type SkillView } from "./skillView.ts";
import {
  caseState,
  coverageText,
  figures,
  lossOf,
  lostPhrase,
  onlyBroke,
  redFirst,
  stateMark,
  unansweredCases,
  ungraded,
  wrongPairs,
} from "./view.ts";

const most = { pairs: 40, reasons: 6, openTools: 12, inputLength: 240 } as const;

/** One suite on one model; `id` is its anchor. */
export function suiteSection(suite: SuiteSummary, id: string, _manifest: RunManifest): Markup {
  const check = checkView(suite);
  const lift = liftView(suite);
  const blocks = [brokenPart(suite), markup`<div class="pair">${[confusionPart(suite), coveragePart(suite)]}</div>`];
  return markup`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${suite.name} <span class="on">on</span> <code>${suite.model}</code></h2>
${only(suite.note !== undefined, () => markup`<p class="note">${suite.note ?? ""}</p>`)}
${check ? checkPart(check) : markup``}${figureList([["cases passed", casesPassed(suite)], ["trials", trialCount(suite)], ...figures(suite)])}
${caseTable(suite)}
${blocks}${
  lift
    ? markup`<h3>${lift.title}</h3>
${skillPart(lift)}`
    : markup``
}
</section>
`;
}

/** What is said of skills, without its heading. */
export function skillPart({ sentences, tables }: SkillView): Markup {
  return markup`${sentences.map(
    (sentence) => markup`<p>${sentence}</p>
`,
  )}${tables.map(tableOf)}`;
}

/** `4 of 6` */
export function casesPassed({ cases }: SuiteSummary): string {
  return `${integer(cases.filter((one) => one.ok).length)} of ${integer(cases.length)}`;
}

function trialCount({ totals }: SuiteSummary): string {
  const lost = lostPhrase(totals);
  return `${integer(totals.trials)}${lost === "" ? "" : `, ${lost}`}`;
}

function caseTable({ cases }: SuiteSummary): Markup {
  if (cases.length === 0) return markup`<p class="part bad"><b>No case was run.</b></p>`;
  return markup`<table class="cases">
<thead><tr><th scope="col" class="gate">Gate</th><th scope="col" class="case">Case</th><th scope="col" class="want">Expected</th><th scope="col" class="rate">Passed (95% interval)</th><th scope="col" class="what">What happened</th></tr></thead>
<tbody>
${redFirst(cases).map(caseRow)}</tbody>
</table>`;
}

function caseRow(one: CaseSummary): Markup {
  const state = caseState(one);
  const colour = one.ok ? "good" : "bad";
  const reasons = onlyBroke(one) ? [] : one.reasons;
  return markup`<tr${only(!one.ok, () => markup` class="red"`)}>
<td class="gate state"><b class="${colour}"><span class="mark" aria-hidden="true">${stateMark[state]}</span>${state}</b> <span class="need">needs ${percent(one.passRate)}</span></td>
<th scope="row" class="case"><code>${one.id}</code>${inputText(one.input)}</th>
<td class="want"><code>${one.expected}</code></td>
<td class="rate ${colour}">${rate(one)}</td>
<td class="what">${outcomeList(one)}${reasonList({ ...one, reasons })}</td>
</tr>
`;
}

/** A long input is folded: a table of cases has to stay one. */
function inputText(input: string): Markup {
  if (input.length <= most.inputLength) return markup`<p class="input">${input}</p>`;
  return markup`<details class="input"><summary>${input.slice(0, most.inputLength)}…</summary><p class="lines">${multiline(input)}</p></details>`;
}

function outcomeList({ outcomes }: CaseSummary): Markup {
  const items = ranked(outcomes).map(([name, n]) => markup`<li>${name} <b>${integer(n)}</b></li>`);
  return only(items.length > 0, () => markup`<ul class="tally">${items}</ul>`);
}

function rate(one: CaseSummary): Markup {
  const beside = ungraded(one);
  const rest = only(beside !== "", () => markup`<div class="range">${beside}</div>`);
  if (one.rate === null || one.interval === null) return markup`<span class="of">no rate</span>${rest}`;
  return markup`<span class="of">${integer(one.passed)}/${integer(one.trials)}</span>${percent(one.rate)} <span class="range">${range(one.interval)}</span>${bar(one.rate, one.interval, one.passRate)}${rest}`;
}

/** A scale from 0 to 1: the interval as a band, the rate as a point, the gate as a tick. The figures stand beside it. */
function bar(value: number, [low, high]: readonly [number, number], gate: number): Markup {
  const at = (share: number) => (share * 160).toFixed(1);
  return markup`<svg class="bar" viewBox="0 0 160 14" preserveAspectRatio="xMinYMid" aria-hidden="true"><rect class="track" x="0" y="6" width="160" height="2" rx="1"/><rect class="band" x="${at(low)}" y="3.5" width="${((high - low) * 160).toFixed(1)}" height="7" rx="3.5"/><rect class="tick" x="${(gate * 160 - 0.75).toFixed(1)}" y="0" width="1.5" height="14"/><circle class="point" cx="${at(value)}" cy="7" r="4"/></svg>`;
}

function reasonList({ reasons }: Pick<CaseSummary, "reasons">): Markup {
  const { shown, left } = atMost(reasons, most.reasons);
  if (shown.length === 0) return markup``;
  const more = only(left > 0, () => markup`<li>… and ${count(left, "more reason")}</li>`);
  return markup`<ul class="why">${shown.map(({ text, n }) => markup`<li><span class="times">${integer(n)}×</span>${text}</li>`)}${more}</ul>`;
}

function brokenPart(suite: SuiteSummary): Markup {
  const cases = unansweredCases(suite);
  if (cases.length === 0) return markup``;
  const rows = cases.map(
    (one) =>
      markup`<tr><th scope="row"><code>${one.id}</code></th><td>${lossOf(one)}</td><td>${whyUnanswered(one)}</td></tr>\n`,
  );
  return markup`<div class="part"><h3 class="warn">Not answered, so in no rate: ${lostPhrase(suite.totals)} of ${count(suite.totals.trials, "trial")}</h3>
<table><thead><tr><th scope="col">Case</th><th scope="col">Trials</th><th scope="col">Why</th></tr></thead><tbody>
${rows}</tbody></table></div>`;
}

function whyUnanswered(one: CaseSummary): Markup {
  if (one.broken === 0) return markup`not on the record`;
  return onlyBroke(one) ? reasonList(one) : markup`see the case above`;
}

function confusionPart(suite: SuiteSummary): Markup {
  const { shown, left } = atMost(wrongPairs(suite), most.pairs);
  if (shown.length === 0) return markup``;
  const rows = shown.map(
    ({ expected, picked, n }) =>
      markup`<tr><td class="n">${integer(n)}×</td><td><code>${expected}</code></td><td><code>${picked}</code></td></tr>\n`,
  );
  return markup`<div class="part"><h3>Confused pairs</h3>
<table><thead><tr><th scope="col" class="n">Trials</th><th scope="col">Expected</th><th scope="col">Picked</th></tr></thead><tbody>
${rows}</tbody></table>${only(left > 0, () => markup`<p class="soft">… and ${count(left, "more pair")}</p>`)}</div>`;
}

function coveragePart(suite: SuiteSummary): Markup {
  const { tools, expected, missing } = suite.coverage;
  const meter = only(
    tools > 0,
    () =>
      markup`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6"/><rect class="part" width="${((expected / tools) * 100).toFixed(1)}" height="6"/></svg>`,
  );
  const names = markup`<ul class="names">${missing.map((tool) => markup`<li><code>${tool}</code></li>`)}</ul>`;
  const label = `No case expects ${count(missing.length, "tool")}`;
  const list =
    missing.length > most.openTools
      ? markup`<details><summary>${label}</summary>${names}</details>`
      : only(missing.length > 0, () => markup`<p class="soft">${label}:</p>${names}`);
  return markup`<div class="part"><h3>Coverage: ${coverageText(suite)}</h3>
${meter}
${list}</div>`;
}
