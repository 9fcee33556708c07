import { createHash } from "node:crypto";
import { groupBy } from "../base/collections.ts";
import { plain } from "../base/text/display.ts";
import type { Problem } from "../base/types/errors.ts";
import type { Finding, FindingLocation, Severity } from "../base/types/finding.ts";
import type { JsonObject } from "../base/types/json.ts";
import { type Inline, type Item, type Span, unlimited } from "./document.ts";
import { count } from "./format.ts";

/** A file as programs outside name it: from the root of the repository, in which `folder` is the working directory. */
export function fromRoot(file: string, folder: string): string {
  if (folder === "" || /^(?:[\\/]|[a-z]:)/i.test(file)) return file;
  const way: string[] = [];
  for (const name of `${folder}/${file.replaceAll("\\", "/")}`.split("/"))
    if (name === "..") way.pop();
    else if (name !== ".") way.push(name);
  return way.join("/");
}

export type Location = { file?: string | undefined; line?: number | undefined; column?: number | undefined };

/** One decision of a command: a JUnit test case, a GitHub annotation. The levels `failed` and `error` are red. */
export type Verdict = {
  /** The subject, such as the id of a case. */
  name: string;
  level: "failed" | "error" | "warning" | "notice" | "passed";
  kind: string;
  /** The first line can stand alone. Empty if there is nothing to explain. */
  lines: readonly string[];
  location?: Location | undefined;
  /** The summed time of all trials in milliseconds; trials can run concurrently. */
  ms?: number | undefined;
};

/** The verdicts on one suite and model. `facts`: additional properties by name. */
export type VerdictSuite = {
  name: string;
  model?: string;
  facts: Readonly<Record<string, string | undefined>>;
  verdicts: readonly Verdict[];
};

/** All verdicts of a command. `where` completes "see all …". `ms`: wall-clock time. */
export type VerdictList = {
  suites: readonly VerdictSuite[];
  where: string;
  startedAt?: string | undefined;
  ms?: number | undefined;
};

/** The severity of each level in forms that list problems; what simply passed is not listed. */
export const severities: Readonly<Record<Verdict["level"], Severity | undefined>> = {
  failed: "error",
  error: "error",
  warning: "warning",
  notice: "info",
  passed: undefined,
};

export const isRed = ({ level }: Verdict) => level === "failed" || level === "error";

/** What an inspection found, for all forms that list findings. */
export type FindingList = {
  /** The command, such as "lint". */
  command: string;
  findings: readonly Finding[];
  /** What could not be inspected, and warnings that are no findings. */
  problems: readonly Omit<Problem, "excerpt">[];
  rules: readonly RuleDescription[];
  /** The lowest severity that fails. */
  failOn: Severity;
  exitCode: number;
};

/** What a rule requires, and the source of that. */
type RuleDescription = { id: string; severity: Severity; why: string; docs: string };

/** The findings that are not suppressed, errors first. The order within a severity stays. */
export function worstFirst<F extends Pick<Finding, "severity" | "suppressed">>(findings: readonly F[]): F[] {
  const rank = ({ severity }: F) => severityOrder.indexOf(severity);
  return findings.filter(({ suppressed }) => suppressed === undefined).sort((a, b) => rank(a) - rank(b));
}

/** All severities, the worst first. */
export const severityOrder: readonly Severity[] = ["error", "warning", "info"];

/** What a finding is about: `server · tool`, `skill name`, or the file. */
export function subjectText({ server, tool, skill, file }: FindingLocation): string {
  if (skill !== undefined) return `skill ${skill}`;
  if (server !== undefined) return tool === undefined ? server : `${server} · ${tool}`;
  return file ?? "";
}

/** Characters of one line of evidence that are shown. */
const maxEvidence = 2_100;

/** A finding in a list: `title` (default: the rule), message, fix, `more`, evidence and command. */
export function findingItem(
  { severity, rule, message, fix, evidence = [], command }: Omit<Finding, "location">,
  { title = rule, more = [] }: { title?: string; more?: readonly Inline[] } = {},
): Item {
  return {
    text: [showSeverity(severity), ` ${title}`],
    items: [message, `Fix: ${fix}`, ...more, ...evidence.map((line) => ({ code: `| ${line}`, max: maxEvidence }))],
    max: unlimited,
    ...(command !== undefined && { command }),
  };
}

function showSeverity(severity: Severity): Span {
  return { strong: severity, ...(severity !== "info" && { tone: severity === "error" ? "bad" : "warn" }) };
}

