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
