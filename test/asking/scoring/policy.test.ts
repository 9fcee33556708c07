import { describe, expect, it, test } from "vitest";
import { executable } from "../../../src/evals/asking/scoring/tools.ts";
import { type ExecutionPolicy, isWithin } from "../../../src/evals/base/types/flagValues.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";

const tool: OfferedTool = { name: "write_file", inputSchema: {}, server: "files", origin: "server" };
const policies: ExecutionPolicy[] = ["all", "additive", "read-only", "never", ["write_file"], ["other"]];

describe("a call is executed", () => {
  // Without annotations a tool counts as destructive, as the protocol defines.
  it.each<[OfferedTool["annotations"], string]>([
    [{ readOnlyHint: true }, "all, additive, read-only, write_file"],
    [{ destructiveHint: false }, "all, additive, write_file"],
    [{ readOnlyHint: false, destructiveHint: false }, "all, additive, write_file"],
    [undefined, "all, write_file"],
    [{ idempotentHint: true }, "all, write_file"],
    [{ readOnlyHint: false, destructiveHint: true }, "all, write_file"],
  ])("with the annotations %j under %s", (annotations, under) => {
    const permitting = policies.filter((policy) => executable({ ...tool, annotations }, policy).yes);
    expect(permitting.flat().join(", ")).toBe(under);
  });

  it("never for distractors, static tools, and models that make arguments up", () => {
    const readOnly = { ...tool, annotations: { readOnlyHint: true } };
    const no = (reason: string) => ({ yes: false, reason });
    expect(executable({ ...readOnly, origin: "distractor" }, "all")).toEqual(no("write_file is a distractor"));
    const ofList = executable({ ...readOnly, origin: "static" }, "all");
    expect(ofList).toEqual(no("write_file comes from a static list, not a server"));
    for (const policy of ["all", ["write_file"]] as ExecutionPolicy[])
      expect(executable(readOnly, policy, { makesUpArguments: true })).toEqual(
        no("a keyword search makes the arguments up"),
      );
  });
});

it.each<[ExecutionPolicy, string]>([
  ["all", "write_file is executed"],
  ["additive", "write_file is not annotated read-only or non-destructive (execute: additive)"],
  ["read-only", "write_file is not annotated read-only (execute: read-only)"],
  ["never", "no call is executed (execute: never)"],
  [["other"], "write_file is not among those of `execute`"],
])("the reason under %j", (policy, reason) => {
  const decision = executable(tool, policy);
  expect(decision.yes ? "write_file is executed" : decision.reason).toBe(reason);
});

test("a policy is within another one if that permits all its calls, whatever the annotations", () => {
  const table = policies.map((asked) => policies.map((permitted) => (isWithin(asked, permitted) ? "yes" : "no ")));
  expect(table.map((row) => row.join(" ").trim())).toEqual([
    "yes no  no  no  no  no",
    "yes yes no  no  no  no",
    "yes yes yes no  no  no",
    "yes yes yes yes yes yes",
    "yes no  no  no  yes no",
    "yes no  no  no  no  yes",
  ]);
});
