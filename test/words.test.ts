import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { outputNames } from "../src/evals/base/types/flagValues.ts";
import { commands } from "../src/evals/commands/index.ts";
import { outputJsonSchema } from "../src/evals/commands/outputs.ts";

const root = join(import.meta.dirname, "..");
const architecture = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

/** The rows of the table below a heading: the cells of each, without the head. */
function readTable(heading: string): string[][] {
  const [, section = ""] = architecture.split(`\n${heading}\n`);
  const rows =
    section
      .split("\n#")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("|")) ?? [];
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const retired = readTable("### Words that are not used").flatMap(([words = ""]) =>
  [...words.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word),
);
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, "src", file), "utf8") }));

/** The names of the properties anywhere in a JSON Schema. */
function listFields(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = "properties" in schema ? Object.keys(schema.properties as object) : [];
  return [...own, ...Object.values(schema).flatMap(listFields)];
}

test("each name of the glossary has one meaning", () => {
  const names = readTable("## Glossary").flatMap(([name = ""]) => name.toLowerCase().split(", "));
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(names.filter((name) => retired.includes(name))).toEqual([]);
});

test("no declaration, property or type has a name that is not used", () => {
  expect(retired.length).toBeGreaterThan(5);
  const name = `(?:${retired.join("|")})`;
  const declared = new RegExp(
    `\\b(?:const|let|function|type|class)\\s+${name}\\b|^\\s*(?:readonly\\s+)?${name}\\??:`,
    "im",
  );
  expect(
    sources.flatMap(({ file, text }) => (declared.test(text) ? [`${file}: ${declared.exec(text)?.[0]}`] : [])),
  ).toEqual([]);
});

test("no output has a field and no command a flag with such a name", () => {
  const fields = outputNames.flatMap((output) =>
    listFields(outputJsonSchema(output)).map((field) => `${output}: ${field}`),
  );
  expect(fields.length).toBeGreaterThan(500);
  expect(fields.filter((field) => retired.includes(field.split(": ")[1] ?? ""))).toEqual([]);
  const flags = commands.flatMap(({ flags }) => Object.keys(flags));
  expect(flags.filter((flag) => retired.includes(flag))).toEqual([]);
});

test("words are spelled the American way", () => {
  const british =
    /\b\w*(?:summaris|normalis|recognis|initialis|serialis|optimis|judgement|labelled\b|behaviour|neighbour|favour|catalogue|licence|centred?\b(?<!centered))\w*/gi;
  const found = [...sources, { file: "../ARCHITECTURE.md", text: architecture }].flatMap(({ file, text }) =>
    [...text.matchAll(british)].map(([word]) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});
