import { hash } from "node:crypto";
import { basename, dirname, extname, resolve } from "node:path";
import { defined, getOrAdd } from "../../base/collections.ts";
import { defaultPolicy } from "../../base/types/flagValues.ts";
import { canonicalJson, type Json, type JsonObject, type Path, toNumbers } from "../../base/types/json.ts";
import type { EvalFile } from "../../base/types/skill.ts";
import type { Case, Expectation, ExpectedCall, Suite } from "../../base/types/suite.ts";
import type { CaseFile } from "../../base/types/suiteFile.ts";
import type { Tool } from "../../base/types/tool.ts";
import { createSuiteFiles, overlayFiles, readCaseFiles } from "../parsing/caseFiles.ts";
import { realPath } from "../parsing/folders.ts";
import type { ParsedFile } from "../parsing/json.ts";
import { type ExpectFile, getKind, listCodeFiles, toNames, toToolNames } from "./expectation.ts";
import type { PathProblem } from "./explain.ts";
import { buildMocks } from "./mocks.ts";
import type { CheckedSuite, SuiteHeader } from "./validate.ts";

const defaults = {
  trials: 5,
  passRate: 0.8,
  maxTurns: 1,
  maxTurnsOfConversation: 8,
  execute: defaultPolicy,
  isolate: "run",
  unmatched: "error",
} as const;

/**
 * What was read for the cases: the hash of each code file, by path, and the workspace files of each case. `redact`
 * removes secrets from texts that ids are made of.
 */
type CaseContents = {
  code?: ReadonlyMap<string, string>;
  files?: WorkspaceFiles;
  redact?: ((text: string) => string) | undefined;
};

/** Builds the suite of a checked file, with defaults and hashes. The file's path is relative to `cwd`. */
export function buildSuite(
  { header, cases }: CheckedSuite,
  parsed: ParsedFile,
  cwd: string,
  { code = new Map(), files: workspaces = [], redact }: CaseContents = {},
): Suite {
  const { server, catalog, surfaces, lift, denial, lint, unreviewed, dispatch } = header;
  const share = shareEqualLists();
  const asked = cases.map(({ content }) => ({ id: content.id, input: getPrompt(content) }));
  const ids = createCaseIds(asked, redact);
  const suite = {
    name: header.name ?? basename(parsed.file, extname(parsed.file)),
    file: parsed.file,
    dir: dirname(resolve(cwd, parsed.file)),
    distractors: header.distractors ?? [],
    skills: header.skills ?? [],
    execute: header.execute ?? defaults.execute,
    isolate: header.isolate ?? defaults.isolate,
    ...defined({ server, catalog, surfaces, lift, denial, lint, unreviewed, dispatch }),
    ...(dispatch && { dispatchLocation: (path: readonly string[]) => parsed.location(["dispatch", ...path]) }),
    ...(header.model !== undefined && { models: toNames(header.model) }),
    cases: cases.map(({ path, content }, i) => {
      const id = ids[i] ?? "";
      const files = code.size > 0 ? listCodeFiles(content).map((file) => [file, code.get(file) ?? ""]) : [];
      const workspace = workspaces[i];
      const one = Object.assign(buildCase(content, header, share), {
        ...(workspace && { files: workspace }),
        ...addMocks(id, content, header),
        ...(files.length > 0 && { code: Object.fromEntries(files) }),
        id,
        location: parsed.location(path),
      });
      return Object.assign(one, { hash: hashCase(one) });
    }),
  };
  return { ...suite, hash: hashSuite(suite) };
}

const toGivenNames = (value: Parameters<typeof toNames>[0]) => (value === undefined ? undefined : toNames(value));

type InlineTools = NonNullable<CaseFile["tools"]>;

/** Converts tool lists so that equal ones become the same object, which is then hashed and compiled only once. */
function shareEqualLists(): (tools: InlineTools) => readonly Tool[] {
  const lists = new Map<string, readonly Tool[]>();
  return (tools) => {
    const plain = toNumbers(tools as Json) as InlineTools;
    const convert = () => plain.map(({ description, ...tool }) => ({ ...tool, ...defined({ description }) }));
    return getOrAdd(lists, JSON.stringify(tools), convert);
  };
}

