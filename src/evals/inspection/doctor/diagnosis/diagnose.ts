import { groupBy } from "../../../base/collections.ts";
import { excerpt, quoteWhole } from "../../../base/text/text.ts";
import type { Finding } from "../../../base/types/finding.ts";
import { isJsonObject, parseJsonText, writeExactJson } from "../../../base/types/json.ts";
import type { CallOutcome, Tool, ToolResult } from "../../../base/types/tool.ts";
import { type Cause, findKnownError, findMissingKey, quoteLines } from "../../../servers/diagnosis/signatures.ts";
import {
  diagnoseLocalStart,
  explainKnown,
  findRefusal,
  isSlow,
  type LocalStart,
  slowMs,
} from "../../../servers/diagnosis/start.ts";
import { listSchemaFaults } from "../../conventions.ts";

/** `rule`: of a fault that the client found. */
type Failure = { kind: "no"; message: string; hint: string; rule?: string };

/** What was observed of one server. A stage is absent if an earlier one failed. */
export type ServerFacts = {
  /** Commands that reproduce a fault of the start, of the tool list and, where one can be made, of a call. */
  show: { direct: string; lint: string; call?(tool: string): string };
  /** Findings of the lint rules for its entry in the configuration file of a host. */
  entry: readonly (Cause & Pick<Finding, "severity">)[];
  start?: LocalStart;
  connected?: { kind: "yes" } | Failure;
  listed?: { kind: "yes"; tools: readonly Tool[] } | Failure;
  calls: readonly TestCall[];
};

/** This lint rule for entries reports the same as these diagnoses of the start. */
const scriptRule = "registration-script-missing";
const startRules = new Set(["script-missing", "program-missing"]);

/** The first stage that failed, and the faults of its entry; for a working server, those of its tools, and risks. */
export function diagnose(facts: ServerFacts): Diagnosis[] {
  const failure = diagnoseFailure(facts);
  const entry = diagnoseEntry(facts, failure);
  if (failure) return [failure, ...entry];
  const { show, start, listed, calls } = facts;
  const tools = listed?.kind === "yes" ? diagnoseTools(listed.tools, calls, start) : [];
  return [
    // Skipped if a call already named the missing key.
    ...(tools.some(({ rule }) => rule === "variable-missing") ? [] : diagnoseNotice(facts)),
    ...tools.map(({ tool, ...one }): Diagnosis => {
      return { ...one, command: tool === undefined ? show.lint : (show.call?.(tool) ?? show.direct) };
    }),
    ...diagnoseRisks(facts),
    ...entry,
  ];
}

/** A missing key that a server reports but can start without. */
function diagnoseNotice({ start, show }: ServerFacts): Diagnosis[] {
  const key = start && findMissingKey(start.stderr.join("\n"), "running");
  if (!key) return [];
  const { rule, variables, line } = key;
  const what = variables?.join(" and ") ?? "API key or token";
  const message = `The server starts, but reports that it has no ${what}: some of its tools may fail.`;
  const evidence = quoteLines("stderr", start.stderr, line);
  return [{ rule, severity: "warning", message, evidence, fix: explainKnown(key, start), command: show.direct }];
}

function diagnoseEntry({ entry, listed }: ServerFacts, failure: Diagnosis | undefined): Diagnosis[] {
  // A server that starts here proves that its entry can work.
  const works = listed?.kind === "yes";
  const isRepeated = startRules.has(failure?.rule ?? "");
  return entry
    .filter(({ rule, severity }) => severity !== "info" && !(isRepeated && rule === scriptRule))
    .map((one) => ({ ...one, severity: works ? "warning" : one.severity }));
}

function diagnoseFailure({ start, connected, listed, show }: ServerFacts): Diagnosis | undefined {
  const local = start && diagnoseLocalStart(start, show.direct);
  if (local) return { severity: "error", ...local };
  if (connected?.kind === "no" && connected.rule !== undefined) {
    const { rule, hint } = connected;
    // The report names it already.
    const message = connected.message.replace(/^Server ".*?" /, "The server ");
    return { severity: "error", rule, message, fix: hint, command: show.direct };
  }
  const failed = connected?.kind === "no" ? connected : listed?.kind === "no" ? listed : undefined;
  if (!failed) return undefined;
  const evidence = [failed.message];
  if (failed !== connected) return { severity: "error", ...explainNoList(failed), evidence, command: show.lint };
  const message = start ? "The server starts, but no client can connect to it." : "No client can connect to it.";
  return { severity: "error", rule: "no-session", message, fix: failed.hint, evidence, command: show.direct };
}

function explainNoList({ message, hint }: Failure): Cause {
  const status = findRefusal(message);
  if (!status)
    return { rule: "list-fails", message: "The server connects, but its tools cannot be listed.", fix: hint };
  const refused = `The server connects, but answers the request for its tools with HTTP ${status}.`;
  return { rule: "credentials", message: refused, fix: hint };
}

