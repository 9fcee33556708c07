import type { ComponentChildren } from "preact";
import { visible } from "../base/text/display.ts";

// Everything on the page comes from a record, so all text goes through `plain` or `Verbatim`, which make it visible.

/** Untrusted text with its lines kept and invisible characters escaped. */
function multiline(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => visible(line.replaceAll("\t", "  ")))
    .join("\n");
}

/** A verbatim text in its own box, as code or as `prose`. */
export function Verbatim({ text, label, prose = false }: { text: string; label?: string; prose?: boolean }) {
  return (
    <pre class={prose ? "prose" : ""} title={label} dir="auto">
      {multiline(text)}
    </pre>
  );
}

/** A collapsed section. */
export function Folded({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** A wide part of the page that scrolls by itself, also with the keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** A list of labeled values, without undefined ones. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  const known = facts.filter(([, value]) => value !== undefined);
  return (
    <dl>
      {known.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