function buildCase(
  content: CaseFile,
  header: SuiteHeader,
  share: (tools: InlineTools) => readonly Tool[],
): Omit<Case, "id" | "hash" | "location"> {
  const messages = content.messages ?? [{ role: "user" as const, content: getPrompt(content) }];
  const { input, expect, tools, turns, tags, searches, split, elicit } = content;
  const { dispatch, laterTools } = header;
  return {
    messages: header.system === undefined ? messages : [{ role: "system", content: header.system }, ...messages],
    expectedBehavior: toNames(content.expected_behavior),
    ...defined({
      paraphrases: typeof input === "object" && input.length > 1 ? input : undefined,
      expect: expect && getKind(expect) && buildExpectation(expect),
      assertions: toGivenNames(expect?.assert),
      expectedFiles: expect?.files as JsonObject | undefined,
      turns: turns?.map((turn) => {
        return { content: turn.input, ...defined({ expect: turn.expect && buildExpectation(turn.expect) }) };
      }),
      tags: toGivenNames(tags),
      tools: tools && share(tools),
      laterTools: toGivenNames(laterTools),
      searches,
      split,
      elicit,
      dispatch,
    }),
    trials: content.trials ?? header.trials ?? defaults.trials,
    passRate: content.passRate ?? header.passRate ?? defaults.passRate,
    maxTurns: content.maxTurns ?? header.maxTurns ?? getDefaultTurns(content, header),
  };
}

/** The mocks of a case take precedence over those of its suite. */
function addMocks(id: string, content: CaseFile, header: SuiteHeader) {
  const list = [...buildMocks(content.mocks, `case ${id}: `), ...buildMocks(header.mocks)];
  return list.length === 0 ? {} : { mocks: { list, unmatched: header.unmatched ?? defaults.unmatched } };
}

/** A first pick needs one turn; loading a skill, reading files, and several calls or messages need more. */
function getDefaultTurns({ expect, turns, files }: CaseFile, header: SuiteHeader): number {
  const hasFiles = files || header.files || expect?.files;
  const hasSeveralCalls = (expect?.calls?.length ?? 0) > 1;
  const isConversation = turns || hasFiles || hasSeveralCalls || expect?.skill !== undefined;
  return isConversation ? defaults.maxTurnsOfConversation : defaults.maxTurns;
}

/** The prompt of a case: its first paraphrase, first turn or last message. */
function getPrompt({ input, messages, turns }: CaseFile): string {
  return [input].flat()[0] ?? turns?.[0]?.input ?? messages?.at(-1)?.content ?? "";
}

function buildExpectation(expect: ExpectFile): Expectation {
  const avoid = toToolNames(expect.avoid);
  const argsMode = expect.argsMode ?? "partial";
  const extras = expect.extras ?? false;
  switch (getKind(expect)) {
    case "tool":
      return { avoid, kind: "tool", call: buildCall(expect), extras, argsMode };
    case "none":
      return { avoid, kind: "none" };
    case "any":
      return { avoid, kind: "any", ...(expect.result && { result: expect.result }) };
    case "calls": {
      const { calls = [], order = "strict" } = expect;
      return { avoid, kind: "calls", calls: calls.map(buildCall), order, extras, argsMode };
    }
    case "skill":
      return { avoid, kind: "skill", skill: expect.skill ?? "" };
    default:
      return { avoid, kind: "avoid" };
  }
}

type CallFile = Pick<ExpectFile, "tool" | "acceptable" | "args" | "result"> & { optional?: boolean | undefined };

function buildCall({ tool, acceptable, optional, args, result }: CallFile): ExpectedCall {
  const substitutes = acceptable === undefined ? undefined : toToolNames(acceptable);
  const more = { acceptable: substitutes, optional: optional || undefined, args, result };
  return { tools: toToolNames(tool), ...defined(more) };
}

const maxSlugLength = 50;

