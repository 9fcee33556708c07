import { expect, it } from "vitest";
import captured from "../../../scripts/hostProfiles.json" with { type: "json" };
import { nameTool } from "../../../src/evals/base/types/hostNames.ts";
import { hostProfiles } from "../../../src/evals/base/types/hostProfiles.ts";

it("writes names in the form of a host, and shortens long ones in its way", () => {
  const part = { kept: "-", other: "_" };
  const form = { prefix: "p_", separator: "__", server: { ...part, dropped: " ", lowerCase: true }, tool: part };
  expect(nameTool(form, "My Notes.x", "a b-C")).toBe("p_mynotes_x__a_b-C");
  expect(nameTool({ ...form, tool: "unchanged" }, "s", "a.b é")).toBe("p_s__a.b é");
  const long = (cut: "end" | "middle" | "omitted") => nameTool({ ...form, limit: 11, cut }, "s", "abcdefghij");
  expect([long("end"), long("middle"), long("omitted")]).toEqual(["p_s__abcdef", "p_s_...ghij", "p_s__abcdefghij"]);
});

it("has the versions, forms and tools of the captured profiles", () => {
  const forms = Object.entries(captured).map(([host, { title, version, names, ways }]) => {
    return [host, { title, version, names, builtIns: [...new Set(ways.flatMap((way) => way.builtIns))].join(" ") }];
  });
  expect(hostProfiles).toEqual(Object.fromEntries(forms));
});
