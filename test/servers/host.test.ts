import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import captured from "../../scripts/hostProfiles.json" with { type: "json" };
import { nameTool, presentTools, restoreArguments, showTool } from "../../src/evals/servers/host.ts";
import { hostProfiles } from "../../src/evals/servers/hostProfiles.ts";
import { applyVariant } from "../../src/evals/servers/overlay.ts";
import { aTool } from "../fakes/suite.ts";

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

const read = aTool("read", {
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, url: { type: "string" }, head: { type: "integer" } },
    required: ["head"],
    anyOf: [{ required: ["path"] }, { required: ["url"], properties: { path: false } }],
    if: { required: ["path"] },
    else: { properties: { path: false } },
    dependentRequired: { path: ["head", "url"] },
    dependentSchemas: { path: { properties: { path: true } } },
    default: { path: "/" },
  },
});
const renamed = { read: { name: "open_file", parameters: { path: { name: "file", description: "Which." } } } };

describe("a renamed tool", () => {
  const [own] = applyVariant([read], renamed);
  if (!own) throw new Error("it is there");

  it("keeps its own names, and is shown under the others wherever its schema has them", () => {
    expect(own).toMatchObject({ name: "read", shownAs: { name: "open_file", parameters: { path: "file" } } });
    expect(Object.keys(own.inputSchema.properties as object)).toEqual(["path", "url", "head"]);
    const { shownAs: _, ...rest } = own;
    expect(showTool(own)).toEqual({
      ...rest,
      name: "open_file",
      inputSchema: {
        type: "object",
        properties: {
          file: { type: "string", description: "Which." },
          url: { type: "string" },
          head: { type: "integer" },
        },
        required: ["head"],
        anyOf: [{ required: ["file"] }, { required: ["url"], properties: { file: false } }],
        if: { required: ["file"] },
        else: { properties: { file: false } },
        dependentRequired: { file: ["head", "url"] },
        dependentSchemas: { file: { properties: { path: true } } },
        default: { path: "/" },
      },
    });
  });

  it("keeps the name of its server in a whole configuration", () => {
    const [tool] = applyVariant([{ ...read, name: "files__read", ownName: "read" }], {
      files__read: { name: "open_file" },
    });
    expect(tool && showTool(tool)).toMatchObject({ name: "files__open_file", ownName: "open_file" });
  });

  it.each([
    ["plain", "open_file", "read"],
    ["claude-code", "mcp__s__open_file", "read"],
    ["codex", "mcp__s__open_file", "read"],
    ["plain", "read", "read (renamed)"],
    ["plain", "write", "write"],
  ] as const)("is shown by %s as %s, which is listed as %s", (host, shown, listed) => {
    expect(presentTools([own, aTool("list")], host).listedName(shown)).toBe(listed);
  });

  it("takes arguments under the names that are shown, and knows no others", () => {
    expect(restoreArguments(own, { file: "a", url: "b" })).toEqual({ path: "a", url: "b" });
    expect(restoreArguments(own, { path: "a" })).toEqual({ file: "a" });
    expect(restoreArguments(own, "no object")).toBe("no object");
    expect(restoreArguments({}, { path: "a" })).toEqual({ path: "a" });
  });

  test("no argument is lost or merged", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("path", "file", "url", "__proto__x"), fc.integer()), (args) => {
        const once = restoreArguments(own, args);
        expect(restoreArguments(own, once)).toEqual(args);
      }),
    );
  });
});