/** Findings as the verdicts of forms that list results: those at or above the threshold are failed. */
export function listVerdicts({ command, findings, problems, failOn }: FindingList): VerdictList {
  const threshold = severityOrder.indexOf(failOn);
  const found = worstFirst(findings).map((one): [string, Verdict] => {
    const { rule, severity, message, fix, location, evidence = [] } = one;
    const isFailed = severityOrder.indexOf(severity) <= threshold;
    const name = location.path === undefined ? rule : `${rule} ${location.path}`;
    const level = isFailed ? "failed" : severity === "info" ? "notice" : "warning";
    const at = location.file === undefined ? location.via : location;
    return [subjectText(location), { name, level, kind: rule, lines: [message, fix, ...evidence], location: at }];
  });
  const other = problems.map(({ severity, message, hint, location }): [string, Verdict] => {
    const lines = [message, ...(hint === undefined ? [] : [hint])];
    return [command, { name: severity, level: severity, kind: "problem", lines, location }];
  });
  const nothing: [string, Verdict] = [command, { name: "findings", level: "passed", kind: "passed", lines: [] }];
  const all = [...other, ...found];
  const suites = groupBy(all.length > 0 ? all : [nothing], ([subject]) => subject);
  return {
    suites: [...suites].map(([name, own]) => ({ name, facts: {}, verdicts: own.map(([, verdict]) => verdict) })),
    where: " in the log of this step",
  };
}

const levels = { error: "error", warning: "warning", info: "note" } as const satisfies Record<Severity, string>;

/** GitHub code scanning shows 5,000 results per run and drops the rest. */
const maxResults = 5_000;

/**
 * Findings as a SARIF 2.1.0 log (OASIS, 2020), with the rules they belong to. Suppressed findings come last, errors
 * first; beyond 5,000, findings are only counted. `folder`: the path of the working directory in the repository, from
 * whose root readers resolve files. Does not throw.
 */
export function findingSarif(list: FindingList, version: string, folder = ""): string {
  const { findings, problems, rules, exitCode } = list;
  const inRepository = <P extends Location>(location: P): P =>
    location.file === undefined ? location : { ...location, file: fromRoot(location.file, folder) };
  const all = [...worstFirst(findings), ...findings.filter((one) => one.suppressed !== undefined)];
  const shown = all.slice(0, maxResults);
  const found = new Set(shown.map(({ rule }) => rule));
  const used = rules.filter(({ id }) => found.has(id)).map(describeRule);
  const index = new Map(used.map(({ id }, at) => [id, at]));
  const fingerprint = fingerprints();
  const notifications = problems.map(({ severity, message, hint, location }) =>
    notification(severity, [message, hint].filter(Boolean).join(" "), location && inRepository(location).file),
  );
  if (all.length > shown.length)
    notifications.push(notification("warning", `${count(all.length - shown.length, "more finding")} are left out.`));
  const results = shown.map(({ rule, severity, message, fix, evidence = [], location, suppressed }) => {
    const { file = "", server = "", tool = "", skill = "", path = "", via = {} } = location;
    const subject = [subjectText(location), path].filter(Boolean).join(" ");
    return {
      ruleId: rule,
      ...(index.has(rule) && { ruleIndex: index.get(rule) }),
      level: levels[severity],
      message: { text: [`${message} ${fix}`, ...evidence].map(toSentence).join("\n") },
      locations: [describeLocation(inRepository(location.file === undefined ? via : location), subject)],
      partialFingerprints: { "toolEvals/v1": fingerprint([rule, file, server, tool, skill, path]) },
      ...(suppressed !== undefined && {
        suppressions: [{ kind: "external", status: "accepted", justification: plain(suppressed) }],
      }),
    };
  });
  const executionSuccessful = problems.every(({ severity }) => severity !== "error");
  const run = {
    tool: { driver: { name: "tool-evals", version, informationUri: "pkg:npm/tool-evals", rules: used } },
    columnKind: "utf16CodeUnits",
    invocations: [{ executionSuccessful, exitCode, toolExecutionNotifications: notifications }],
    results,
  };
  const log = { $schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: [run] };
  return `${JSON.stringify(log, null, 2)}\n`;
}

/** Ends a line with a full stop, since viewers shorten a message to its first sentence. */
const toSentence = (line: string) => plain(line).replace(/[^.!?]$/, "$&.");

function describeRule({ id, severity, why, docs }: RuleDescription) {
  return {
    id,
    shortDescription: { text: why },
    help: { text: why },
    ...(docs.startsWith("http") && { helpUri: docs }),
    defaultConfiguration: { level: levels[severity] },
  };
}

/** The location of a result: a place in a file if there is one (else its first line), and the name of its subject. */
function describeLocation({ file, line = 1, column }: Location, subject: string): JsonObject {
  return {
    ...(file !== undefined && {
      physicalLocation: {
        artifactLocation: { uri: relativeUri(file) },
        region: { startLine: line, ...(column !== undefined && { startColumn: column }) },
      },
    }),
    logicalLocations: [{ fullyQualifiedName: plain(subject), kind: "member" }],
  };
}

function relativeUri(file: string): string {
  return file.replaceAll("\\", "/").split("/").map(encodeURIComponent).join("/");
}

function fingerprints(): (key: readonly string[]) => string {
  const seen = new Map<string, number>();
  return (parts) => {
    const key = JSON.stringify(parts);
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return createHash("sha256").update(`${key}#${nth}`).digest("hex");
  };
}

function notification(level: "error" | "warning", text: string, file?: string): JsonObject {
  return {
    level,
    message: { text: plain(text) },
    ...(file !== undefined && { locations: [{ physicalLocation: { artifactLocation: { uri: relativeUri(file) } } }] }),
  };
}