/** The id of each case: its own, or a slug of its input without secrets, numbered if another case has it. */
export function createCaseIds(
  cases: readonly { id?: string | undefined; input: string }[],
  redact = (text: string) => text,
): string[] {
  const taken = new Set(cases.flatMap(({ id }) => id ?? []));
  // Continuing from the last number keeps the time linear for a thousand equal inputs.
  const last = new Map<string, number>();
  return cases.map(({ id, input }) => {
    if (id !== undefined) return id;
    const slug = createSlug(redact(input));
    let n = last.get(slug) ?? 1;
    while (taken.has(addNumber(slug, n))) n++;
    last.set(slug, n);
    taken.add(addNumber(slug, n));
    return addNumber(slug, n);
  });
}

const addNumber = (slug: string, n: number) => (n === 1 ? slug : `${slug}-${n}`);

/** Joins lower-case words of letters and digits by hyphens, up to 50 characters; "case" if there is no word. */
function createSlug(input: string): string {
  // The rest of a longer input cannot end up in the slug.
  const words =
    input
      .slice(0, 1000)
      .normalize("NFKD")
      // Latin letters lose their accents; in other scripts, marks are parts of letters.
      .replace(/(?<=[a-z])\p{M}+/giu, "")
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  let slug = "";
  for (const word of words) {
    const longer = slug === "" ? [...word].slice(0, maxSlugLength).join("") : `${slug}-${word}`;
    if (longer.length > maxSlugLength) break;
    slug = longer;
  }
  return slug === "" ? "case" : slug;
}

/** SHA-256 (hex) of what a case asks and expects. Its tools are not included, because their changes can be checked. */
export function hashCase(one: Omit<Case, "hash">): string {
  const { expect, expectedFiles, assertions, code, expectedBehavior } = one;
  const { messages, paraphrases, turns, dispatch, files, packageHash, maxTurns, elicit, mocks: given } = one;
  const expected = { expect, expectedFiles, assertions, code, expectedBehavior };
  const asked = { messages, paraphrases, turns, ...expected, dispatch, files, packageHash, maxTurns };
  const results = given?.list.map(({ tool, args, result }) => ({ tool, args, result }));
  return hashValue({ ...asked, elicit, mocks: given && { unmatched: given.unmatched, results } });
}

/** SHA-256 (hex) of a suite: its servers (not the tools that they list), its settings, and its cases in order. */
export function hashSuite(suite: Omit<Suite, "hash">): string {
  const { name, server, distractors, catalog, execute, denial, isolate, lift } = suite;
  const settings = { name, server, distractors, catalog, execute, denial, isolate, lift };
  return hashValue({ ...settings, cases: suite.cases.map(({ hash }) => hash) });
}

/** `canonicalJson` omits undefined members. */
const hashValue = (value: object) => hash("sha256", canonicalJson(value as Json));

/** The files of each case, in the order of the cases; undefined for a case without files. */
type WorkspaceFiles = readonly (readonly EvalFile[] | undefined)[];

/**
 * Reads the files that a suite and its cases put into the workspace of a trial. The files of a case replace those of
 * the suite with the same path. `file` is the suite file, relative to `cwd`. A file that cannot be read is an error;
 * one that is not text is a warning.
 */
export function readWorkspaceFiles(
  { header, cases }: CheckedSuite,
  file: string,
  cwd: string,
): { files: WorkspaceFiles; problems: PathProblem[] } {
  const dir = dirname(resolve(cwd, file));
  const from = createSuiteFiles(realPath(dir) ?? dir);
  const problems: PathProblem[] = [];
  const read = (given: Json | undefined, path: Path): EvalFile[] | undefined => {
    if (given === undefined) return undefined;
    const { files, wrong, binary } = readCaseFiles(given, from);
    problems.push(...wrong.map((problem) => ({ path, ...problem })));
    const message = `Left out, because a model is shown text only: ${binary.join(", ")}.`;
    if (binary.length > 0) problems.push({ path, severity: "warning", message, hint: "Give files in UTF-8." });
    return files;
  };
  const shared = read(header.files as Json | undefined, ["files"]);
  const files = cases.map(({ path, content }) => {
    const location = [...path, "files"];
    const own = read(content.files as Json | undefined, location);
    if (!shared || !own) return own ?? shared;
    const merged = overlayFiles(shared, own);
    problems.push(...merged.wrong.map((problem) => ({ path: location, ...problem })));
    return merged.files;
  });
  return { files, problems };
}
