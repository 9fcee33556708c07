import type { Place } from "../types/errors.ts";
import { type Block, heading, type Item, makeRows, section, text } from "./document.ts";
import { count, integer } from "./format.ts";

/** What was imported of one format. `written`: the suite; absent where no case was kept. */
export type ImportReport = {
  format: string;
  written?: string;
  files: number;
  kept: number;
  cases: { name: string; place: Place; leftOut?: string; unsaid: readonly { what: string; detail?: string }[] }[];
  unsaid: { what: string; detail?: string; file: string }[];
  dead: { tool: string; cases: string[] }[];
};

const most = 12;

/** What was kept, what was left out and why, what could not be said, and expectations that no listed tool meets. */
export function importDocument(reports: readonly ImportReport[]): Block[] {
  return reports.flatMap(({ format, written, files, kept, cases, unsaid, dead }) => {
    const left = cases.filter((one) => one.leftOut !== undefined);
    const lost = [
      ...cases.flatMap((one) =>
        one.leftOut === undefined ? one.unsaid.map((what) => ({ ...what, place: one.place })) : [],
      ),
      ...unsaid.map((what) => ({ ...what, place: { file: what.file } })),
    ];
    return [
      heading(1, [
        { strong: `${integer(kept)} of ${count(cases.length, "case")}` },
        ` kept · ${format} · ${count(files, "file")}`,
      ]),
      text(written === undefined ? "No suite was written." : ["Wrote ", { code: written }, "."]),
      ...section("Left out", [
        countReasons(
          left.map((one) => ({ what: one.leftOut ?? "", place: one.place })),
          "case",
        ),
      ]),
      ...section("Not kept of the cases above", [countReasons(lost, "part")]),
      ...section("Expected tools that the list has not", [
        {
          kind: "table",
          columns: [{ head: "tool", kind: "name" }, { head: "cases", kind: "figure" }, { head: "the first" }],
          rows: makeRows(
            dead.map((one) => [one.tool, integer(one.cases.length), { code: one.cases[0] ?? "", max: 60 }]),
          ),
          most,
          noun: "tool",
        },
      ]),
    ];
  });
}

/** Equal reasons counted, with the place of the first. */
function countReasons(all: readonly { what: string; place: Place }[], noun: string): Block {
  const byReason = new Map<string, { n: number; place: Place }>();
  for (const { what, place } of all) {
    const known = byReason.get(what) ?? { n: 0, place };
    byReason.set(what, { ...known, n: known.n + 1 });
  }
  const ranked = [...byReason].sort(([, a], [, b]) => b.n - a.n);
  const items = ranked.map(([what, { n, place }]): Item => {
    return { text: `${integer(n)}x ${what}`, items: [["first at ", { code: `${place.file}:${place.line ?? 1}` }]] };
  });
  return { kind: "list", items, most, noun };
}
