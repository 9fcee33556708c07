import { createHash } from "node:crypto";
import { script, style } from "#page";
import type { Page } from "./document.ts";
import { Markup, markup, visibleJson } from "./escape.ts";

const digest = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Allows only this script and style sheet, and connections only to `connect`. */
const policy = (connect: string) =>
  `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; connect-src ${connect}; base-uri 'none'; form-action 'none'`;

/** Renders a page as one file, in parts, which makes no network request, except to its own server if `isServed`. */
export function* renderPage({ title, json }: Page, { isServed = false } = {}): Generator<string> {
  yield markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(policy(isServed ? "'self'" : "'none'"))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page needs JavaScript. The same report as text: summary.md.</p></noscript>
<script type="application/json" id="data">`.source;
  for (const part of json) yield inertJson(part);
  yield markup`</script>
<script type="module">${new Markup(script)}</script>
</body>
</html>
`.source;
}

/** Escapes JSON so that it cannot close its script element or open a comment. */
const inertJson = (json: string) => visibleJson(json).replaceAll("<", "\\u003c");
