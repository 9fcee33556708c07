import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { Document, isMap, isScalar, isSeq, parseDocument, visit, type YAMLMap, type YAMLSeq } from "yaml";
import { writeOutput } from "../../base/files/files.ts";
import { isSecretName } from "../../base/secrets/recognize.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { visible, wrap } from "../../base/text/display.ts";
import { cut } from "../../base/text/text.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { DispatchRules, ServerSpec } from "../../base/types/suiteFile.ts";
import { maxBytes, readNamed } from "../../input/parsing/read.ts";
import { resolveServer } from "../../servers/spec.ts";
import type { Source } from "../targets.ts";
import type { Draft, DraftCase } from "./draft.ts";

/** `toProject`: the path from the suite's folder to the project, such as `../`. `catalog` is relative to the suite. */
type SuiteFrame = {
  server: ServerSpec;
  name: string;
  toProject: string;
  dispatch: DispatchRules;
  catalog?: string | undefined;
};

/** The text of a suite with drafted cases, which nobody reviewed, and comments on what to edit. */
export function renderSuite({ cases, left }: Draft, frame: SuiteFrame): string {
  const { server, name, toProject, dispatch, catalog } = frame;
  const document = new Document(
    {
      server,
      ...(Object.keys(dispatch).length > 0 && { dispatch }),
      ...(catalog !== undefined && { catalog }),
      cases: [],
      unreviewed: cases.map(({ id }) => id),
    },
    { aliasDuplicateObjects: false },
  );
  document.commentBefore = comment(
    `yaml-language-server: $schema=${toProject}node_modules/tool-evals/dist/schemas/suite.json`,
    `Drafted by \`evals init\` from the tool list of ${quoteText(name)}.`,
    "The queries use the words of the definitions, which is too easy: replace each by what your users write, and correct the arguments that you expect. `evals queries` has a model write them, or takes those of users, and shows each for a review.",
  );
  addCases(document, cases);
  visit(document, {
    Pair(_, { key, value }, path) {
      if (!isScalar(key)) return;
      const notes = path.length === 2 ? keyNotes[String(key.value)] : undefined;
      if (notes !== undefined && value !== null) {
        key.spaceBefore = true;
        key.commentBefore = comment(...notes);
      }
      if (isMap(value) || String(key.value) === "unreviewed") (value as YAMLMap | YAMLSeq).flow = true;
    },
  });
  if (left.length > 0) document.comment = comment(`No case yet for: ${left.map(quoteText).join(", ")}.`);
  return printSuite(document);
}

function addCases(document: Document, drafted: readonly DraftCase[]): void {
  const list = document.get("cases") ?? document.get("evals");
  for (const [at, { id, input, skill, steps = [], tool, args, avoid, ...rest }] of drafted.entries()) {
    if (skill !== undefined) {
      const isOwn = tool === skill;
      const note = rest.by === undefined ? {} : { note: `By ${rest.by}.` };
      const behavior = isOwn && steps.length > 0 ? { expected_behavior: steps } : {};
      if (isSeq(list)) list.items.push(document.createNode({ id, input, should_trigger: isOwn, ...behavior, ...note }));
      continue;
    }
    const written = tool === "none" || tool === "any" ? `"${tool}"` : (tool ?? "none");
    const expect = { tool: written, ...(avoid && { avoid: avoid.tool }), ...(args && { args }) };
    const node = document.createNode({ id, input, expect }, { aliasDuplicateObjects: false });
    const flat = node.get("expect", true);
    if (isMap(flat)) flat.flow = true;
    const notes = explainCase({ tool: written, ...(avoid && { avoid }), ...rest });
    if (tool === undefined && drafted[at - 1]?.tool !== undefined) notes.push(noToolNote);
    if (notes.length > 0) node.commentBefore = comment(...notes);
    if (isSeq(list)) list.items.push(node);
  }
}

/** The drafts in a suite file, or in a skill's eval file, which may be missing. Comments and all else stay. */
export class Drafts {
  readonly #document: Document;

