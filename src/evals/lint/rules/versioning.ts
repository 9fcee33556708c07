import { type Change, changesBetween } from "../../changes/compatibility.ts";
import { once } from "../../types/once.ts";
import type { Rule, VersionSubject } from "../rule.ts";

const docs = "README.md#lint";
const hints = "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations";
const results = "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema";

/** All rules are about the same changes, which take the time. */
const changesOf = once(({ before, after }: VersionSubject) => changesBetween(before, after));

type Told = Omit<Rule<VersionSubject>, "check" | "docs"> & { docs?: string };

/** A rule that there be no changes of these kinds. Those that need no mending are none of its business. */
function rule(kinds: readonly Change["kind"][], told: Told): Rule<VersionSubject> {
  return {
    docs,
    ...told,
    *check(subject) {
      for (const { kind, path, what, fix } of changesOf(subject)) {
        if (kinds.includes(kind) && fix !== undefined) yield { at: path, message: what, fix };
      }
    },
  };
}

/** What a newer list must not do to those who call the tools of the older one, or only with care. */
export const versioningRules: readonly Rule<VersionSubject>[] = [
  rule(["tool-removed", "tool-renamed"], {
    id: "version-tool-removed",
    severity: "error",
    why: "Calls of a tool that is no longer listed fail, and so does whoever names it: suites, skills, prompts.",
    clauses: ["a tool stays listed", "a tool keeps its name"],
  }),
  rule(["deprecated-early"], {
    id: "version-deprecated-early",
    severity: "error",
    why: "Callers move to a new version only while the old one still works and says where to go.",
    clauses: [
      "a tool is marked deprecated before it goes",
      "it stands beside its successor before it goes",
      "its successor is listed when it goes",
    ],
  }),
  rule(["successor-missing"], {
    id: "version-successor-missing",
    severity: "error",
    why: "A model that is told to use another tool calls it, and fails where it is not listed.",
    clauses: ["the tool that a deprecation names is listed"],
  }),
  rule(["parameter-removed"], {
    id: "version-parameter-removed",
    severity: "error",
    why: "A call that gives the parameter is refused, or what it asked for is silently left out.",
    clauses: ["a parameter stays", "a parameter keeps its name"],
  }),
  rule(["newly-required"], {
    id: "version-newly-required",
    severity: "error",
    why: "Calls that left the parameter out were right, and now fail.",
    clauses: ["a parameter that could be left out still can be", "a new parameter can be left out"],
  }),
  rule(["no-default"], {
    id: "version-no-default",
    severity: "warning",
    why: "Without a default nothing says that a call as it was made before still does what it did.",
    clauses: ["a new parameter has a default"],
  }),
  rule(["narrowed"], {
    id: "version-narrowed",
    severity: "error",
    docs: "https://json-schema.org/understanding-json-schema/reference",
    why: "Values that were taken are now refused.",
    clauses: [
      "types stay",
      "allowed values stay",
      "bounds stay as wide",
      "no pattern is added",
      "keys that no property names are still taken",
    ],
  }),
  rule(["default"], {
    id: "version-default-changed",
    severity: "error",
    docs: "https://json-schema.org/understanding-json-schema/reference/annotations",
    why: "A call that leaves the parameter out now does something else, though nobody changed the call.",
    clauses: ["a default stays what it was", "a default stays"],
  }),
  rule(["meaning"], {
    id: "version-meaning-changed",
    severity: "warning",
    why: "The same value now means something else; a new meaning belongs to a new tool, such as search_v2.",
    clauses: ["a parameter's description still says the same", "a parameter's unit stays"],
  }),
  rule(["output"], {
    id: "version-output-changed",
    severity: "error",
    docs: results,
    why: "Clients read the structured result by its schema, and fail where it holds less or other than they know.",
    clauses: [
      "an outputSchema stays",
      "a field of the result stays",
      "a field that was always there still is",
      "a field holds no values of other kinds",
    ],
  }),
  rule(["annotation"], {
    id: "version-annotation-changed",
    severity: "warning",
    docs: hints,
    why: "Hosts that were allowed to call the tool without asking now must ask, or a tool does more than users agreed to.",
    clauses: [
      "a tool that only reads stays so",
      "a tool that destroys nothing stays so",
      "a tool that can be repeated stays so",
      "a tool of a closed world stays so",
    ],
  }),
  rule(["unclear"], {
    id: "version-unclear",
    severity: "warning",
    why: "Whether calls still work cannot be told from the two schemas; somebody has to look.",
    clauses: ["patterns and formats stay", "conditions and branches stay"],
  }),
  {
    id: "version-reworded",
    severity: "info",
    docs,
    why: "Models are sensitive to wording down to the punctuation: what a change did shows when the queries are asked again.",
    clauses: ["a description stays as it was tested"],
    *check(subject) {
      for (const { kind, path, what } of changesOf(subject)) {
        if (kind === "wording")
          yield { at: path, message: what, fix: "Ask the suite again: evals run --check thorough." };
      }
    },
  },
];
