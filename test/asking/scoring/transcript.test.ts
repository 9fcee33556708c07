import { describe, expect, it } from "vitest";
import {
  buildTextTranscript,
  buildTranscript,
  concernsSkill,
  limits,
  type Transcript,
} from "../../../src/evals/asking/scoring/transcript.ts";
import type { Call, Turn } from "../../../src/evals/base/types/trial.ts";
import { call, executed, refusal, turn } from "./make.ts";

const user = [{ role: "user" as const, content: "Compress my photos" }];
const said = (text: string, ...calls: Call[]): Turn => ({ ...turn(...calls), text });
const lines = (transcript: Transcript) => transcript.map(({ of, label, text }) => `${of}: ${label}: ${text}`);

describe("the transcript that a judge is shown", () => {
  it("holds the request, what was said, the calls and what came of each, in order", () => {
    const turns = [
      said(
        "I look.",
        call("list", { path: "." }, executed("a.jpg\nb.jpg")),
        call("stat", {}, executed("gone", {}, true)),
      ),
      said("", call("rm", { path: "a.jpg" }, { status: "skipped", reason: "rm is not annotated read-only" })),
      said("", { id: "1", tool: "size", argumentsText: "{broken" }, call("info", {}, executed("", { ok: true }))),
      said("Which size do you want?"),
    ];
    const messages = [{ role: "system" as const, content: "Be brief." }, ...user];
    expect(lines(buildTranscript(messages, turns))).toMatchInlineSnapshot(`
      [
        "given: the model was instructed: Be brief.",
        "given: the user says: Compress my photos",
        "done: the model says: I look.",
        "done: the model calls: list {"path":"."}",
        "done: the call returned: a.jpg
      b.jpg",
        "done: the model calls: stat {}",
        "done: the call returned an error: gone",
        "done: the model calls: rm {"path":"a.jpg"}",
        "done: that call was not executed: rm is not annotated read-only",
        "done: the model calls: size {broken",
        "done: that call was not executed: no result is on the record",
        "done: the model calls: info {}",
        "done: the call returned: {"ok":true}",
        "done: the model says: Which size do you want?",
      ]
    `);
  });

  it("says so where the model said nothing, refused, or was not asked again", () => {
    expect(lines(buildTranscript(user, [turn()])).slice(1)).toEqual(["done: the model ends: (it said nothing)"]);
    const refused = [refusal, { ...refusal, text: "I will not." }];
    expect(refused.map((one) => lines(buildTranscript(user, [one])).slice(1))).toEqual([
      ["done: the model ends: (it refused, without a word)"],
      ["done: the model refuses: I will not."],
    ]);
    expect(lines(buildTranscript(user, [said("", call("list", {}, executed("a")))])).at(-1)).toBe(
      "note: note: the trial ended here; the model was not asked again",
    );
  });

  it("is the same with a skill and without one, but for what the model makes of it", () => {
    const work = [said("On it.", call("list", {}, executed("a.jpg"))), said("Done.")];
    const withSkill = [
      said("", call("Skill", { skill: "image-compressor" }, executed("Launching skill: image-compressor"))),
      said("", call("Read", { file_path: "/skills/image-compressor/references/sizes.md" }, executed("1 MB"))),
      ...work,
    ];
    expect(buildTranscript(user, withSkill)).toEqual(buildTranscript(user, work));
  });

  it.each<[Call, boolean]>([
    [call("Skill", { skill: "a" }), true],
    [{ id: "1", tool: "Skill", argumentsText: "{" }, true],
    [call("Read", { file_path: "/skills/a/SKILL.md" }), true],
    [call("Read", { file_path: "/skills/a/scripts/run.py" }), true],
    [call("Read", { file_path: "/home/me/.claude/skills/a/notes.md" }), true],
    [call("Read", { file_path: ".agents/skills/a/notes.md" }), true],
    [call("read_file", { path: "/home/me/.claude/skills/a/SKILL.md" }), true],
    [call("Bash", { command: "cat /skills/a/SKILL.md" }), true],
    [call("Glob", { pattern: ".claude/skills/*/SKILL.md" }), true],
    [call("Grep", { pattern: "Steps", path: ".claude/skills/a" }), true],
    [call("Grep", { pattern: "Steps", path: "src" }), false],
    [call("Read", { file_path: "/project/skills/a/notes.md" }), false],
    [call("Read", { file_path: "/project/notes.md" }), false],
    [call("read_file", { path: "skills.txt" }), false],
    [call("list", {}), false],
  ])("leaves out what tells the arm: %j %s", (made, left) => {
    expect(concernsSkill(made)).toBe(left);
    const calls = buildTranscript(user, [turn(made), said("ok")]).filter(({ label }) => label === "the model calls");
    expect(calls).toHaveLength(left ? 0 : 1);
  });

  it("leaves the files of skills out of what a search of the project found", () => {
    const found = executed("src/a.ts\n.claude/skills/a/notes.md\n/tmp/p/.claude/skills/a/SKILL.md\nnotes/SKILL.md");
    const [, , given] = buildTranscript(user, [said("", call("Glob", { pattern: "**/*" }, found)), said("ok")]);
    expect(given).toEqual({ of: "done", label: "the call returned", text: "src/a.ts" });
  });

  it("cuts the middle of a long text, says so, and splits no character", () => {
    const long = `${"a".repeat(limits.entry / 2 - 1)}😀${"b".repeat(5_000)}😀${"c".repeat(limits.entry / 2 - 1)}`;
    const [start, note, end, ...more] = buildTextTranscript(long);
    expect(more).toEqual([]);
    expect(start).toEqual({ of: "done", label: "the transcript", text: "a".repeat(limits.entry / 2 - 1) });
    expect(note?.text).toBe(`${long.length - limits.entry} characters of this are left out here`);
    expect(end).toEqual({ of: "done", label: "the transcript (its end)", text: "c".repeat(limits.entry / 2 - 1) });
  });

  it("drops the middle of a long trial, says so, and keeps the request and the last reply", () => {
    const turns = Array.from({ length: 50 }, (_, at) => said(`${at} `.repeat(2_000), call("go", {}, executed("x"))));
    const transcript = buildTranscript(user, [...turns, said("All done.")]);
    const size = transcript.reduce((sum, { text }) => sum + text.length, 0);
    expect(size).toBeLessThanOrEqual(limits.transcript + 100);
    expect(transcript[0]?.text).toBe("Compress my photos");
    expect(transcript.at(-1)?.text).toBe("All done.");
    expect(transcript.filter(({ of }) => of === "note")).toEqual([
      { of: "note", label: "note", text: expect.stringMatching(/^entries left out here: \d+, with \d+ characters$/) },
    ]);
  });
});
