import type { BlameVerdict } from "../verdicts/blame.ts";
import type { BlameReport } from "../verdicts/blameCases.ts";
import { count, integer, money, percent, probability } from "./format.ts";
import type { Display } from "./report.ts";
import { bounded, type Screen, screenFor, title } from "./screen.ts";
import { wordingLines } from "./wording.ts";

type Counts = { passed: number; trials: number };
type Verdict = BlameVerdict;
type BlamedCase = BlameReport["cases"][number];
const most = { ranking: 3, wordings: 6 } as const;

/** Who is to blame, for a person: the culprits first, then their wording, then what that rests on. */
export function blameText(report: BlameReport, display: Display): string {
  const screen = screenFor(display);
  const { suite, model, note, from, stopped, costUsd, dir } = report;
  const blocks = [
    ...report.cases.flatMap((one) => caseBlocks(one, report, screen, display)),
    [
      ...screen.lines(`${suite} · ${model}${note ? ` (${note})` : ""}, against ${from} · cost ${money(costUsd)}`),
      ...(stopped === null ? [] : screen.lines(`Stopped: ${stopped}`)),
      ...screen.lines(`Record: ${dir}`, 0, 8),
    ],
  ];
  const texts = blocks.filter((block) => block.length > 0).map((block) => block.join("\n"));
  return `${texts.join("\n\n")}\n`;
}

function caseBlocks(one: BlamedCase, report: BlameReport, screen: Screen, display: Display): string[][] {
  const { verdict, changes } = one;
  const known = one.known.new
    ? `: ${passes(one.known.old)} with the old list, ${passes(one.known.new)} with the new`
    : "";
  const asked = screen.lines(`Case ${one.case}${known}`);
  const input = `  ${screen.paint("dim", screen.short(`"${one.input}"`, screen.width - 2))}`;
  if (!verdict) return [[...title(screen, `NOT DECIDED · ${one.case}`, "yellow"), ...asked, input]];
  const blamed = verdict.kind === "blamed";
  const culprits = changes.filter(({ id }) => verdict.culprits.includes(id));
  return [
    [
      ...title(screen, headline(verdict), blamed ? "red" : "yellow"),
      ...asked,
      input,
      ...(blamed ? screen.lines(sentence(verdict)) : []),
    ],
    culprits.length === 0
      ? []
      : [
          ...title(screen, culprits.length === 1 ? "What changed in it" : "What changed in them"),
          ...bounded(culprits, most.wordings, "change", 2, screen, (change) => wordingLines(change, display, 2)),
        ],
    (blamed ? restsOn(verdict) : likeliest(verdict)).flatMap((line) => screen.lines(line)),
    screen.lines(spent(verdict, changes.length, report.deterministic)),
  ];
}

function headline({ kind, culprits, reason }: Verdict): string {
  return kind === "blamed" ? `TO BLAME: ${culprits.join(" and ")}` : `INCONCLUSIVE: ${reason}`;
}

function sentence({ relation, culprits, reason, necessity }: Verdict): string {
  if (!necessity) return `${capital(reason)}.`;
  const reverting = `Reverting ${culprits.join(" and ")} mends the case`;
  if (culprits.length < 2 || relation === "single") return `${reverting}.`;
  const how = relation === "either" ? "each of them suffices to break it" : "it takes them together to break it";
  return `${reverting}; by the search, ${how}.`;
}

function restsOn({ necessity }: Verdict): string[] {
  if (!necessity) return [];
  const { reverted, allNew, p } = necessity;
  const told = `p ${probability(p).replace(/^(<?)/, (sign) => `${sign || "="} `)}`;
  const seen = `${passes(reverted)} with it reverted, ${passes(allNew)} with all new`;
  return [`Necessity test on fresh trials: ${seen} (${told}, one-sided, 5% over all looks)`];
}

function likeliest({ ranking }: Verdict): string[] {
  const listed = ranking
    .slice(0, most.ranking)
    .map(({ changes, chance }) => `${changes.join(" + ")} (${percent(chance)})`);
  return listed.length === 0 ? [] : [`Likeliest by the search: ${listed.join(", ")}`];
}

function spent({ calls }: Verdict, changes: number, deterministic: boolean): string {
  const made = `${count(changes, "change")}; ${count(calls.search, "call")} to search, ${integer(calls.confirmation)} to confirm.`;
  if (changes < 2) return made;
  const each = deterministic ? "once" : "ten times";
  return `${made} Reverting each by itself ${each} would have taken ${integer(calls.oneAtATime)}, and misses two that each suffice.`;
}

const passes = ({ passed, trials }: Counts) => `${integer(passed)}/${integer(trials)}`;
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
