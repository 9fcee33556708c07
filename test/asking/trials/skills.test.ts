import { describe, expect, it } from "vitest";
import { createLibrary, offerSkills } from "../../../src/evals/asking/trials/skills.ts";
import { listSkills } from "../../../src/evals/base/search/skillListing.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { aSkill } from "../../fakes/skill.ts";
import { aTool } from "../../fakes/suite.ts";

const packages = new Map([
  ["pdf", aSkill("pdf", { body: "# Fill in forms\n" })],
  ["docx", aSkill("docx")],
]);
const read = async (_: unknown, path: string) =>
  path === "references/fields.md" ? { text: "the fields" } : { problem: `no ${path}` };
const files = [{ path: "data/in.csv", content: "a,b" }];

function library(readable: boolean, offered = ["pdf", "gone"]) {
  const { execute } = createLibrary({ packages, read }, new Set(offered), files, { readable, writable: true });
  return async (tool: string, args: JsonObject) => {
    const done = await execute({ id: "1", tool, arguments: args });
    if (done?.status !== "executed") return undefined;
    const [item] = done.result.content;
    return done.result.isError ? `error: ${item?.text}` : item?.text;
  };
}

describe("the list of skills of a host", () => {
  const many = Array.from({ length: 100 }, (_, at) =>
    aTool(`skill:s${String(at).padStart(2, "0")}`, { description: `Skill ${at} ${"w".repeat(500)}`, origin: "skill" }),
  );
  const offer = (listing?: "claude-code" | "codex") =>
    offerSkills(many.toReversed(), "skill-tool", { files: [], readable: false, listing });

  it("keeps every name in its order, and of the descriptions what fits the budget", () => {
    const [whole, claude, codex] = [offer(), offer("claude-code"), offer("codex")];
    for (const { catalog } of [whole, claude, codex]) expect(catalog?.map(({ name }) => name)[0]).toBe("s99");
    const full = ({ catalog = [] }: ReturnType<typeof offer>) =>
      catalog.filter(({ description }) => description.length > 500).map(({ name }) => name);
    expect([full(whole).length, full(codex).length]).toEqual([100, 0]);
    const skills = (whole.catalog ?? []).map(({ name, description }) => ({ name, description }));
    const kept = listSkills(skills, "claude-code").filter(({ shown }) => shown === "whole");
    expect(full(claude).toSorted()).toEqual(kept.map(({ name }) => name));
    expect(kept.length).toBeLessThan(60);
    expect(claude.prompt).toContain("\n- s99\n");
    expect(claude.prompt.length).toBeLessThan(26_000);
  });
});

describe("the library of a trial", () => {
  it("returns the instructions of a skill when its behavior is measured", async () => {
    const ask = library(true);
    const whole = "Launching skill: pdf\n\nBase folder of this skill: /skills/pdf\n\n# Fill in forms\n";
    expect(await ask("Skill", { skill: "pdf" })).toBe(whole);
    expect(await ask("Read", { file_path: "/skills/pdf/SKILL.md" })).toBe(whole);
    expect(await ask("Read", { file_path: "/skills/pdf/references/fields.md" })).toBe("the fields");
    expect(await ask("Read", { file_path: "/skills/pdf/nope.md" })).toBe("error: no nope.md");
    expect(await ask("Skill", { skill: " /pdf " })).toBe(whole);
    expect(await ask("Read", { file_path: "/skills/docx/../pdf/./SKILL.md" })).toBe(whole);
  });

  it("returns no instructions when only loading is measured", async () => {
    const ask = library(false);
    expect(await ask("Read", { file_path: "/skills/pdf/SKILL.md" })).toBe("Launching skill: pdf");
    expect(await ask("Skill", { skill: "pdf" })).toBe("Launching skill: pdf");
    const reference = "/skills/pdf/references/fields.md";
    expect(await ask("Read", { file_path: reference })).toBe(`error: There is no file ${reference}`);
  });

  it("returns nothing for a skill that is not offered, and no body for one that was removed", async () => {
    const ask = library(true);
    expect(await ask("Skill", { skill: "docx" })).toBe("error: Unknown skill: docx");
    expect(await ask("Read", { file_path: "/skills/docx/SKILL.md" })).toBe(
      "error: There is no file /skills/docx/SKILL.md",
    );
    expect(await ask("Skill", { skill: "gone" })).toBe("Launching skill: gone");
  });

  it("reads the case's files, by their whole path or from the project", async () => {
    const ask = library(false, []);
    expect(await ask("Read", { file_path: "/project/data/in.csv" })).toBe("a,b");
    expect(await ask("Read", { file_path: "data/in.csv" })).toBe("a,b");
    expect(await ask("Read", { file_path: "/etc/passwd" })).toBe("error: There is no file /etc/passwd");
    expect(await ask("Read", {})).toBe("error: Give file_path, the whole path of a file.");
  });

  it("does not answer other calls", async () => {
    expect(await library(true)("list_files", {})).toBeUndefined();
    expect(await library(true, [])("Skill", { skill: "pdf" })).toBeUndefined();
  });
});

describe("the workspace", () => {
  const call = library(true);
  it("is written to, and read as it is then", async () => {
    expect(await call("Write", { file_path: "/project/out/a.md", content: "made" })).toBe("Wrote /project/out/a.md");
    expect(await call("Read", { file_path: "out/a.md" })).toBe("made");
    await call("Write", { file_path: "/project/data/in.csv", content: "c" });
    expect(await call("Read", { file_path: "/project/data/in.csv" })).toBe("c");
  });

  it.each(["/skills/pdf/SKILL.md", "../x", "/etc/passwd", "/project/../x", "/project"])(
    "refuses to write %s",
    async (path) => {
      const refused = await call("Write", { file_path: path, content: "x" });
      expect(refused).toBe(`error: Only files under /project can be written: ${path} is not.`);
    },
  );

  it.each([
    ["/project/out/a.md/b", 'is in "out/a.md", which is a file'],
    ["out", 'is a folder, because "out/a.md" is in it'],
    ["x".repeat(256), "has a name of more than 255 bytes"],
  ])("refuses to write %s, which no file system would take", async (path, why) => {
    await call("Write", { file_path: "/project/out/a.md", content: "made" });
    expect(await call("Write", { file_path: path, content: "x" })).toBe(`error: "${path}" ${why}.`);
  });

  it("asks for path and text, and refuses what is too long", async () => {
    expect(await call("Write", { file_path: "/project/a" })).toContain("error: Give file_path");
    expect(await call("Write", { file_path: "a", content: "x".repeat(1024 * 1024 + 1) })).toContain("is longer than");
  });
});
