import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";

// Data flows one way: each directory under src/evals imports only the directories listed here (and itself).
const root = join(import.meta.dirname, "../src/evals");
const edges = ["suites", "skills", "toolsets", "models", "hosts", "runs", "imports"];
const pure = [
  "stats",
  "search",
  "jsonSchema",
  "changes",
  "scoring",
  "verdicts",
  "decisions",
  "lint",
  "diagnosis",
  "probes",
  "reports",
];
const directories: Record<string, readonly string[]> = {
  types: [],
  stats: ["types"],
  search: ["types", "jsonSchema"],
  jsonSchema: ["types"],
  scoring: ["types", "jsonSchema"],
  changes: ["types", "jsonSchema", "search"],
  verdicts: ["types", "stats", "decisions", "changes", "jsonSchema"],
  decisions: ["types", "stats"],
  lint: ["types", "search", "jsonSchema", "changes"],
  diagnosis: ["types", "lint", "jsonSchema"],
  probes: ["types", "jsonSchema"],
  reports: [
    "types",
    "stats",
    "search",
    "decisions",
    "verdicts",
    "scoring",
    "lint",
    "probes",
    "diagnosis",
    "changes",
    "jsonSchema",
  ],
  // What a browser runs: bundled on its own, and imported by nothing.
  page: ["types", "stats", "reports"],
  parsing: ["types"],
  processes: [],
  files: [],
  code: [],
  network: ["types"],
  suites: ["types", "parsing", "files", "code"],
  imports: ["types", "parsing"],
  skills: ["types", "parsing"],
  toolsets: ["types", "parsing", "processes", "files", "jsonSchema", "network"],
  models: ["types", "search", "jsonSchema", "network", "code", "files"],
  hosts: ["types", "processes", "network"],
  runs: ["types", "files"],
  batches: ["types", "files", "runs"],
  trials: ["types", "stats", "search", "scoring", "verdicts", "decisions"],
  workspace: [
    "types",
    ...edges,
    "parsing",
    "files",
    "code",
    "search",
    "scoring",
    "stats",
    "verdicts",
    "reports",
    "trials",
  ],
  queue: ["types", "runs", "toolsets", "trials", "workspace"],
  experiments: [
    "types",
    ...edges,
    ...pure,
    "parsing",
    "files",
    "network",
    "code",
    "batches",
    "trials",
    "workspace",
    "queue",
  ],
  inspection: ["types", ...edges, ...pure, "parsing", "files", "processes", "network", "trials", "workspace"],
  tryout: ["types", ...edges, ...pure, "parsing", "trials", "workspace", "experiments", "inspection"],
  view: ["types", "runs", "reports", "verdicts", "decisions", "experiments"],
  commands: ["types", "view", "tryout", "experiments", "inspection", "queue", "workspace", "suites", "reports"],
  cli: ["types", "commands", "processes", "workspace"],
  options: [],
  index: ["types", "commands", "workspace", "options", ...pure],
  vitest: ["types", "index", "options", "inspection"],
};

/** What a pure directory does not import. */
const impure = /^node:|^(@modelcontextprotocol|@anthropic-ai|openai)/;
const pureDirectories = new Set(["types", ...pure]);
/** Hashing is a pure function of its input; node:vm only limits the time of synchronous work. */
const pureModules = new Set(["node:crypto", "node:vm"]);

type Import = { from: string; to: string; specifier: string };

const directoryIn = (file: string) =>
  relative(root, file)
    .split("/")[0]
    ?.replace(/\.tsx?$/, "") ?? "";

function importsOf(file: string, { types = true } = {}): Import[] {
  const text = readFileSync(file, "utf8");
  const source = types ? text : text.replace(/^(import|export) type [^;]*;$/gm, "");
  const specifiers = [...source.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
  return specifiers.map((specifier) => {
    const target = specifier.startsWith(".") ? directoryIn(normalize(join(dirname(file), specifier))) : "";
    return { from: relative(root, file), to: target, specifier };
  });
}

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => join(root, file));

