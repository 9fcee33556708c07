import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import type { Json } from "../../src/evals/base/types/json.ts";
import { suiteFileSchema } from "../../src/evals/base/types/suiteFile.ts";
import { toolSchema } from "../../src/evals/base/types/tool.ts";
import { projectSchema } from "../../src/evals/commands/projectSchema.ts";
import { checkSuite } from "../../src/evals/input/suites/validate.ts";
import { variantsFileSchema } from "../../src/evals/servers/overlay.ts";
import { type Block, generatedPage, pagePaths, readPage, root } from "./page.ts";

const pages = pagePaths.map(readPage);

describe("links", () => {
  it.each(pages.map((page) => [page.path, page] as const))("of %s lead somewhere", (path, { links }) => {
    const broken = links.filter(({ target }) => {
      if (/^(https:|mailto:)/.test(target)) return false;
      const [file = "", anchor] = target.split("#");
      const to = file === "" ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(root, to))) return true;
      return anchor !== undefined && !readPage(to).anchors.has(anchor);
    });
    expect(broken.map(({ line, target }) => `${path}:${line}: ${target}`)).toEqual([]);
  });
});

describe("paths of source files", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const names = new Set(sources.map((path) => basename(path)));
  it.each(["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/extending.md"])("in %s exist", (path) => {
    const quoted = [...readPage(path).text.matchAll(/`([\w./-]+)`/g)].map(([, token = ""]) => token);
    const missing = quoted.filter((token) =>
      /^(src|test|bench|docs)\//.test(token)
        ? !existsSync(join(root, token))
        : /^\w+\.ts$/.test(token) && !names.has(token),
    );
    expect(missing).toEqual([]);
  });

  it("in ARCHITECTURE.md are all folders", () => {
    const { text } = readPage("ARCHITECTURE.md");
    const folders = readdirSync(join(root, "src/evals"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map(({ name }) => `src/evals/${name}/`).filter((folder) => !text.includes(`\`${folder}\``))).toEqual(
      [],
    );
  });
});

it("leads from the README to every page", () => {
  const reached = new Set(["README.md"]);
  for (const path of reached) {
    for (const { target } of readPage(path).links) {
      const to = normalize(join(dirname(path), target.split("#")[0] ?? ""));
      if (pagePaths.includes(to)) reached.add(to);
    }
  }
  expect(pagePaths.filter((path) => !reached.has(path))).toEqual([]);
});

describe("the tables of dependencies", () => {
  const [, installed = "", bundled = ""] = readPage("docs/security.md").text.split("| package | why |");
  const list = (table: string) =>
    [...table.matchAll(/^\| ([^|]+) \| /gm)].flatMap(([, names = ""]) => names.split(", "));

  it("name what is installed with the package", () => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(list(installed).sort()).toEqual(Object.keys({ ...dependencies, ...optionalDependencies }).sort());
  });

  it("name every other package that the sources import", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
    const sources = files
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(join(root, "src", file), "utf8"));
    const imported = Object.keys(devDependencies).filter((name) =>
      sources.some((text) => text.includes(`from "${name}`) || text.includes(`import("${name}`)),
    );
    expect(list(bundled).sort()).toEqual(imported.filter((name) => name !== "vitest").sort());
  });
});

const stepSchema = z.looseObject({
  uses: z
    .string()
    .regex(/^([\w./-]+@(v\d+|[0-9a-f]{40})|\.\/node_modules\/tool-evals)$/)
    .optional(),
  run: z.string().optional(),
});
const workflowSchema = z.looseObject({
  name: z.string(),
  on: z.unknown(),
  permissions: z.looseObject({ contents: z.literal("read") }),
  jobs: z.record(
    z.string(),
    z.looseObject({
      "runs-on": z.string(),
      steps: z.array(stepSchema.refine(({ uses, run }) => (uses === undefined) !== (run === undefined))).min(1),
    }),
  ),
});

/** The shapes of the files that pages show, by a key that only they have. */
const shapes: Record<string, z.ZodType> = {
  jobs: workflowSchema,
  ci: projectSchema,
  variants: variantsFileSchema,
  tools: z.strictObject({ tools: z.array(toolSchema).min(1) }),
  mcpServers: z.strictObject({
    mcpServers: z.record(
      z.string(),
      z.looseObject({ command: z.string().optional(), args: z.array(z.string()).optional() }),
    ),
  }),
};

/** Parts of a suite, by what a comment above the block says that they are, and the suite that they are in. */
const parts: Record<string, (value: unknown) => unknown> = {
  cases: (value) => ({ cases: value }),
  args: (value) => ({ cases: [{ input: "x", expect: { tool: "x", args: value } }] }),
  servers: (value) => ({ distractors: value }),
};

function problemOf({ lang, text, notes }: Block): string | undefined {
  const value: unknown = lang === "json" ? JSON.parse(text) : parse(text);
  const part = notes.flatMap((note) => /^part: (\w+)$/.exec(note)?.[1] ?? [])[0];
  if (part === "none") return undefined;
  const isTool = (item: unknown) => typeof item === "object" && item !== null && "inputSchema" in item;
  const isTools = Array.isArray(value) && value.every(isTool);
  const listed = z.object({ tools: z.array(z.unknown()) }).safeParse(value).data?.tools;
  if (listed?.every(isTool)) return z.array(toolSchema).safeParse(listed).error?.message;
  const keys = value && typeof value === "object" ? Object.keys(value) : [];
  const key = keys.find((one) => one in shapes);
  const schema = isTools ? z.array(toolSchema) : key ? shapes[key] : suiteFileSchema;
  const wrap = parts[part ?? ""] ?? ((whole: unknown) => whole);
  const whole = wrap(value);
  const result = schema?.safeParse(whole);
  if (!result?.success) return z.prettifyError(result?.error ?? new z.ZodError([]));
  // What a schema cannot express, such as matchers.
  const hasCases = schema === suiteFileSchema && Array.isArray((whole as { cases?: unknown }).cases);
  return hasCases ? checkSuite(whole as Json).problems[0]?.message : undefined;
}

describe("snippets", () => {
  const written = pages.filter(({ path }) => path !== generatedPage);
  const snippets = written.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ lang }) => lang === "yaml" || lang === "json")
      .map((block) => [`${path}:${block.line}`, block] as const),
  );
  it.each(snippets)("%s is valid", (_, block) => {
    expect(problemOf(block)).toBeUndefined();
  });
});

describe("workflows", () => {
  const folder = join(root, ".github/workflows");
  it.each(readdirSync(folder))("%s is valid and asks for few permissions", (file) => {
    const { error } = workflowSchema.safeParse(parse(readFileSync(join(folder, file), "utf8")));
    expect(error && z.prettifyError(error)).toBeUndefined();
  });
});
