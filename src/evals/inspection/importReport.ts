import * as z from "zod";
import { groupBy } from "../base/groupBy.ts";
import type { Place } from "../base/types/errors.ts";
import { placeSchema } from "../base/types/finding.ts";
import { type Block, heading, type Item, list, makeColumns, section, table, text } from "../reports/document.ts";
import { count, integer } from "../reports/format.ts";

const number = z.number().int().min(0);
const unsaidShape = { what: z.string(), detail: z.string().exactOptional() };
const importedCaseSchema = z.object({
  name: z.string(),
  place: placeSchema,
  leftOut: z.string().exactOptional().describe("why it is in no suite"),
  unsaid: z.array(z.object(unsaidShape)).readonly().describe("what the suite could not keep from it"),
});

const importReportSchema = z.object({
  format: z.string(),
  written: z.string().exactOptional().describe("the suite; absent if no case was kept"),
  files: number,
  kept: number,
  cases: z.array(importedCaseSchema),
  unsaid: z.array(z.object({ ...unsaidShape, file: z.string() })).describe("what could not be kept from whole files"),
  isRunnable: z.boolean().exactOptional().describe("its files are TypeScript and were not run: --execute-source"),
  dead: z
    .array(z.object({ tool: z.string(), cases: z.array(z.string()) }))
    .describe("expected tools that are not in the list"),
});
export type ImportReport = z.infer<typeof importReportSchema>;

/** The output of `evals import --json`. */
export const importOutputSchema = z.object({ imports: z.array(importReportSchema) });

const maxItems = 12;

/** The report of `evals import`: what was kept, what was left out and why, and expected tools that do not exist. */
export function importDocument(reports: readonly ImportReport[], hasServer: boolean): Block[] {
  return reports.flatMap(({ format, written, files, kept, cases, unsaid, isRunnable, dead }) => {
    const left = cases.flatMap(({ leftOut, place }) => (leftOut === undefined ? [] : [{ what: leftOut, place }]));
    const lost = [
      ...cases.flatMap((one) =>
        one.leftOut === undefined ? one.unsaid.map(({ what }) => ({ what, place: one.place })) : [],
      ),
      ...unsaid.map(({ what, file }) => ({ what, place: { file } })),
    ];
    return [
      heading(1, [
        { strong: `${integer(kept)} of ${count(cases.length, "case")}` },
        ` kept · ${format} · ${count(files, "file")}`,
      ]),
      text(
        written === undefined ? "No suite was written." : ["Wrote ", { code: written }, "."],
        isRunnable
          ? ["Next: if you trust these sources, run them with ", { code: "--execute-source" }, " to read their cases."]
          : written === undefined
            ? cases.length === 0
              ? "Next: check the path and `--from`: this file has no case in that format."
              : "Next: see below why no case could be kept."
            : [`Next: ${hasServer ? "" : "name the server in the suite, then "}run \`evals run ${written}\`.`],
      ),
      ...section("Left out", [countReasons("case", left)]),
      ...section("Not kept", [countReasons("part", lost)]),
      ...section("Expected tools that are not in the list", [
        table(
          "tool",
          makeColumns(["name", "tool"], ["figure", "cases"], ["text", "the first"]),
          dead.map((one) => [one.tool, integer(one.cases.length), { code: one.cases[0] ?? "", max: 60 }]),
          { max: maxItems },
        ),
      ]),
    ];
  });
}

/** Counts equal reasons, and names the place of the first. */
function countReasons(noun: string, all: readonly { what: string; place: Place }[]): Block {
  const ranked = [...groupBy(all, ({ what }) => what)].sort(([, a], [, b]) => b.length - a.length);
  const items = ranked.map(([what, own]): Item => {
    const first = own[0]?.place;
    return {
      text: `${integer(own.length)}x ${what}`,
      items: [["first at ", { code: `${first?.file}:${first?.line ?? 1}` }]],
    };
  });
  return list(noun, items, maxItems);
}
