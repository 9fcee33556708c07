import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";

// Data flows one way, and this keeps it so: each room may import only the rooms named beside it (itself always).
const root = join(import.meta.dirname, "../src/evals");
const pure = ["types", "errors"];
const edges = ["suites", "skills", "toolsets", "models", "hosts", "runs"];
const rooms: Record<string, readonly string[]> = {
  errors: ["types"],
  types: ["errors"],
  io: ["errors"],
  version: [],
  stats: pure,
  search: pure,
  parsing: pure,
  jsonSchema: pure,
  scoring: [...pure, "jsonSchema"],
  changes: [...pure, "jsonSchema", "search"],
  verdicts: [...pure, "stats", "changes", "jsonSchema"],
  lint: [...pure, "search", "jsonSchema", "changes"],
  diagnosis: [...pure, "lint", "jsonSchema"],
  probes: [...pure, "jsonSchema"],
  reports: ["types", "errors", "stats", "verdicts", "scoring", "lint", "probes", "diagnosis", "changes"],
  suites: [...pure, "parsing"],
  skills: [...pure, "parsing"],
  processes: [],
  toolsets: [...pure, "parsing", "processes", "jsonSchema", "network"],
  network: ["errors"],
  models: [...pure, "search", "jsonSchema", "network"],
  hosts: [...pure, "processes"],
  runs: pure,
  trials: [...pure, "stats", "scoring", "verdicts"],
  workspace: [...pure, ...edges, "io", "version", "parsing", "scoring", "stats", "verdicts", "reports", "trials"],
  experiments: ["*"],
  inspection: ["*"],
  commands: ["*"],
  cli: ["*"],
};

/** What keeps a room pure: no import of its own of these. */
const impure = /^node:|^(write-file-atomic|@modelcontextprotocol|@anthropic-ai|openai)/;
const pureRooms = new Set([
  "types",
  "errors",
  "stats",
  "search",
  "jsonSchema",
  "changes",
  "scoring",
  "verdicts",
  "lint",
  "diagnosis",
  "probes",
  "reports",
]);
/** Hashing is a pure function of its input. */
const pureModules = new Set(["node:crypto"]);

type Import = { from: string; to: string; specifier: string };

const roomOf = (file: string) => relative(root, file).split("/")[0]?.replace(/\.ts$/, "") ?? "";

function importsOf(file: string): Import[] {
  const source = readFileSync(file, "utf8");
  const specifiers = [...source.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
  return specifiers.map((specifier) => {
    const target = specifier.startsWith(".") ? roomOf(normalize(join(dirname(file), specifier))) : "";
    return { from: relative(root, file), to: target, specifier };
  });
}

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join(root, file));

describe("layers", () => {
  it("has no file outside of a known room", () => {
    expect(files.map(roomOf).filter((room) => !(room in rooms))).toEqual([]);
  });

  it("imports only downwards", () => {
    const wrong = files.flatMap((file) => {
      const room = roomOf(file);
      const allowed = rooms[room] ?? [];
      return importsOf(file)
        .filter(
          ({ to, specifier }) =>
            specifier.startsWith(".") && to !== room && !allowed.includes("*") && !allowed.includes(to),
        )
        .map(({ from, specifier }) => `${from} imports ${specifier}`);
    });
    expect(wrong).toEqual([]);
  });

  it("lets only cli.ts import commands", () => {
    const wrong = files
      .filter((file) => !["cli", "commands"].includes(roomOf(file)))
      .flatMap((file) => importsOf(file).filter(({ to }) => to === "commands"))
      .map(({ from, specifier }) => `${from} imports ${specifier}`);
    expect(wrong).toEqual([]);
  });

  it("keeps the pure rooms free of the file system, the network, the clock, the environment and randomness", () => {
    const wrong = files
      .filter((file) => pureRooms.has(roomOf(file)))
      .flatMap((file) => {
        const modules = importsOf(file).filter(
          ({ specifier }) => impure.test(specifier) && !pureModules.has(specifier),
        );
        const globals =
          readFileSync(file, "utf8").match(/\b(Math\.random|Date\.now|new Date\(\)|process\.\w+|fetch\()/g) ?? [];
        return [
          ...modules.map(({ from, specifier }) => `${from} imports ${specifier}`),
          ...globals.map((use) => `${file} uses ${use}`),
        ];
      });
    expect(wrong).toEqual([]);
  });

  it("leaves exit codes, the console and the environment to cli.ts", () => {
    const wrong = files
      .filter((file) => roomOf(file) !== "cli")
      .filter((file) => /\bprocess\.(exit|env|stdout|stderr|argv)|\bconsole\./.test(readFileSync(file, "utf8")));
    expect(wrong).toEqual([]);
  });

  it("never reaches into the reference server", () => {
    expect(
      files
        .flatMap(importsOf)
        .filter(({ to }) => to.startsWith(".."))
        .map(({ from, specifier }) => `${from} imports ${specifier}`),
    ).toEqual([]);
  });
});