function diagnoseRisks({ start }: ServerFacts): Diagnosis[] {
  if (!start) return [];
  const slow: Diagnosis = {
    rule: "slow-start",
    severity: "warning",
    message: `The server takes ${Math.round(start.ms / 1000)} s to answer; some hosts give up after ${slowMs / 1000} s.`,
    fix: "Install it instead of downloading it at each start, and load heavy dependencies on first use.",
  };
  const noise: Diagnosis = {
    rule: "stdout-noise",
    severity: "warning",
    message: "The server writes output other than protocol messages to stdout; some hosts then close the connection.",
    evidence: quoteLines("stdout", start.noise),
    fix: "Write logs to stderr.",
  };
  return [...(isSlow(start) ? [slow] : []), ...(start.noise.length > 0 ? [noise] : [])];
}

/** A finding on a server that the caller names. */
type Diagnosis = Omit<Finding, "location">;

type TestCall = { tool: string; outcome: CallOutcome };

/** A diagnosis without `tool` is about the list. */
type ToolDiagnosis = Diagnosis & { tool?: string };

const maxFaults = 10;

/** The faults of the listed tools, and of the calls that were made: what the server lacks first. */
function diagnoseTools(tools: readonly Tool[], calls: readonly TestCall[], start?: LocalStart): ToolDiagnosis[] {
  if (tools.length === 0) {
    const fix = "Register tools before the server answers tools/list. Some servers need settings to offer any.";
    return [{ rule: "no-tools", severity: "error", message: "The server lists no tools.", fix }];
  }
  const faults = new Map(tools.map((tool) => [tool.name, listSchemaFaults(tool)]));
  const failed = calls.flatMap(({ tool, outcome }) => {
    const outer = explainOuterCause(tool, outcome, start);
    const found = outer ?? diagnoseCall(tool, outcome, (faults.get(tool) ?? []).length > 0);
    return found ? [{ tool, isOuter: outer !== undefined, ...found }] : [];
  });
  const groups = groupBy(failed, ({ isOuter, tool, message, rule, evidence }) =>
    // An outer cause is the same for every tool, whatever its answer; other tools fail alike only with equal answers.
    JSON.stringify(isOuter ? message.replace(`"${tool}"`, "") : [rule, evidence]),
  );
  const merged = [...groups.values()].flatMap((own) => {
    const [first, ...others] = own;
    const alike = others.length > 0 ? [`for the same reason: ${others.map(({ tool }) => tool).join(", ")}`] : [];
    return first ? [{ ...first, evidence: [...(first.evidence ?? []), ...alike] }] : [];
  });
  const select = (outer: boolean) =>
    merged.flatMap(({ isOuter, ...one }): ToolDiagnosis[] => (isOuter === outer ? [one] : []));
  const found = [...select(true), ...diagnoseSchemas(faults), ...select(false)];
  const isFaulty = found.some(({ severity }) => severity === "error");
  return [...found, ...(isFaulty ? [] : diagnoseAnswers(calls))];
}

/** A server of which no call succeeds, or no answer says anything. One such call may be meant so. */
function diagnoseAnswers(calls: readonly TestCall[]): ToolDiagnosis[] {
  const answers = calls.flatMap(({ outcome }) =>
    outcome.kind === "result" && !outcome.result.isError ? [outcome.result] : [],
  );
  if (calls.length > 1 && answers.length === 0) {
    const message = `No call succeeds: 0 of ${calls.length} that were made without arguments.`;
    const fix = "Fix what the calls report above, or say in the descriptions what has to come first.";
    return [{ rule: "no-call-answered", severity: "error", message, fix }];
  }
  const isEmpty = ({ content, structuredContent }: ToolResult) =>
    structuredContent === undefined && content.every(({ type, text = "" }) => type === "text" && text.trim() === "");
  if (answers.length === 0 || !answers.every(isEmpty)) return [];
  const shared = {
    rule: "empty-answers",
    evidence: [`called: ${calls.map(({ tool }) => tool).join(", ")}`],
    fix: "Return what was found, or say that there is nothing: an empty answer tells a model neither.",
  };
  if (answers.length === 1) return [{ ...shared, severity: "warning", message: "The only answer is empty." }];
  return [{ ...shared, severity: "error", message: `All ${answers.length} answers are empty.` }];
}

/** The text of a failed call; undefined if it was answered, or not at all. */
function readFailure(outcome: CallOutcome): string | undefined {
  if (outcome.kind === "unknown-tool") return outcome.message;
  if (outcome.kind === "broken" || !outcome.result.isError) return undefined;
  const { content, structuredContent } = outcome.result;
  const text = content.map((item) => item.text ?? "").join("\n");
  return text.trim() === "" && structuredContent ? writeExactJson(structuredContent) : text;
}

