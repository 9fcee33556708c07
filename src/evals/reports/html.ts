import { createHash } from "node:crypto";
import {
  type Bar,
  type Block,
  type Blocks,
  type Column,
  hasContent,
  type Inline,
  type Item,
  isItem,
  limited,
  type Mark,
  type Span,
  spans,
  type TableCell,
  type TableRow,
} from "./document.ts";
import { Markup, markup, multiline, only, plain } from "./escape.ts";
import { capital, points } from "./format.ts";
import { changedText } from "./markdown.ts";

/** The style of HTML reports. Light or dark as the reader's system is; all text colours reach a contrast of 4.5. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #fcfbf9; --sheet: #ffffff; --ink: #1f1e1b; --soft: #65615a; --line: #e5e1da; --wash: #f4f1ec;
  --good: #1c7048; --bad: #b02a1c; --warn: #8a5a00; --bad-wash: #fbf0ee; --good-wash: #edf6f0; --track: #dcd7ce;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614; --sheet: #1d1c19; --ink: #ebe8e2; --soft: #a39e94; --line: #34312c; --wash: #262420;
    --good: #6cc398; --bad: #f0897b; --warn: #dcae55; --bad-wash: #2b1f1c; --good-wash: #1a2820; --track: #45413a;
  }
}
* { box-sizing: border-box; margin: 0; }
body {
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--paper); font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
main { max-width: 74rem; margin: 0 auto; padding: 3.5rem 2rem 4rem; }
code, pre { font: .88em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { white-space: pre-wrap; padding: .6rem .8rem; background: var(--wash); border-radius: 4px; }
h1 { font-size: 2rem; line-height: 1.2; font-weight: 600; }
h2 { font-size: 1.4rem; font-weight: 600; margin-top: 3rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; font-weight: 600; margin-top: 1.6rem; }
p, dl, details, svg.scale { margin-top: .6rem; }
a { color: inherit; text-decoration-color: var(--track); text-underline-offset: .2em; }
:focus-visible { outline: 2px solid currentColor; outline-offset: 3px; border-radius: 2px; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .soft { color: var(--soft); }
ul { padding-left: 1.2rem; margin-top: .3rem; }
.diff { list-style: none; padding: 0; } .diff li { margin-top: .5rem; } .diff code:first-child { font-weight: 600; }
del { color: var(--bad); background: var(--bad-wash); text-decoration-thickness: 1px; }
ins { color: var(--good); background: var(--good-wash); text-decoration: none; } del + ins { margin-left: .35em; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; }
dt { color: var(--soft); font-size: .84rem; } dd { font-weight: 500; }
table { width: 100%; border-collapse: collapse; margin-top: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1.2rem .5rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 400; font-size: .84rem; color: var(--soft); vertical-align: bottom; }
.n { text-align: right; white-space: nowrap; }
.bad-row { background: var(--bad-wash); }
svg { display: block; overflow: visible; }
.bar { width: 100%; max-width: 10.5rem; height: 14px; margin-top: .3rem; }
.scale { width: 100%; max-width: 20rem; height: auto; } .scale text { fill: var(--soft); font-size: 11px; }
.track { fill: var(--track); } .tick, .zero { fill: var(--soft); } .limit { fill: var(--bad); } .beyond { fill: var(--bad-wash); }
.band { fill: currentColor; opacity: .32; } .point { fill: currentColor; }
summary { cursor: pointer; padding: .3rem 0; }
@media (max-width: 46rem) { main { padding: 1.75rem 1rem 3rem; } th, td { padding-right: .6rem; } }
@media print { main { padding: 0; max-width: none; } tr { break-inside: avoid; } }
`;

/** Only this very style sheet is allowed, and nothing else: no script, no request, no form. */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'`;

/** More than anyone reads of a list; the record has it all. */
const most = 500;
/** Longer verbatim texts in a cell are folded. */
const foldedFrom = 240;