  constructor(
    readonly file: string,
    readonly io: Io,
  ) {
    const path = resolve(io.cwd, file);
    this.#document = parseDocument(existsSync(path) ? readNamed(file, path, { limit: maxBytes }) : '{ "evals": [] }');
    const message = 'Queries are drafted below "cases" or "evals" in YAML or JSON alone.';
    if (!isSeq(this.#cases)) throw usageError(message, "Name such a file.", { file });
  }

  /** The ids of the cases that nobody reviewed, in the order of the suite. */
  listUnreviewed(): string[] {
    const listed = this.#document.toJS().unreviewed ?? [];
    return this.#items.map((item) => String(item.get("id"))).filter((id) => listed.includes(id));
  }

  /** The query of a case, and what it expects, as written. */
  describe(id: string): { input: string; expects: string } {
    const { input, should_trigger: triggers, expect = {} } = this.#find(id)?.toJSON() ?? {};
    if (triggers !== undefined) return { input, expects: `must ${triggers ? "" : "not "}load the skill` };
    const { tool, avoid } = expect;
    const expects = tool === "none" ? "needs no tool" : `expects ${[tool].flat().join(" or ")}`;
    return { input: [input].flat().join("\n"), expects: avoid === undefined ? expects : `${expects}, not ${avoid}` };
  }

  /** Adds drafts; one that has the id of a case replaces it. */
  async add(cases: readonly DraftCase[]): Promise<void> {
    const ids = cases.map(({ id }) => id);
    const open = [...this.listUnreviewed(), ...ids];
    for (const id of ids) this.#remove(id);
    addCases(this.#document, cases);
    await this.#save(open);
  }

  /** Settles a draft: with this query, or dropped. */
  async decide(id: string, input: string | undefined): Promise<void> {
    if (input === undefined) this.#remove(id);
    else if (input !== this.describe(id).input) this.#find(id)?.set("input", input);
    await this.#save(this.listUnreviewed().filter((one) => one !== id));
  }

  get #cases() {
    return this.#document.get("cases") ?? this.#document.get("evals");
  }

  get #items(): YAMLMap[] {
    return isSeq(this.#cases) ? this.#cases.items.filter(isMap) : [];
  }

  #find(id: string): YAMLMap | undefined {
    return this.#items.find((item) => item.get("id") === id);
  }

  #remove(id: string): void {
    const found = this.#find(id);
    if (isSeq(this.#cases)) this.#cases.items = this.#cases.items.filter((item) => item !== found);
  }

  async #save(unreviewed: readonly string[]): Promise<void> {
    const ids = [...new Set(unreviewed)];
    if (ids.length > 0) this.#document.set("unreviewed", this.#document.createNode(ids, { flow: true }));
    else this.#document.delete("unreviewed");
    const isJson = this.file.endsWith(".json");
    const text = isJson ? `${JSON.stringify(this.#document.toJS(), null, 2)}\n` : printSuite(this.#document);
    // A secret that the user's own text has is no business of a review.
    await writeOutput(resolve(this.io.cwd, this.file), text, { env: {} });
  }
}

/** The text of a suite. Invisible characters become escapes in double quotes, because a reviewer would not see them. */
function printSuite(document: Document): string {
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && node.value.search(hidden) >= 0) node.type = "QUOTE_DOUBLE";
    },
  });
  return document
    .toString({ lineWidth: 0 })
    .replace(hidden, (sign) => `\\U${(sign.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`);
}

const keyNotes: Readonly<Record<string, readonly string[]>> = {
  dispatch: [
    "These tools seem to call other tools, or to search for them. What they call is scored, so expect that. Remove what is wrong; a list of the tools behind them is named as the catalog.",
  ],
  cases: [
    "trials: 5           # trials per case; a deterministic model gets one",
    "passRate: 0.8       # a case passes when at least this share of its trials does",
    "execute: read-only  # which calls are executed: read-only, additive, all, never, or a list of tools",
  ],
  unreviewed: ["Queries that nobody reviewed, which reports count. Remove those that you have read."],
};
const noToolNote = "No tool should be called for these. Add queries that sound like your tools and are not for them.";

function explainCase({ tool = "", avoid, unfilled, by }: Omit<DraftCase, "id" | "input">): string[] {
  const shared = avoid && avoid.shared.length > 0 ? ` (both are about: ${avoid.shared.map(quoteText).join(", ")})` : "";
  const missing = unfilled.map(quoteText).join(", ");
  return [
    by !== undefined && `By ${quoteText(by)}.`,
    avoid && `Near miss: for ${quoteText(tool)}, but ${quoteText(avoid.tool)} could be taken for it${shared}.`,
    missing !== "" && `The query also has to say: ${missing} (required by ${quoteText(tool)}).`,
  ].filter((note) => typeof note === "string");
}

