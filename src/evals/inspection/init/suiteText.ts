import { visible } from "../../base/secrets/visible.ts";
import { cut } from "../../base/text/text.ts";
import type { Json } from "../../base/types/json.ts";
import type { DispatchRules, ServerSpec } from "../../base/types/suite.ts";
import { writeDispatch } from "../dispatchers.ts";
import type { Draft, DraftCase } from "./draft.ts";

/** Where editors find the schema of suites, relative to the folder of the suite. */
const schemaPath = (depth: string) => `${depth}node_modules/tool-evals/dist/schemas/suite.json`;

type SuiteFrame = {
  server: ServerSpec;
  name: string;
  toProject: string;
  dispatch?: DispatchRules;
  /** The file with the tools behind dispatchers, relative to the suite. */
  catalog?: string;
};

/**
 * The text of a suite with drafted cases, and comments on what to edit.
 * @param toProject the path from the suite's folder to the project, such as `../`
 */
export function renderSuite(
  { cases, left, writer }: Draft,
  { server, name, toProject, dispatch = {}, catalog }: SuiteFrame,
): string {
  const tools = cases.filter(({ tool }) => tool !== undefined);
  const lines = [
    `# yaml-language-server: $schema=${schemaPath(toProject)}`,
    ...(writer === undefined
      ? [
          `# Drafted by \`evals init\` from the tool list of ${comment(name)}. The queries use the words of the descriptions, which is too`,
          "# easy: replace each one by what your users write, and correct the arguments that you expect.",
        ]
      : [
          ...fill(
            `Drafted by \`evals init\` from the tool list of ${comment(name)}; queries by ${comment(writer)}.`,
            "# ",
          ),
          "# Read each query before you rely on it, and add those of your users.",
        ]),
    `server: ${flow(server as Json)}`,
    ...(Object.keys(dispatch).length === 0
      ? []
      : [
          "",
          "# These tools seem to call other tools, or to search for them. What they call is scored, so expect that.",
          `# Remove what is wrong${catalog === undefined ? '; name a list of the tools behind them with "catalog: <file>"' : ""}.`,
          writeDispatch(dispatch),
          ...(catalog === undefined ? [] : [`catalog: ${scalar(catalog)}`]),
        ]),
    "",
    "# trials: 5      # trials per case; a deterministic model gets one",
    "# passRate: 0.8  # a case passes when at least this share of its trials does",
    "# execute: read-only  # which calls are executed: read-only, additive, all, never, or a list of tools",
    "",
    "cases:",
    ...(tools.length === 0 && Object.keys(dispatch).length > 0
      ? [
          "  # The list shows no tool that a case could expect. Write cases for those behind the tools above, for example:",
          "  # - input: Which errors are open at acme?",
          "  #   expect: { tool: find_issues, args: { organization: acme } }",
        ]
      : []),
    ...tools.flatMap((one) => renderCase(one, writer !== undefined)),
    "  # No tool should be called for these. Add queries that sound like your tools and are not for them.",
    ...cases.filter(({ tool }) => tool === undefined).flatMap((one) => renderCase(one)),
    ...(left.length === 0 ? [] : ["", ...fill(`No case yet for: ${left.map(comment).join(", ")}.`, "  # ")]),
  ];
  return `${lines.join("\n")}\n`;
}

function renderCase({ id, input, tool, args, avoid, unfilled }: DraftCase, isWritten = false): string[] {
  const expected = {
    tool: tool ?? "none",
    ...(avoid && { avoid: avoid.tool }),
    ...(args && { args }),
  };
  const shared = avoid && avoid.shared.length > 0 ? ` (both are about: ${avoid.shared.map(comment).join(", ")})` : "";
  return [
    ...(avoid
      ? fill(
          `Near miss: ${isWritten ? "a query" : "write a query"} for ${comment(tool ?? "")} that ${comment(avoid.tool)} could be taken for${shared}.`,
          "  # ",
        )
      : []),
    ...(unfilled.length > 0
      ? fill(
          `The query also has to say: ${unfilled.map(comment).join(", ")} (required by ${comment(tool ?? "")}).`,
          "  # ",
        )
      : []),
    `  - id: ${scalar(id)}`,
    `    input: ${scalar(input)}`,
    `    expect: ${flow(expected)}`,
  ];
}

/** Foreign text on one line of a comment. */
const comment = (text: string) => visible(cut(text.replace(/\s+/g, " ")));

/** A comment in lines of at most about 120 columns. */
function fill(text: string, prefix: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && prefix.length + last.length + word.length >= 120) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.map((line) => prefix + line);
}

const notText = /^(?:true|false|null|yes|no|on|off|\.inf|\.nan)$/i;

/** Text as YAML: plain if that is unambiguous in both block and flow style, otherwise quoted. */
function scalar(text: string): string {
  const isPlain =
    /^(?:[A-Za-z_/]|\.[A-Za-z/]|\.\.(?:\/|$))[\w ./@=-]*$/.test(text) && !text.endsWith(" ") && !notText.test(text);
  if (isPlain) return text;
  return /^[\x20-\x26\x28-\x7e]*$/.test(text) && text.includes('"') ? `'${text}'` : escapeHidden(JSON.stringify(text));
}

/** Replaces hidden characters of a JSON string with escapes. */
const escapeHidden = (json: string) =>
  json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (sign) =>
    [...Array(sign.length).keys()].map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );

/** A value in YAML's flow style. */
function flow(value: Json): string {
  if (typeof value === "string") return scalar(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const members = Object.entries(value).map(([key, member]) => `${scalar(key)}: ${flow(member)}`);
  return `{ ${members.join(", ")} }`;
}
