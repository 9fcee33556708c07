/** The style of the HTML report. Light or dark as the reader's system is; all text colours reach a contrast of 4.5. */
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
  -webkit-text-size-adjust: 100%;
}
.page { max-width: 74rem; margin: 0 auto; padding: 3.5rem 2rem 4rem; }
code, pre { font: .88em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { white-space: pre-wrap; padding: .6rem .8rem; background: var(--wash); border-radius: 4px; }
h1 { font-size: 2.5rem; line-height: 1.15; font-weight: 600; letter-spacing: -.022em; }
h2 { font-size: 1.4rem; line-height: 1.3; font-weight: 600; letter-spacing: -.012em; }
h2 code { font-size: .86em; font-weight: 500; }
h3 { font-size: .95rem; font-weight: 600; margin-bottom: .5rem; }
h2 .on { font-weight: 400; color: var(--soft); }
a { color: inherit; text-decoration-color: var(--track); text-underline-offset: .2em; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid currentColor; outline-offset: 3px; border-radius: 2px; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .soft { color: var(--soft); }
.eyebrow { color: var(--soft); font-size: .87rem; margin-bottom: .8rem; }
.lede { margin-top: .7rem; font-size: 1.05rem; }
.note { color: var(--soft); margin-top: .15rem; }
section { margin-top: 3.25rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
.part { margin-top: 2.25rem; }
.check { margin: 1.4rem 0 1.7rem; padding: 1.5rem 1.75rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; }
.check .answer { display: grid; grid-template-columns: 1fr 20rem; gap: 1rem 3rem; }
.check .answer > :only-child { grid-column: 1 / -1; }
.check h3 { font-size: 1.2rem; line-height: 1.35; font-weight: 400; margin: 0; text-wrap: balance; } .check h3 span, .check h4 { font-weight: 600; }
.check p { margin-top: .4rem; text-wrap: pretty; } .check .part, .check dl { margin-top: 1.5rem; }
.check table { width: auto; } .check th, .check td { padding-right: 3rem; }
.notes { font-size: .9rem; color: var(--soft); padding-left: 1.1rem; } .check > .notes { margin-top: 1rem; }
.wording { list-style: none; padding: 0; } .wording li { margin-top: .5rem; } .wording code:first-child { font-weight: 600; } .wording + details { margin-top: .4rem; }
del { color: var(--bad); background: var(--bad-wash); text-decoration-thickness: 1px; } ins { color: var(--good); background: var(--good-wash); text-decoration: none; } del + ins { margin-left: .35em; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 3rem; }
.pair > :only-child { grid-column: 1 / -1; }
nav ul { list-style: none; padding: 0; margin-top: 1.6rem; display: grid; gap: .3rem; }
nav li { display: flex; gap: .75rem; align-items: baseline; }
nav .mark { width: 1em; text-align: center; }
dl.figures { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin-top: 1.1rem; }
dl.figures dt, dl.facts dt { color: var(--soft); font-size: .84rem; }
dl.figures dd { font-weight: 500; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.6rem; align-items: baseline; margin-top: 1rem; }
table { width: 100%; border-collapse: collapse; margin-top: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .62rem 1.4rem .62rem 0; border-bottom: 1px solid var(--line); font-weight: 400; }
th:last-child, td:last-child { padding-right: .6rem; }
thead th { font-size: .84rem; color: var(--soft); padding-top: .3rem; padding-bottom: .4rem; vertical-align: bottom; }
tbody tr:last-child > * { border-bottom: 0; }
td.n, th.n { text-align: right; white-space: nowrap; }
.cases { margin-top: 1.4rem; table-layout: fixed; }
.cases th:first-child, .cases td:first-child { padding-left: .6rem; }
.cases .gate { width: 9.8rem; white-space: nowrap; } .cases .case { width: 27%; } .cases .want { width: 20.5%; } .cases .rate { width: 12.5rem; }
.cases tr.red { background: var(--bad-wash); }
.cases th code { font-weight: 600; }
.cases .input, .why { font-size: .9rem; color: var(--soft); }
.why { list-style: none; padding: 0; margin-top: .3rem; }
.why li { display: grid; grid-template-columns: 2.2rem 1fr; } .why .times { color: var(--ink); }
.why:first-child { margin-top: 0; }
.state b { font-weight: 600; } .state .need { display: block; color: var(--soft); font-size: .84rem; padding-left: 1.15em; }
.mark { display: inline-block; width: 1.15em; }
.tally { display: flex; flex-wrap: wrap; gap: .1rem .9rem; list-style: none; padding: 0; } .tally b { font-weight: 600; }
.rate .of { font-weight: 600; margin-right: .5rem; } .rate .range { color: var(--soft); font-size: .84rem; white-space: nowrap; }
svg { display: block; overflow: visible; }
.bar { width: 100%; max-width: 10.5rem; height: 14px; margin-top: .3rem; }
.bar .track { fill: var(--track); } .bar .tick { fill: var(--soft); }
.bar .band { fill: currentColor; opacity: .32; } .bar .point { fill: currentColor; }
.net { width: 100%; max-width: 20rem; height: auto; margin-bottom: .5rem; } .net text { fill: var(--soft); font-size: 11px; }
.net .track { fill: var(--track); } .net .zero { fill: var(--soft); } .net .limit { fill: var(--bad); } .net .beyond { fill: var(--bad-wash); }
.net .band { fill: currentColor; opacity: .32; } .net .point { fill: currentColor; }
.meter { width: 100%; height: 6px; margin: .5rem 0 .7rem; color: var(--soft); } .meter .track { fill: var(--track); } .meter .part { fill: currentColor; }
.names { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; padding: 0; margin-top: .3rem; }
details > summary { cursor: pointer; padding: .3rem 0; }
details.input > summary { padding: 0; }
details > summary:hover { color: var(--soft); }
.lines { white-space: pre-line; }
footer { margin-top: 3rem; color: var(--soft); font-size: .84rem; }
@media (max-width: 46rem) {
  .page { padding: 1.75rem 1rem 3rem; }
  h1 { font-size: 1.85rem; }
  .pair, .check .answer { grid-template-columns: 1fr; }
  .check { padding: 1.1rem 1rem 1.2rem; } .check table { width: 100%; font-size: .9rem; } .check td, .check th { padding-right: .6rem; }
  .check .n { white-space: normal; overflow-wrap: normal; } .check td:not(.n) { min-width: 5rem; }
  th, td { padding-right: .7rem; } tbody th { min-width: 6.5rem; }
  .why li { grid-template-columns: 1.8rem 1fr; }
  dl.figures { display: grid; grid-template-columns: 1fr 1fr; gap: .7rem 1rem; }
  dl.facts { grid-template-columns: 1fr; gap: 0; } dl.facts dd { margin-bottom: .6rem; }
  .cases thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cases, .cases tbody { display: block; }
  .cases tr { display: grid; grid-template-columns: 1fr auto; gap: .5rem 1rem; padding: .9rem .7rem; border-bottom: 1px solid var(--line); }
  .cases tr > * { display: block; border: 0; padding: 0 !important; width: auto !important; }
  .cases .case { grid-column: 1; grid-row: 1; } .cases .gate { grid-column: 2; grid-row: 1; text-align: right; }
  .cases td:empty { display: none; }
  .cases .want, .cases .rate, .cases .what { grid-column: 1 / -1; }
  .cases .want::before { content: "expects "; color: var(--soft); font-size: .9rem; }
  .cases .gate .mark { width: auto; margin-right: .35em; }
}
@media print { .page { padding: 0; max-width: none; } tr { break-inside: avoid; } }
`;
