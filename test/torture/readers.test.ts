import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvalsError } from "../../src/evals/base/types/errors.ts";
import { accept } from "../../src/evals/experiments/baseline/accept.ts";
import { run } from "../../src/evals/experiments/run/run.ts";
import { summarizer } from "../../src/evals/experiments/run/summary.ts";
import { readVariants } from "../../src/evals/experiments/variants/ask.ts";
import { loadLintSettings, loadSuites, readCaseList } from "../../src/evals/input/suites/load.ts";
import { readBaseline, readNights } from "../../src/evals/records/baseline.ts";
import { readManifest, readTrials } from "../../src/evals/records/record.ts";
import { resolveServer } from "../../src/evals/servers/spec.ts";
import { TokenStore, tokenFile } from "../../src/evals/servers/tokens.ts";
import { readStaticList } from "../../src/evals/servers/toolList.ts";
import { endpoint, project, runDefaults } from "../experiments/pipeline/project.ts";

/** Spoiled texts per reader: more with EVALS_TORTURE=long. */
const numRuns = process.env.EVALS_TORTURE === "long" ? 20_000 : 150;

/** What readers may stumble over. */
const pieces = [
  ...["{", "}", "[", "]", ",", ":", '"', "'", "\\", "\n", "\r\n", "\t", "- ", "#", "//", "/*", "&a ", "*a", "!!js "],
  ...["|", "<<: ", "\u0000", "\uFEFF", "\u2028", "\uD800", "\u202E", "é🙂", "__proto__", '"__proto__": 1,'],
  ...["constructor", "toString", "null", "true", "-1", "0.5", "1e999", "9007199254740993", "NaN", '""', "[]", "{}"],
  ...["[[[[", `\${A`, `\${A:-}`, "$not", "$gte", "x".repeat(5_000), "[".repeat(300)],
];
/** Values in place of those that a file should have. */
const oddValues: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e308, "", "x", "\u0000", "*", "__proto__", "constructor", [], {}, [[]], [null]],
  ...[{ __proto__: 1 }, { $gte: "x" }, { $not: {} }, { tool: {} }, ["x", "x"], "x".repeat(3_000)],
];

type Spoil =
  | { kind: "insert" | "cut" | "repeat"; at: number; length: number; piece: string }
  | { kind: "value"; at: number; value: unknown };
const spoil: fc.Arbitrary<Spoil> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("insert" as const, "cut" as const, "repeat" as const),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat({ max: 60 }),
    piece: fc.constantFrom(...pieces),
  }),
  fc.record({
    kind: fc.constant("value" as const),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    value: fc.constantFrom(...oddValues),
  }),
);

function apply(text: string, change: Spoil): string {
  if (change.kind === "value") return replaceValue(text, change.at, change.value);
  const from = Math.floor(change.at * text.length);
  const part = text.slice(from, from + change.length);
  const middle = { insert: change.piece + part, cut: "", repeat: part + part }[change.kind];
  return text.slice(0, from) + middle + text.slice(from + change.length);
}

/** Replaces one value of a JSON text, or of one line of it; another text is left as it is. */
function replaceValue(text: string, at: number, value: unknown): string {
  const lines = text.split("\n").filter(Boolean);
  const line = lines[Math.floor(at * lines.length)] ?? "";
  for (const whole of [text, line]) {
    let data: unknown;
    try {
      data = JSON.parse(whole);
    } catch {
      continue;
    }
    const locations: (readonly [Record<string, unknown>, string])[] = [];
    const walk = (node: unknown) => {
      if (typeof node !== "object" || node === null) return;
      for (const [key, child] of Object.entries(node)) {
        locations.push([node as Record<string, unknown>, key]);
        walk(child);
      }
    };
    walk(data);
    const [holder, key] = locations[Math.floor(at * 7919 * locations.length) % locations.length] ?? [];
    if (holder && key !== undefined) holder[key] = value;
    return text.replace(whole, () => JSON.stringify(data));
  }
  return text;
}

/** A project with one file of every kind. */
async function everyFile() {
  const made = project();
  const { model, asked } = await endpoint();
  const options = { ...runDefaults, ...asked, model: [model], trials: 3 };
  await run(options, made.io());
  await accept({ baselines: "evals/baselines", out: "reports", force: true }, made.io());
  await run({ ...options, nightly: true }, made.io());
  const [id = ""] = made.records();
  const accepted = readdirSync(join(made.dir, "evals/baselines"));
  const find = (end: RegExp) => join(made.dir, "evals/baselines", accepted.find((name) => end.test(name)) ?? "none");
  return {
    ...made,
    id,
    folder: join(made.dir, "reports", id),
    baselineFile: find(/(?<!nights)\.json$/),
    nights: find(/nights\.jsonl$/),
  };
}

