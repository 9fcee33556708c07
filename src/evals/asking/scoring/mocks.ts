import { once } from "../../base/collections.ts";
import { isJsonObject } from "../../base/types/json.ts";
import type { Mocks } from "../../base/types/suite.ts";
import type { Call, Execution } from "../../base/types/trial.ts";
import { member, noJudge, own, type Test } from "./match.ts";
import { compileMatcher } from "./matchers.ts";

/** The mocked result of a call; undefined if the call has to be executed. */
export type AnswerByMock = (call: Call) => Execution | undefined;

/** Compiles the mocks of a case. A dispatched call is answered by a mock of the inner tool, or of the dispatcher. */
export const compileMocks = once(({ list, unmatched }: Mocks): AnswerByMock => {
  const compiled = list.map((mock) => ({ mock, tests: compileArgs(mock.args ?? {}) }));
  return (call) => {
    const made = [...(call.inner ? [call.inner] : []), call];
    for (const { tool, arguments: args } of made) {
      const given = isJsonObject(args) ? args : {};
      const matches = ([name, test]: [string, Test]) =>
        test(own(given, name), member("args", name), noJudge).met === "yes";
      const found = compiled.find(({ mock, tests }) => mock.tool === tool && tests.every(matches));
      if (found) return { status: "executed", result: found.mock.result, ms: 0, mock: found.mock.label };
    }
    if (unmatched === "server") return undefined;
    const tool = made[0]?.tool ?? call.tool;
    const hasMock = list.some((mock) => mock.tool === tool);
    const why = hasMock ? `no mock of ${tool} matches these arguments` : `${tool} has no mock`;
    return { status: "skipped", reason: `${why} (unmatched: error)`, unmatched: true };
  };
});

function compileArgs(args: NonNullable<Mocks["list"][number]["args"]>): [string, Test][] {
  return Object.entries(args).map(([name, expected]) => [name, compileMatcher(expected)]);
}
