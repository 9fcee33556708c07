import { expect, test } from "vitest";
import "tool-evals/vitest";

const server = "node server.mjs";

test("reads a note", async () => {
  await expect(server).toSelect("read_note", { for: 'Read me the note "shopping.md"', args: { name: "shopping.md" } });
});

test("searches, however it is asked", async () => {
  await expect(server).toSelect("search_notes", {
    for: ['Find the notes that contain "garden"', 'Search all notes for the word "seeds"'],
    trials: 10,
    rate: 0.9,
  });
});

test("leaves the weather to others", async () => {
  await expect(server).toSelect("none", { for: "What is the weather in Oslo?" });
});
