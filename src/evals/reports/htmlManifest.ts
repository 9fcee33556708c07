import type { RunManifest } from "../types/run.ts";
import { count } from "./format.ts";
import { type Markup, markup, multiline, only } from "./markup.ts";
import { provenance } from "./view.ts";

/** What decided the run's answers: seed, commit, models with their settings, suites, and the tools that were shown. */
export function manifestSection(manifest: RunManifest, dir: string): Markup {
  const facts = [
    ...provenance(manifest),
    ["finished", manifest.finishedAt ?? "not finished"],
    ["record", dir],
  ] as const;
  return markup`<section aria-labelledby="manifest"><h2 id="manifest">What decided this run</h2>
<dl class="facts">${facts.map(([label, value]) => markup`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
<div class="part"><h3>Models</h3>${manifest.models.map(modelFacts)}</div>
<div class="part"><h3>Suites</h3>${manifest.suites.map(suiteFacts)}</div>
<div class="part"><h3>Tools shown</h3>${Object.entries(manifest.toolsets).map(([hash, tools]) => toolsetTable(hash, tools))}</div>
</section>
`;
}

function modelFacts({ id, kind, note, settings }: RunManifest["models"][number]): Markup {
  return markup`<details><summary><code>${id}</code> <span class="soft">${note ?? kind}</span></summary><pre>${pretty(settings)}</pre></details>`;
}

function suiteFacts({ name, file, hash, execute, isolate, server }: RunManifest["suites"][number]): Markup {
  const how = `${file}, executes calls: ${execute}, a server per ${isolate}`;
  const said = only(server !== undefined, () => markup`<pre>${pretty(server)}</pre>`);
  return markup`<details><summary>${name} <span class="soft">${how}</span></summary><p class="soft">SHA-256 <code>${hash}</code></p>${said}</details>`;
}

function toolsetTable(hash: string, tools: RunManifest["toolsets"][string]): Markup {
  const rows = tools.map(
    (tool) =>
      markup`<tr><th scope="row"><code>${tool.name}</code></th><td class="lines">${multiline(tool.description ?? "no description")}</td><td>${tool.server}${tool.origin === "server" ? "" : `, ${tool.origin}`}</td></tr>\n`,
  );
  return markup`<details><summary>${count(tools.length, "tool")} <span class="soft">toolset <code>${hash.slice(0, 12)}</code></span></summary>
<table><thead><tr><th scope="col">Tool</th><th scope="col">Description</th><th scope="col">From</th></tr></thead><tbody>
${rows}</tbody></table></details>
`;
}

function pretty(value: unknown): Markup {
  return multiline(JSON.stringify(value, null, 2) ?? "");
}