/** A document to read at leisure: one file that asks the network for nothing and runs no script. */
export function renderHtml(blocks: Blocks): string {
  const shown = blocks.filter(hasContent);
  const title = shown.find(({ kind }) => kind === "heading");
  const ids = new Map(shown.filter(isSection).map((block, at) => [block, `section-${at + 1}`]));
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title?.kind === "heading" ? plainText(title.text) : "tool-evals"}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<main>
${contents(ids)}${shown.map((block) => renderBlock(block, ids.get(block)))}</main>
</body>
</html>
`.source;
}

const isSection = (block: Block) => block.kind === "heading" && block.level === 2;
const none = new Markup("");

/** Links to the sections, where there are several. */
function contents(ids: ReadonlyMap<Block, string>): Markup {
  const links = [...ids].map(([block, id]) =>
    block.kind === "heading" ? markup`<li><a href="#${id}">${plainText(block.text)}</a></li>` : none,
  );
  return only(links.length > 1, () => markup`<nav aria-label="Sections"><ul>${links}</ul></nav>\n`);
}

function renderBlock(block: Block, id?: string): Markup {
  switch (block.kind) {
    case "heading": {
      const tag = new Markup(`h${block.level}`);
      const anchor = only(id !== undefined, () => markup` id="${id ?? ""}"`);
      const tone = only(block.tone !== undefined, () => markup` class="${block.tone ?? ""}"`);
      return markup`<${tag}${anchor}${tone}>${line(block.text)}</${tag}>\n`;
    }
    case "text":
      return markup`${block.lines.map((one) => markup`<p>${line(one)}</p>\n`)}`;
    case "facts": {
      const facts = block.facts.map(
        ([label, value]) => markup`<div><dt>${capital(label)}</dt><dd>${line(value)}</dd></div>`,
      );
      return markup`<dl>${facts}</dl>\n`;
    }
    case "table":
      return table(block);
    case "list": {
      const { shown, more } = limited(block.items, most, block.noun);
      return markup`<ul>${shown.map(listItem)}${remark(more)}</ul>\n`;
    }
    case "diff": {
      const { shown, more } = limited(block.changes, most, "change");
      // A change in Markdown is HTML in which every sign of its text is an entity.
      const items = shown.map((change) => markup`<li>${new Markup(changedText(change))}</li>\n`);
      return markup`<ul class="diff">${items}${remark(more)}</ul>\n`;
    }
    case "scale":
      return scale(block);
    case "verbatim":
      return markup`<pre>${multiline(block.text)}</pre>\n`;
    case "details":
      return markup`<details><summary>${line(block.title)}</summary>
${block.blocks.filter(hasContent).map((one) => renderBlock(one))}</details>\n`;
  }
}

const remark = (more: string | undefined) =>
  only(more !== undefined, () => markup`<li class="soft">${more ?? ""}</li>`);

function listItem(item: Inline | Item): Markup {
  if (!isItem(item)) return markup`<li>${line(item)}</li>\n`;
  const { shown, more } = limited(item.items ?? [], most, item.noun ?? "line");
  const below = [...shown.map((one) => markup`<li>${line(one)}</li>`), remark(more)];
  const list = only(shown.length > 0, () => markup`<ul>${below}</ul>`);
  return markup`<li>${line(item.text)}${list}${only(item.command !== undefined, () => markup`<pre>$ ${item.command ?? ""}</pre>`)}</li>\n`;
}

function table({ columns, rows, noun }: Extract<Block, { kind: "table" }>): Markup {
  const { shown, more } = limited(rows, most, noun, ({ tone }) => tone === "bad");
  const heads = columns.map((column) => markup`<th scope="col"${figureClass(column)}>${capital(column.head)}</th>`);
  return markup`<table><thead><tr>${heads}</tr></thead><tbody>
