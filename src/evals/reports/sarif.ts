import { createHash } from "node:crypto";
import { plain } from "../base/text/display.ts";
import type { Severity } from "../base/types/finding.ts";
import type { JsonObject } from "../base/types/json.ts";
import {
  type FindingList,
  fromRoot,
  type Location,
  type RuleDescription,
  subjectText,
  worstFirst,
} from "./findings.ts";
import { count } from "./format.ts";

const levels = { error: "error", warning: "warning", info: "note" } as const satisfies Record<Severity, string>;

/** GitHub code scanning shows 5,000 results per run and drops the rest. */
const maxResults = 5_000;

/**
 * Findings as a SARIF 2.1.0 log (OASIS, 2020), with the rules they belong to. Suppressed findings come last, errors first;
 * beyond 5,000, findings are only counted. `folder`: the path of the working directory in the repository, from whose root
 * readers resolve files. Does not throw.
 */
export function findingSarif(
  { findings, problems, rules, exitCode }: FindingList,
  version: string,
  folder = "",
): string {
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

/** The location of a result: a place in a file if there is one (by default its first line), and the name of its subject. */
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

/** Creates a function that returns a stable fingerprint for a key; repeated keys are numbered. */
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