const suite = `name: odd
server: { tools: tools.json }
trials: 3
lint: { severities: { tool-description-what: info } }
cases:
  - id: a
    input: [Read notes.txt, Show notes.txt]
    expect: { tool: [read, list], args: { path: { $matches: "^n.*t$" }, n: { $gte: 3 } } }
  - { input: Good morning, expect: { tool: none } }
  - id: c
    messages: [{ role: user, content: hi }]
    expect: { calls: [{ tool: read, result: { contains: x } }, { tool: list, optional: true }], order: any }
`;
const host = JSON.stringify({
  mcpServers: {
    one: { command: "node", args: ["a.js", `\${A:-b}`], env: { B: `\${C}` }, cwd: "." },
    two: { url: "https://x.y/mcp", headers: {} },
  },
});
const tools = JSON.stringify({
  tools: [
    {
      name: "read",
      description: "Reads.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      annotations: { readOnlyHint: true },
    },
  ],
});
const variants = JSON.stringify({ variants: { short: { read: { description: "Reads a file." } } } });
const login = JSON.stringify({
  url: "https://x.y/mcp",
  client: { client_id: "a" },
  tokens: { access_token: "b", token_type: "Bearer" },
});

describe("every reader of a spoiled file", () => {
  it("reads it or refuses it with a message, and never fails otherwise", { timeout: 3_600_000 }, async () => {
    const files = await everyFile();
    const { dir, folder, id } = files;
    const at = (name: string) => join(dir, name);
    const manifest = await readManifest(folder);
    const env = { HOME: dir };
    const readers: Record<string, { file: string; text: string; read(): unknown }> = {
      "a suite in YAML": { file: at("odd.yaml"), text: suite, read: () => loadSuites(["odd.yaml"], { cwd: dir }) },
      "a suite in JSON": {
        file: at("odd.json"),
        text: readFileSync(at("evals/files.json"), "utf8"),
        read: () => loadSuites(["odd.json"], { cwd: dir }),
      },
      "lint settings": {
        file: at("lint.yaml"),
        text: "severities: { tool-description-what: info }\nignore:\n  - { rule: tool-name-verb, reason: kept }\n",
        read: () => loadLintSettings("lint.yaml", { cwd: dir }),
      },
      "a host file": {
        file: at("mcp.json"),
        text: host,
        read: () => resolveServer({ config: at("mcp.json"), name: "one" }, "one", "/", { env }),
      },
      "a tool list": { file: at("list.json"), text: tools, read: () => readStaticList(at("list.json")) },
      "cases in CSV": {
        file: at("cases.csv"),
        text: 'id,input,tool\na,"Read, now",read\nb,"Say ""hi""",none\n',
        read: () => readCaseList(at("cases.csv"), "cases.csv"),
      },
      "cases in JSON Lines": {
        file: at("cases.jsonl"),
        text: '{"id":"a","input":"x","expect":{"tool":"read"}}\n{"id":"b","input":"y","expect":{"tool":"none"}}\n',
        read: () => readCaseList(at("cases.jsonl"), "cases.jsonl"),
      },
      variants: { file: at("variants.json"), text: variants, read: () => readVariants("variants.json", dir) },
      "a baseline": {
        file: files.baselineFile,
        text: readFileSync(files.baselineFile, "utf8"),
        read: () => readBaseline(files.baselineFile),
      },
      nights: {
        file: files.nights,
        text: readFileSync(files.nights, "utf8"),
        read: () => readNights(files.nights, { suite: "files", model: "anthropic:claude-haiku-5-5", baseline: id }),
      },
      "a manifest": {
        file: join(folder, "run.json"),
        text: readFileSync(join(folder, "run.json"), "utf8"),
        read: async () => summarizer(await readManifest(folder), folder).summary(),
      },
      "a journal": {
        file: join(folder, "trials.jsonl"),
        text: readFileSync(join(folder, "trials.jsonl"), "utf8"),
        read: async () => {
          const results = summarizer(manifest, folder);
          for await (const trial of readTrials(folder, id)) results.add(trial);
          return results.summary();
        },
      },
      "a login": {
        file: tokenFile("https://x.y/mcp", env),
        text: login,
        read: () => new TokenStore("https://x.y/mcp", env).read(),
      },
    };
    const refused: Record<string, number> = {};
    for (const [name, { file, text, read }] of Object.entries(readers)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      await read();
      refused[name] = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(spoil, { minLength: 1, maxLength: 3 }), async (changes) => {
          writeFileSync(file, changes.reduce(apply, text));
          try {
            await read();
          } catch (error) {
            expect(error, `${name}: ${String((error as Error).stack).slice(0, 600)}`).toBeInstanceOf(EvalsError);
            refused[name] = (refused[name] ?? 0) + 1;
          }
        }),
        { numRuns },
      );
      writeFileSync(file, text);
    }
    for (const [name, count] of Object.entries(refused)) expect(count, name).toBeGreaterThan(0);
  });
});
