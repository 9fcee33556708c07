import { showValues } from "../../../base/text/text.ts";
import { recogniseDispatchers, writeDispatch } from "../../dispatchers.ts";
import { defineRules, type SuiteSubject, type ToolsetSubject } from "../rule.ts";

/** Rules about tools of a server that call other tools. */
export const dispatcherRules = defineRules<SuiteSubject>("docs/lint-rules.md", [
  {
    id: "dispatcher-undeclared",
    why: "Where one tool calls all others, every pick is that tool, and says nothing about the choice.",
    *check({ suite, listed = [] }) {
      for (const [name, rule] of Object.entries(recogniseDispatchers(listed))) {
        if (Object.hasOwn(suite.dispatch ?? {}, name)) continue;
        const does = rule.name === undefined ? "search for tools" : "call other tools";
        const message = `The tool "${name}" seems to ${does}, and the suite does not say how.`;
        yield { at: [], message, fix: `Add \`${writeDispatch({ [name]: rule })}\` to the suite.` };
      }
    },
  },
]);

/** The same for a list without a suite, which may have none yet. */
export const listedDispatcherRules = defineRules<ToolsetSubject>("docs/lint-rules.md", [
  {
    id: "dispatcher-tool",
    severity: "info",
    why: "Where one tool calls all others, every pick is that tool: a suite has to say how, so that the inner call is scored.",
    *check({ tools, hasSuites }) {
      const rules = recogniseDispatchers(tools);
      const names = Object.keys(rules);
      if (hasSuites || names.length === 0) return;
      const message = `These tools seem to call other tools, or to search for them: ${showValues(names)}.`;
      yield { at: [], message, fix: `Write in suites of this server: \`${writeDispatch(rules)}\`.` };
    },
  },
]);
