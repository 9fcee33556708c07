import { atMost, count } from "./format.ts";
import type { Display } from "./report.ts";
import { screenFor, title } from "./screen.ts";

/** As `lint/confusable.ts` finds them, the most alike first. `similarity` is 0 to 1. */
type Pair = { a: string; b: string; similarity: number; shared: readonly string[] };

const most = { pairs: 50, words: 8 } as const;

/** The tools of one list that a model can confuse, ranked, with the words that make them alike. */
export function confusableText(pairs: readonly Pair[], { tools, ...display }: Display & { tools: number }): string {
  const screen = screenFor(display);
  const about =
    "Similarity is of keywords (BM25 over name, description and parameters), from 0 to 1. It ranks what to look at; only a run shows what a model confuses.";
  if (pairs.length === 0)
    return `${screen.lines(`No two of ${count(tools, "tool")} are described alike.`).join("\n")}\n`;
  const { shown, left } = atMost(pairs, most.pairs);
  const rows = shown.map(({ a, b, similarity, shared }) => [
    { text: similarity.toFixed(2) },
    { text: a },
    { text: b },
    { text: shared.slice(0, most.words).join(" ") },
  ]);
  const head = [{ head: "alike", fixed: true }, { head: "tool" }, { head: "and" }, { head: "shared words" }];
  const lines = [
    ...title(screen, `Tools that a model can confuse: ${count(pairs.length, "pair")} of ${count(tools, "tool")}`),
    ...screen.table(head, rows),
    ...(left > 0 ? screen.lines(`… and ${count(left, "more pair")}`) : []),
    "",
    ...screen.lines(about, 0, 0),
  ];
  return `${lines.join("\n")}\n`;
}