const quoteText = (text: string) => visible(cut(text.replace(/\s+/g, " ")));

/** The text of a comment, to which the writer of YAML adds `#`, in lines of at most 118 columns. */
const comment = (...texts: readonly string[]) =>
  texts.flatMap((text) => wrap(text, 115).map((line) => ` ${line}`)).join("\n");

const hidden = /[\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\x80-\x9f]/gu;

/** `variables`: the environment variables that stand for secrets of the server, with these values. */
type DescribedServer = { server: ServerSpec; variables: Readonly<Record<string, string>> };

/**
 * The server as the suite names it: a file with its tools, its entry in a configuration of the project, or else a
 * command or URL with variables in place of known secrets, and of the values in a configuration of the user.
 */
export async function describeServer(target: Source, toProject: string, io: Io): Promise<DescribedServer> {
  if (target.kind === "tool list") return { server: { tools: `${toProject}${target.file}` }, variables: {} };
  const { server, registration } = target;
  const inside = registration && relative(io.cwd, registration.host.path);
  if (inside !== undefined && !inside.startsWith(".."))
    return { server: { config: `${toProject}${inside}`, name: target.name }, variables: {} };
  const variables = new Map<string, string>();
  const refer = (name: string, value: string) => {
    // A value of a configuration that is a reference itself stays.
    if (value === "" || value.includes("${")) return value;
    let variable = name;
    for (let at = 2; (variables.get(variable) ?? value) !== value; at++) variable = `${name}_${at}`;
    variables.set(variable, value);
    return `\${${variable}}`;
  };
  // The value of a variable, such as one that the shell has filled in, is that variable again.
  const secrets = knownSecrets(io.env);
  const hide = (text: string) =>
    secrets.replace(text, (name, form) => refer(io.env[name] === form ? name : "MCP_SECRET", form));
  const referTo = (values: Readonly<Record<string, string>>, spell = (key: string) => key) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, refer(spell(key), value)]));
  const hideAll = (values: Record<string, string>) => referTo(values, (key) => key.replace(/\W/g, "_").toUpperCase());
  // What the user typed before a command is written, unless it may be secret.
  const hideTyped = (values: Record<string, string>) => {
    const isSecret = ([key, value]: [string, string]) => isSecretName(key) || secrets.redact(value) !== value;
    return { ...values, ...referTo(Object.fromEntries(Object.entries(values).filter(isSecret))) };
  };
  const hideEnv = "config" in server ? hideAll : hideTyped;
  const { spec: given, dir } =
    "config" in server
      ? await resolveServer(server, target.name, target.dir, undefined, registration?.host)
      : { spec: server, dir: io.cwd };
  const isHere = "command" in given && given.cwd === undefined && dir === io.cwd;
  const spec = isHere ? { ...given, cwd: toProject.replace(/\/$/, "") } : given;
  const described =
    "command" in spec
      ? {
          ...spec,
          command: hide(spec.command),
          ...(spec.args && { args: spec.args.map(hide) }),
          ...((spec.env || io.serverEnv) && { env: { ...hideEnv(spec.env ?? {}), ...referTo(io.serverEnv ?? {}) } }),
        }
      : { ...spec, url: hide(spec.url), ...(spec.headers && { headers: hideAll(spec.headers) }) };
  return { server: described, variables: Object.fromEntries(variables) };
}

/** Says which variables a suite needs because secrets of its server are not written into it. */
export function warnOfVariables(file: string, variables: DescribedServer["variables"], io: Io): void {
  const names = Object.keys(variables);
  const unset = names.filter((name) => io.env[name] !== variables[name]);
  if (names.length === 0) return;
  const message = `${file} has ${names.map((name) => `\${${name}}`).join(", ")} in place of ${names.length === 1 ? "a value" : "values"} of the server that may be secret.`;
  const hint = unset.length > 0 && `Set ${unset.join(", ")} in the environment before you run the suite.`;
  printProblem(io)({ severity: "warning", message, ...(hint && { hint }) });
}
