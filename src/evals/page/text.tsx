import type { ComponentChildren } from "preact";
import { visible } from "../types/visible.ts";

// Everything that is shown comes from a record, so everything goes through here: what cannot be seen is written out.

/** Foreign text on one line, with what is invisible written out. */
export function plain(text: string): string {
  return visible(text.replace(/[\t\n\v\f\r]+/g, " "));
}

/** Foreign text that keeps its lines. */
function multiline(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => visible(line.replaceAll("\t", "  ")))
    .join("\n");
}

/** A verbatim text in a box of its own: as code, or as `prose`. */
export function Verbatim({ text, label, prose = false }: { text: string; label?: string; prose?: boolean }) {
  return (
    <pre class={prose ? "prose" : ""} title={label} dir="auto">
      {multiline(text)}
    </pre>
  );
}

/** A folded part. */
export function Folded({
  title,
  open,
  children,
}: {
  title: ComponentChildren;
  open?: boolean;
  children: ComponentChildren;
}) {
  return (
    <details open={open}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** Figures with their labels. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
