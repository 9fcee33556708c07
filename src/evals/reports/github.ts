import { plain } from "../base/text/display.ts";
import { cut } from "../base/text/text.ts";
import type { Severity } from "../base/types/finding.ts";
import type { Blocks } from "./document.ts";
import { fromRoot, type Location, severities, type VerdictList } from "./findings.ts";
import { count } from "./format.ts";
import { type Display, renderTerminal } from "./terminal.ts";

// Output for the log of a GitHub workflow: a report with workflow commands disabled, since it quotes untrusted text,
// and annotations on lines of files.

type Level = "error" | "warning" | "notice";
type Annotation = { level: Level; location?: Location | undefined; title: string; message: readonly string[] };

/** GitHub shows ten annotations per level and step, and silently drops the rest. */
const maxAnnotations = 10;
/** How many lines of a verdict an annotation shows, and how many characters of each. */
const shown = { lines: 12, characters: 500 } as const;

/**
 * A report, and an annotation for each verdict that did not simply pass. Red verdicts are errors. `folder`: the path of
 * the working directory in the repository, from whose root GitHub reads the names of files.
 */
export function githubReport(document: Blocks, { suites, where }: VerdictList, display: Display, folder = ""): string {
  const all = suites.flatMap(({ name, model, verdicts }) =>
    verdicts.flatMap((one): Annotation[] => {
      const severity = severities[one.level];
      if (severity === undefined) return [];
      const title = `${name}: ${one.name}${model === undefined ? "" : ` (${model})`}`;
      const message = one.lines.slice(0, shown.lines).map((line) => cut(plain(line), shown.characters));
      const file = one.location?.file;
      const location = file === undefined ? one.location : { ...one.location, file: fromRoot(file, folder) };
      return [{ level: levels[severity], location, title, message }];
    }),
  );
  return withoutCommands(renderTerminal(document, display)) + annotate(all, "tool-evals", where);
}

const levels = { error: "error", warning: "warning", info: "notice" } as const satisfies Record<Severity, Level>;

/** Writes annotations as lines, errors first. If a level has more than ten, its last one says how many are left out. */
function annotate(all: readonly Annotation[], title: string, where: string): string {
  const lines = (["error", "warning", "notice"] as const).flatMap((level) => {
    const own = all.filter((one) => one.level === level);
    const first = own.slice(0, own.length > maxAnnotations ? maxAnnotations - 1 : maxAnnotations);
    const left = own.length - first.length;
    return [
      ...first.map((one) =>
        command(level, { ...placed(one.location), title: cut(one.title) }, one.message.map(plain).join("\n")),
      ),
      ...(left > 0 ? [command(level, { title }, `and ${count(left, "more annotation")}: see all${where}`)] : []),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

function placed({ file, line, column }: Location = {}): Record<string, string | number> {
  if (file === undefined) return {};
  return { file, ...(line !== undefined && { line }), ...(column !== undefined && { col: column }) };
}

/** A workflow command, escaped like `@actions/core` does. */
export function command(name: string, properties: Readonly<Record<string, string | number>>, message: string): string {
  const list = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(plain(String(value)))}`);
  return `::${name}${list.length > 0 ? ` ${list.join(",")}` : ""}::${escapeData(message)}`;
}

/** The text with workflow commands disabled around it. The token that enables them again does not occur in the text. */
export function withoutCommands(text: string): string {
  let token = "end-of-tool-evals-report";
  // The runner compares the token case-insensitively.
  while (text.toLowerCase().includes(token)) token += "-";
  return `::stop-commands::${token}\n${text}${text.endsWith("\n") ? "" : "\n"}::${token}::\n`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
