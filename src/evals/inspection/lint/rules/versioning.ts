import { once } from "../../../base/collections.ts";
import type { ChangeEffect } from "../../../servers/changes/parameters.ts";
import { listEffects } from "../../../servers/changes/tools.ts";
import { defineRules, type RuleHead, type VersionSubject } from "../rule.ts";

/** Memoized for all rules, because the comparison takes most of the time. */
const getEffects = once(({ before, after }: VersionSubject) => listEffects(before, after));

/** A rule that reports effects of `kinds` (default: that of its id), if the effect or the rule has a `fix`. */
type Row = RuleHead & { kinds?: readonly ChangeEffect["kind"][]; fix?: string };

const schemaReference = "https://json-schema.org/understanding-json-schema/reference";
const specification = "https://modelcontextprotocol.io/specification/2025-11-25";

const rows: readonly Row[] = [
  {
    id: "version-tool-removed",
    kinds: ["tool-removed", "tool-renamed"],
    severity: "error",
    why: "Calls of a tool that is no longer listed fail, and so does everything that names it: suites, skills, prompts.",
  },
  {
    id: "version-deprecated-early",
    severity: "error",
    why: "Callers can move to a new version only while the old one still works and names its successor.",
  },
  {
    id: "version-successor-missing",
    severity: "error",
    why: "A model that is referred to another tool calls it, and the call fails where it is not listed.",
  },
  {
    id: "version-parameter-removed",
    severity: "error",
    why: "A call that gives the parameter is rejected, or what it asked for is silently ignored.",
  },
  { id: "version-newly-required", severity: "error", why: "Calls without the parameter were valid and now fail." },
  {
    id: "version-no-default",
    why: "Without a default, nothing says that a call made as before still does what it did.",
  },
  {
    id: "version-narrowed",
    severity: "error",
    docs: schemaReference,
    why: "Values that were accepted are now rejected.",
  },
  {
    id: "version-default-changed",
    kinds: ["default"],
    severity: "error",
    docs: `${schemaReference}/annotations`,
    why: "A call without the parameter now does something else, although nobody changed the call.",
  },
  {
    id: "version-meaning-changed",
    kinds: ["meaning"],
    why: "The same value now means something else; a new meaning belongs in a new tool, such as search_v2.",
  },
  {
    id: "version-output-changed",
    kinds: ["output"],
    severity: "error",
    docs: `${specification}/server/tools#output-schema`,
    why: "Clients read the structured result by its schema, and fail where a field is missing or has other values.",
  },
  {
    id: "version-annotation-changed",
    kinds: ["annotation"],
    docs: `${specification}/schema#toolannotations`,
    why: "Hosts that could call the tool without asking must now ask, or a tool does more than users agreed to.",
  },
  { id: "version-unclear", why: "The two schemas do not show whether calls still work, so someone has to look." },
  {
    id: "version-reworded",
    kinds: ["wording"],
    severity: "info",
    why: "Models react to wording down to the punctuation: only asking the queries again shows what a change did.",
    fix: "Run the suite again: `evals run --check on`.",
  },
];

export const versioningRules = defineRules<VersionSubject>(
  "docs/lint-rules.md",
  rows.map(({ kinds, fix: given, ...rule }) => ({
    ...rule,
    *check(subject) {
      for (const { kind, path, what, fix = given } of getEffects(subject)) {
        const isMeant = kinds ? kinds.includes(kind) : rule.id === `version-${kind}`;
        if (isMeant && fix !== undefined) yield { at: path, message: what, fix };
      }
    },
  })),
);