/** Causes outside of the tool: what the server was not given, or cannot reach. */
const outerCauses = new Set(["variable-missing", "credentials", "service-unreachable"]);
const aboutArguments = /-32602|\binvalid arguments?\b|\bvalidation\b|\bparameters?\b/i;

function explainOuterCause(tool: string, outcome: CallOutcome, start?: LocalStart): Diagnosis | undefined {
  const text = readFailure(outcome);
  const known = text === undefined ? undefined : findKnownError(text, "running");
  if (text === undefined || !known || !outerCauses.has(known.rule)) return undefined;
  // An argument can be called a token, too.
  if (known.variables === undefined && aboutArguments.test(text)) return undefined;
  const { rule, message } = known;
  const fix = start ? explainKnown(known, start) : known.fix;
  const isService = rule === "service-unreachable";
  const cause = isService ? "the server cannot reach a service." : message.replace("The server", "the server");
  return {
    rule,
    severity: isService ? "warning" : "error",
    message: `A call of "${tool}" fails: ${cause}`,
    evidence: [quoteAnswer(text)],
    fix: isService ? "Check the network and its proxy, and the address of the service." : fix,
  };
}

const maxAnswer = 2_000;
const quoteAnswer = (text: string) => `the server answered ${quoteWhole(excerpt(text, maxAnswer))}`;

function diagnoseSchemas(faultsByTool: ReadonlyMap<string, readonly string[]>): ToolDiagnosis[] {
  const invalid = [...faultsByTool].filter(([, faults]) => faults.length > 0);
  if (invalid.length === 0) return [];
  const lines = invalid.flatMap(([name, faults]) => faults.map((fault) => `${name}: ${fault}`));
  const rest = lines.length - maxFaults;
  const message = `${invalid.length === 1 ? "1 tool has" : `${invalid.length} tools have`} an invalid inputSchema.`;
  const evidence = [...lines.slice(0, maxFaults), ...(rest > 0 ? [`and ${rest} more`] : [])];
  const fix = "Correct the schema: hosts refuse such a tool, or its calls fail.";
  return [{ rule: "malformed-schema", severity: "error", message, evidence, fix }];
}

const unknownTool = /\bunknown tool\b|\btool\b.{0,80}\b(?:not found|does not exist|is not known)\b/i;
/** A schema without required parameters allows a call without arguments: refusing it contradicts the schema. */
const refusal =
  /\b(?:invalid|missing|required|expected|unrecognized|validation|schema|-32602|undefined|is not a function|cannot read)\b/i;

function diagnoseCall(tool: string, outcome: CallOutcome, hasFaults: boolean): Diagnosis | undefined {
  if (outcome.kind === "broken")
    return { ...diagnoseBrokenCall(tool, outcome.stage, outcome.message), evidence: [outcome.message] };
  const text = readFailure(outcome);
  if (text === undefined) return undefined;
  const failure = (outcome.kind === "result" && outcome.result.structuredContent) || parseJsonText(text);
  // Such a failure tells a model what to do about it.
  if (isJsonObject(failure) && failure.success === false && "retry_hint" in failure) return undefined;
  const evidence = [quoteAnswer(text)];
  if (outcome.kind === "unknown-tool" || unknownTool.test(text)) {
    const message = `"${tool}" is listed, but the server does not know it when it is called.`;
    const fix = "Handle calls under the names that are listed.";
    return { rule: "call-unknown", severity: "error", message, evidence, fix };
  }
  const contradicts = hasFaults || refusal.test(text);
  const fix = contradicts
    ? 'Correct its inputSchema: usually a type is wrong, or a required parameter is missing from "required".'
    : "If it needs something first, such as another call, a program or a setting, say so in its description.";
  const message = `A call of "${tool}" without arguments fails, although its schema requires none.`;
  return { rule: "call-fails", severity: contradicts ? "error" : "warning", message, evidence, fix };
}

function diagnoseBrokenCall(tool: string, stage: string, message: string): Omit<Diagnosis, "evidence"> {
  if (stage === "timeout")
    return {
      // Only a warning: some work takes long.
      rule: "call-silent",
      severity: "warning",
      message: `A call of "${tool}" was not answered in time.`,
      fix: "If the tool hangs, return an error result instead. If it is slow by nature, say so in its description.",
    };
  const status = findRefusal(message);
  return status
    ? {
        rule: "credentials",
        severity: "error",
        message: `A call of "${tool}" is refused with HTTP ${status}.`,
        fix: 'Give credentials that may call it, under "headers" or with `evals login`.',
      }
    : {
        rule: "call-breaks",
        severity: "error",
        message: `A call of "${tool}" breaks the server.`,
        fix: "Catch the exception in the tool, and return an error result that says how to recover.",
      };
}