describe("layers", () => {
  it("has no file outside of a known directory", () => {
    expect(files.map(directoryIn).filter((directory) => !(directory in directories))).toEqual([]);
  });

  it("imports only downwards", () => {
    const wrong = files.flatMap((file) => {
      const directory = directoryIn(file);
      const allowed = directories[directory] ?? [];
      return importsOf(file)
        .filter(({ to, specifier }) => specifier.startsWith(".") && to !== directory && !allowed.includes(to))
        .map(({ from, specifier }) => `${from} imports ${specifier}`);
    });
    expect(wrong).toEqual([]);
  });

  it("lets only cli.ts and the library import commands", () => {
    const wrong = files
      .filter((file) => !["cli", "index", "commands"].includes(directoryIn(file)))
      .flatMap((file) => importsOf(file).filter(({ to }) => to === "commands"))
      .map(({ from, specifier }) => `${from} imports ${specifier}`);
    expect(wrong).toEqual([]);
  });

  it("keeps the pure directories free of the file system, the network, the clock, the environment and randomness", () => {
    const wrong = files
      .filter((file) => pureDirectories.has(directoryIn(file)))
      .flatMap((file) => {
        const modules = importsOf(file).filter(
          ({ specifier }) => impure.test(specifier) && !pureModules.has(specifier),
        );
        // A limit of processor time (jsonSchema/watchdog.ts) has to measure it.
        const globals =
          readFileSync(file, "utf8").match(
            /\b(Math\.random|Date\.now|new Date\(\)|process\.(?!cpuUsage)\w+|fetch\()/g,
          ) ?? [];
        return [
          ...modules.map(({ from, specifier }) => `${from} imports ${specifier}`),
          ...globals.map((use) => `${file} uses ${use}`),
        ];
      });
    expect(wrong).toEqual([]);
  });

  it("leaves exit codes, the console and the environment to cli.ts and the library", () => {
    const wrong = files
      .filter((file) => !["cli", "index"].includes(directoryIn(file)))
      .filter((file) => /\bprocess\.(exit|env|stdout|stderr|argv)|\bconsole\./.test(readFileSync(file, "utf8")));
    expect(wrong).toEqual([]);
  });

  it("serves with the 1.x SDK and connects with the 2.x client", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file).filter(
        ({ from, specifier }) =>
          (specifier.startsWith("@modelcontextprotocol/sdk") && !from.startsWith("hosts/")) ||
          (specifier.startsWith("@modelcontextprotocol/client") && !from.startsWith("toolsets/")),
      ),
    );
    expect(wrong.map(({ from, specifier }) => `${from} imports ${specifier}`)).toEqual([]);
  });

  it("lets the page import from the product only what a browser can run", () => {
    const start = files.filter((file) => directoryIn(file) === "page");
    const reached = new Set(start);
    for (const file of reached)
      for (const { specifier } of importsOf(file, { types: false }))
        if (specifier.startsWith(".")) reached.add(normalize(join(dirname(file), specifier)));
    const wrong = [...reached].flatMap((file) =>
      importsOf(file, { types: false }).filter(({ specifier }) => /^(node:|zod$|#)/.test(specifier)),
    );
    expect(reached.size).toBeGreaterThan(start.length);
    expect(wrong.map(({ from, specifier }) => `${from} imports ${specifier}`)).toEqual([]);
  });

  it("never reaches into the reference server", () => {
    expect(
      files
        .flatMap((file) => importsOf(file))
        .filter(({ to }) => to.startsWith(".."))
        .map(({ from, specifier }) => `${from} imports ${specifier}`),
    ).toEqual([]);
  });
});

describe("import graph", () => {
  const source = join(import.meta.dirname, "../src");
  const modules = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => file.replaceAll("\\", "/"));
  const graph = new Map(modules.map((file) => [file, localImports(file)]));

  function localImports(file: string): string[] {
    const text = readFileSync(join(source, file), "utf8");
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
    const targets = specifiers.map((specifier) => normalize(join(dirname(file), specifier)).replaceAll("\\", "/"));
    return [...new Set(targets)].filter((target) => modules.includes(target));
  }

  /** The shortest way along `edges` from `start` back to `start`, or nothing. */
  function findCycle(start: string, edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
    const cameFrom = new Map<string, string>();
    const queue = [start];
    for (const node of queue) {
      for (const next of edges.get(node) ?? []) {
        if (next === start) {
          const path = [start];
          for (let at = node; at !== start; at = cameFrom.get(at) ?? start) path.unshift(at);
          return [start, ...path];
        }
        if (!cameFrom.has(next)) {
          cameFrom.set(next, node);
          queue.push(next);
        }
      }
    }
    return undefined;
  }

  it("has no import cycle, type imports included", () => {
    const cycles = modules.flatMap((file) => findCycle(file, graph)?.join(" -> ") ?? []);
    expect(cycles).toEqual([]);
  });

  it("has no two directories that import each other", () => {
    const pairs = new Map<string, string>();
    for (const [file, targets] of graph)
      for (const target of targets) {
        const [from, to] = [dirname(file), dirname(target)];
        if (from !== to) pairs.set(`${from} -> ${to}`, `${file} imports ${target}`);
      }
    const mutual = [...pairs].filter(([pair]) => pairs.has(pair.split(" -> ").reverse().join(" -> ")));
    expect(mutual.map(([, example]) => example)).toEqual([]);
  });
});
