import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";

// Data flows one way. The rooms under src/evals stand in this order; each imports only rooms below it (and itself).
const root = join(import.meta.dirname, "../src/evals");
const rooms = [
  ["cli", "vitest"],
  ["index"],
  ["options"],
  ["commands"],
  ["view", "page"],
  ["reading", "inspection"],
  ["experiments"],
  ["asking"],
  ["records"],
  ["servers"],
  ["input"],
  ["reports"],
  ["base"],
];

/** What the subjects of `experiments/` and `inspection/` share. */
const sharedFolders: Readonly<Record<string, readonly string[]>> = {
  experiments: ["pipeline", "workspace", "design", "results", "reporting"],
  inspection: [],
};
/** Subjects that import another one, and why. The list only gets shorter. */
const subjectImports = [
  // A run is composed of these, and none of them imports it.
  ...["arms", "baseline", "blame", "check", "drift", "queue", "variants"].map(
    (subject) => `experiments/run imports ${subject}`,
  ),
  // A search ends with the test of variants.
  "experiments/improve imports variants",
  // A comparison is a check of two records.
  "experiments/compare imports check",
  // To turn: a record keeps the results of a run, and knows the reports of every subject.
  "experiments/pipeline imports run",
  ...["blame", "compare", "improve", "run", "variants"].map((subject) => `experiments/reporting imports ${subject}`),
  // One of the rules of lint ranks tools as a search does.
  "inspection/lint imports search",
  // The first look at a server shows what lint finds, and speaks its language of names.
  "inspection/init imports lint",
];

/** Where pure files live: no file system, network, clock, environment or unseeded randomness. */
const pureFolders = [
  "base/stats",
  "base/search",
  "base/jsonSchema",
  "base/text",
  "base/types",
  "servers/changes",
  "servers/diagnosis",
  "asking/scoring",
  "experiments/arms",
  "experiments/design",
  "experiments/results",
  "inspection/lint/rules",
  "inspection/doctor/diagnosis",
  "inspection/probe/plan",
  "reports",
];
/** What a subject decides, records and reports is pure, wherever it lives. */
const pureNames = /(^|\/)(design|sampled|hypotheses|scores|verdict|record|report|sentences|playedCase|\w+Report)\.ts$/;
const isPure = (file: string) =>
  (pureFolders.some((folder) => relative(root, file).startsWith(`${folder}/`)) ||
    pureNames.test(relative(root, file))) &&
  !["records/record.ts", "experiments/pipeline/record.ts", "experiments/reporting/report.ts"].includes(
    relative(root, file),
  );

/** What a pure file does not import. */
const impure = /^node:|^(@modelcontextprotocol|@anthropic-ai|openai)/;
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
  const floorOf = (room: string) => rooms.findIndex((floor) => floor.includes(room));

  it("has no file outside of a room", () => {
    expect(files.map(directoryIn).filter((room) => floorOf(room) < 0)).toEqual([]);
  });

  it("imports only downwards", () => {
    const wrong = files.flatMap((file) => {
      const room = directoryIn(file);
      return importsOf(file)
        .filter(({ to, specifier }) => specifier.startsWith(".") && to !== room && floorOf(to) <= floorOf(room))
        .map(({ from, specifier }) => `${from} imports ${specifier}`);
    });
    expect(wrong).toEqual([]);
  });

  it("keeps subjects apart: each imports only what they share", () => {
    const found = files.flatMap((file) => {
      const [room = "", subject = "", ...rest] = relative(root, file).split("/");
      const shared = sharedFolders[room];
      if (!shared || rest.length === 0) return [];
      return importsOf(file).flatMap(({ specifier }) => {
        const [to, other = "", ...more] = relative(root, normalize(join(dirname(file), specifier))).split("/");
        const isOther = specifier.startsWith(".") && to === room && more.length > 0 && other !== subject;
        return isOther && !shared.includes(other) ? [`${room}/${subject} imports ${other}`] : [];
      });
    });
    expect([...new Set(found)].sort()).toEqual([...subjectImports].sort());
  });

  it("lets only cli.ts and the library import commands", () => {
    const wrong = files
      .filter((file) => !["cli", "index", "options", "commands"].includes(directoryIn(file)))
      .flatMap((file) => importsOf(file).filter(({ to }) => to === "commands"))
      .map(({ from, specifier }) => `${from} imports ${specifier}`);
    expect(wrong).toEqual([]);
  });

  it("keeps pure files free of the file system, the network, the clock, the environment and randomness", () => {
    const wrong = files.filter(isPure).flatMap((file) => {
      const modules = importsOf(file).filter(({ specifier }) => impure.test(specifier) && !pureModules.has(specifier));
      // A limit of processor time (limitTime.ts) has to measure it.
      const globals =
        readFileSync(file, "utf8").match(/\b(Math\.random|Date\.now|new Date\(\)|process\.(?!cpuUsage)\w+|fetch\()/g) ??
        [];
      return [
        ...modules.map(({ from, specifier }) => `${from} imports ${specifier}`),
        ...globals.map((use) => `${file} uses ${use}`),
      ];
    });
    expect(wrong).toEqual([]);
  });

  it("leaves exit codes, the console and the environment to cli.ts, the library and own processes and threads", () => {
    const wrong = files
      .filter(
        (file) =>
          !["cli", "index"].includes(directoryIn(file)) && !/\/(?:sourceProcess|modelProcess|thread)\.ts$/.test(file),
      )
      .filter((file) => /\bprocess\.(exit|env|stdout|stderr|argv)|\bconsole\./.test(readFileSync(file, "utf8")));
    expect(wrong).toEqual([]);
  });

  it("wraps comments where the formatter wraps code", () => {
    const isWide = (line: string) => line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line);
    const wide = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(isWide));
    expect(wide).toEqual([]);
  });

  it("serves with the 1.x SDK and connects with the 2.x client", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file).filter(
        ({ from, specifier }) =>
          (specifier.startsWith("@modelcontextprotocol/sdk") && !from.startsWith("asking/hosts/")) ||
          (specifier.startsWith("@modelcontextprotocol/client") && !from.startsWith("servers/")),
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
});