${shown.map((row) => tableRow(row, columns))}</tbody></table>
${only(more !== undefined, () => markup`<p class="soft">${more ?? ""}</p>\n`)}`;
}

function tableRow({ cells, tone }: TableRow, columns: readonly Column[]): Markup {
  const tds = cells.map((one, at) => markup`<td${figureClass(columns[at])}>${cell(one, columns[at]?.kind)}</td>`);
  return markup`<tr${only(tone !== undefined, () => markup` class="${tone ?? ""}-row"`)}>${tds}</tr>\n`;
}

const figureClass = (column: Column | undefined) => only(column?.kind === "figure", () => markup` class="n"`);

function cell(one: TableCell, kind: Column["kind"]): Markup {
  if (typeof one === "object" && "lines" in one) return markup`${one.lines.join(", ")}`;
  return typeof one === "string" && kind === "name" ? markup`<code>${one}</code>` : line(one);
}

function line(inline: Inline): Markup {
  return markup`${spans(inline).map(inlineSpan)}`;
}

function inlineSpan(span: Span): Markup {
  if (typeof span === "string") return markup`${span}`;
  if ("strong" in span)
    return markup`<strong${only(span.tone !== undefined, () => markup` class="${span.tone ?? ""}"`)}>${span.strong}</strong>`;
  if ("mark" in span)
    return markup`<span class="${span.mark === "open" ? "bad" : span.mark}">${marks[span.mark]}</span>`;
  if ("bar" in span) return bar(span.bar);
  if (span.code.length <= foldedFrom || !span.dim) return markup`<code>${span.code}</code>`;
  return markup`<details><summary>${span.code.slice(0, foldedFrom)}…</summary><pre>${multiline(span.code)}</pre></details>`;
}

const marks: Readonly<Record<Mark, string>> = { good: "✓", bad: "✗", warn: "!", open: "?" };

/** The text of a line without its markup. */
function plainText(inline: Inline): string {
  return spans(inline)
    .map((span) =>
      typeof span === "string" ? span : "strong" in span ? span.strong : "code" in span ? plain(span.code) : "",
    )
    .join("");
}

/** A scale from 0 to 1: the interval as a band, the rate as a point, what is needed as a tick. */
function bar({ rate, interval: [low, high] = [rate, rate], needed }: Bar): Markup {
  const at = (share: number) => (share * 160).toFixed(1);
  const tick = only(
    needed !== undefined,
    () => markup`<rect class="tick" x="${((needed ?? 0) * 160 - 0.75).toFixed(1)}" y="0" width="1.5" height="14"/>`,
  );
  return markup`<svg class="bar" viewBox="0 0 160 14" aria-hidden="true"><rect class="track" x="0" y="6" width="160" height="2"/><rect class="band" x="${at(low)}" y="3.5" width="${at(high - low)}" height="7" rx="3.5"/>${tick}<circle class="point" cx="${at(rate)}" cy="7" r="4"/></svg>`;
}

/** The interval as a band, the margin as a line, what lies beyond it shaded. */
function scale({ change, interval: [low, high], margin, tone }: Extract<Block, { kind: "scale" }>): Markup {
  const reach = 1.2 * Math.max(margin, Math.abs(low), Math.abs(high));
  const at = (rate: number) => 160 + (rate / reach) * 160;
  const x = (rate: number) => at(rate).toFixed(1);
  const tick = (name: string, rate: number) =>
    markup`<rect class="${name}" x="${(at(rate) - 0.75).toFixed(1)}" y="18" width="1.5" height="24"/>`;
  // Close to zero there is no room for a label around the margin's line.
  const anchor = margin / reach < 0.3 ? "end" : "middle";
  return markup`<svg class="scale ${tone}" viewBox="0 0 320 60" aria-hidden="true"><rect class="beyond" x="0" y="18" width="${x(-margin)}" height="24"/><rect class="track" x="0" y="29" width="320" height="2"/>${tick("zero", 0)}${tick("limit", -margin)}<rect class="band" x="${x(low)}" y="25" width="${(at(high) - at(low)).toFixed(1)}" height="10" rx="5"/><circle class="point" cx="${x(change)}" cy="30" r="5"/><text x="0" y="10">worse</text><text x="320" y="10" text-anchor="end">better</text><text x="${x(-margin)}" y="56" text-anchor="${anchor}">margin ${points(-margin)}</text><text x="160" y="56" text-anchor="middle">0</text></svg>\n`;
}
