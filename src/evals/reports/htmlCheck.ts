import type { CheckView, FigureTable } from "./check.ts";
import { atMost, count, points } from "./format.ts";
import { Markup, markup, only } from "./markup.ts";
import type { Tone } from "./view.ts";
import { type Wording, wordingMarkdown } from "./wording.ts";

const most = { rows: 40, wordings: 40 } as const;

/** The verdict of a regression check and what it rests on. */
export function checkPart({ headline, tone, net, sentences, ...check }: CheckView): Markup {
  const { tables, involved, others, facts, notes } = check;
  const [, loud = "", rest = headline] = /^([A-Z][A-Z ]*[A-Z])\b(.*)$/s.exec(headline) ?? [];
  const word = loud.charAt(0) + loud.slice(1).toLowerCase();
  const parts = [
    ...tables.map(tableOf),
    only(
      involved.length > 0,
      () => markup`<div class="part"><h4>What changed in the list</h4>${wordingList(involved)}</div>`,
    ),
    only(
      others.length > 0,
      () =>
        markup`<details><summary>${count(others.length, "change")} of tools not involved</summary>${wordingList(others)}</details>`,
    ),
    only(facts.length > 0, () => figureList(facts)),
    only(notes.length > 0, () => markup`<ul class="notes">${notes.map((note) => markup`<li>${note}</li>`)}</ul>`),
  ];
  return markup`<div class="check">
<div class="answer"><div><h3><span class="${tone}">${word}</span>${rest}</h3>
${sentences.map((sentence) => markup`<p>${sentence}</p>`)}</div>${net ? drawing(net, tone) : markup``}</div>
${parts}
</div>
`;
}

export function figureList(facts: readonly (readonly [string, string])[]): Markup {
  return markup`<dl class="figures">${facts.map(([label, value]) => markup`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A table of figures, its first columns names. */
export function tableOf({ title, heads, names, rows }: FigureTable): Markup {
  const { shown, left } = atMost(rows, most.rows);
  const cell = (tag: string, text: string | Markup, at: number) =>
    markup`<${new Markup(tag)}${new Markup(at < names ? "" : ` class="n"`)}>${text}</${new Markup(tag.split(" ")[0] ?? "")}>`;
  const row = (cells: readonly string[]) =>
    markup`<tr>${cells.map((text, at) => cell("td", at < names ? markup`<code>${text}</code>` : text, at))}</tr>\n`;
  return markup`<div class="part"><h4>${title}</h4>
<table><thead><tr>${heads.map((head, at) => cell('th scope="col"', head, at))}</tr></thead><tbody>
${shown.map(row)}</tbody></table>${only(left > 0, () => markup`<p class="soft">… and ${count(left, "more row")}</p>`)}</div>
`;
}

/** A change in Markdown is HTML in which every sign of its text is an entity. */
function wordingList(wordings: readonly Wording[]): Markup {
  const { shown, left } = atMost(wordings, most.wordings);
  const items = shown.map((wording) => markup`<li>${new Markup(wordingMarkdown(wording).replace(/^- /, ""))}</li>\n`);
  return markup`<ul class="wording">${items}${only(left > 0, () => markup`<li>… and ${count(left, "more change")}</li>`)}</ul>`;
}

/** The net change on a scale around zero: the interval as a band, the margin as a line, what lies beyond it shaded. */
function drawing({ change, interval: [low, high], margin }: NonNullable<CheckView["net"]>, tone: Tone): Markup {
  const reach = 1.2 * Math.max(margin, Math.abs(low), Math.abs(high));
  const at = (rate: number) => 160 + (rate / reach) * 160;
  const x = (rate: number) => at(rate).toFixed(1);
  const line = (name: string, rate: number) =>
    markup`<rect class="${name}" x="${(at(rate) - 0.75).toFixed(1)}" y="18" width="1.5" height="24"/>`;
  // Close to zero there is no room for a label around the margin's line.
  const anchor = margin / reach < 0.3 ? "end" : "middle";
  return markup`<svg class="net ${tone}" viewBox="0 0 320 60" aria-hidden="true"><rect class="beyond" x="0" y="18" width="${x(-margin)}" height="24"/><rect class="track" x="0" y="29" width="320" height="2" rx="1"/>${line("zero", 0)}${line("limit", -margin)}<rect class="band" x="${x(low)}" y="25" width="${(at(high) - at(low)).toFixed(1)}" height="10" rx="5"/><circle class="point" cx="${x(change)}" cy="30" r="5"/><text x="0" y="10">worse</text><text x="320" y="10" text-anchor="end">better</text><text x="${x(-margin)}" y="56" text-anchor="${anchor}">margin ${points(-margin)}</text><text x="160" y="56" text-anchor="middle">0</text></svg>`;
}
