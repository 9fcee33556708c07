import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { type EvalFile, skillEntryName, toInnerPath } from "../../base/types/skill.ts";
import type { Case } from "../../base/types/suite.ts";
import type { Assertion, Call, ToolSearch, Turn } from "../../base/types/trial.ts";
import { compileMatcher, type Judge } from "./matchers.ts";

/**
 * What a model did in a trial: the calls of its first turn with calls, all calls in order, the skills that they loaded,
 * and whether it refused or its last reply was cut off. Where skills are offered, a call that loads one counts as a
 * call of the skill's entry, and a call through a dispatcher as the one that it makes. Searches for tools and calls of
 * a host's own tools are listed separately, because they are not picks.
 */
export type Activity = {
  first: readonly Call[];
  all: readonly Call[];
  loaded: readonly string[];
  searches: readonly ToolSearch[];
  builtIns: readonly Call[];
  refused: boolean;
  cut: boolean;
};

/** Reads the activity from the turns of a trial. Using one of `own`, the file tools of the harness, is not a pick. */
export function readActivity(turns: readonly Turn[], own: ReadonlySet<string> | undefined): Activity {
  const raw = turns.map(({ calls }) => calls.filter(({ role }) => role === undefined).map(unwrap));
  const picks = own ? raw.map((calls) => calls.flatMap((call) => toPicks(call, own))) : raw;
  return {
    first: picks.find((calls) => calls.length > 0) ?? [],
    all: picks.flat(),
    loaded: listLoadedSkills(turns.flatMap(({ calls }) => calls)),
    searches: turns.flatMap(({ searches = [] }) => searches),
    builtIns: turns.flatMap(({ calls }) => calls.filter(({ role }) => role === "built-in")),
    refused: turns.some(({ stop }) => stop === "refused"),
    cut: turns.at(-1)?.stop === "cut",
  };
}

/** Whether a reply is no answer, though the model wrote it: it has no call and no text, or none but thoughts. */
export function isSilent({ text, calls, searches = [], stop, usage }: Turn): boolean {
  const said = text.replace(/^[\s\S]*<\/think(?:ing)?>|^\s*<think(?:ing)?>[\s\S]*/, "");
  return stop === "done" && calls.length + searches.length === 0 && said.trim() === "" && usage.outputTokens > 0;
}

/** A call through a dispatcher as the call that it makes. */
function unwrap(call: Call): Call {
  const { inner, argumentsText: _, arguments: __, ...rest } = call;
  if (!inner) return call;
  return { ...rest, inner, tool: inner.tool, ...(inner.arguments !== undefined && { arguments: inner.arguments }) };
}

/** The tools that tool-evals itself offers with skills and files, named as hosts name theirs. */
export const skillTools = { load: "Skill", read: "Read", write: "Write" } as const;

/** A host's tools for reading files: using one is not a pick. */
export const readingTools: ReadonlySet<string> = new Set([skillTools.read, "Glob", "Grep"]);

/** The reading tools, and the tool for writing files. */
export const fileTools: ReadonlySet<string> = new Set([...readingTools, skillTools.write]);

/** Normalizes a skill's name in a call of the `Skill` tool: Claude Code accepts `/name` for `name`. */
export const normalizeSkillName = (written: string): string => written.trim().replace(/^\//, "");

/** The skills that calls load, each once, in the order they were loaded. */
export function listLoadedSkills(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.flatMap(readLoadedSkills))];
}

/** What a call picks beside skills or files: the skills that it loads, else its tool if that is not a file tool. */
function toPicks(call: Call, own: ReadonlySet<string>): readonly Call[] {
  const loaded = readLoadedSkills(call);
  if (loaded.length > 0) return loaded.map((skill) => ({ ...call, tool: skillEntryName(skill) }));
  return own.has(call.tool) ? [] : [call];
}

/** The skills that a call loads: with a host's `Skill` tool, or by naming `<skill>/SKILL.md` in any string argument. */
function readLoadedSkills({ tool, arguments: args }: Call): readonly string[] {
  if (!isJsonObject(args) || tool === skillTools.write) return [];
  if (tool === skillTools.load && typeof args.skill === "string") return [normalizeSkillName(args.skill)];
  return listStrings(args).flatMap(findSkillFolders);
}

function listStrings(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listStrings) : [];
}

/** The folder names before `/SKILL.md` in a path or a command line; a pattern such as `*` is not a folder name. */
function findSkillFolders(text: string): readonly string[] {
  const folders: string[] = [];
  return text.split(/[/\\]/).flatMap((part) => {
    if (part === "" || part === ".") return [];
    if (part === "..") folders.pop();
    else folders.push(part);
    const folder = (folders.at(-2) ?? "").split(/[\s"'=]/).at(-1);
    return folder && /^SKILL\.md(?![\w.-])/i.test(part) && !/[*?[\]{}]/.test(folder) ? [folder] : [];
  });
}

/** The folder of a case's files in the prompt. It does not exist on disk. */
export const projectFolder = "/project";

/** The path of a file in the workspace, as a model writes it: in the folder of the project, or relative to it. */
export function toWorkspacePath(written: string): string | undefined {
  const path = toInnerPath(written.startsWith(`${projectFolder}/`) ? written.slice(projectFolder.length + 1) : written);
  return path === "." ? undefined : path;
}

type Workspace = Pick<Case, "files" | "expectedFiles" | "assertions" | "expectedBehavior">;

/** Whether a model may write files in a trial: only if something reads what it wrote. */
export function isWritable({ files, expectedFiles, assertions = [], expectedBehavior }: Workspace): boolean {
  return expectedFiles !== undefined || (files !== undefined && assertions.length + expectedBehavior.length > 0);
}

/** The file that a call of the tool `Write` names, with its content; undefined for any other call. */
export function readWrite({ tool, arguments: args }: Call): { path: string; content: string } | undefined {
  if (tool !== skillTools.write || !isJsonObject(args)) return undefined;
  const { file_path: path, content } = args;
  return typeof path === "string" && typeof content === "string" ? { path, content } : undefined;
}

/** The files of a workspace after a trial: those of the case, and what the model wrote, in the order of the paths. */
export function listWorkspace(files: readonly EvalFile[], turns: readonly Turn[]): EvalFile[] {
  const content = new Map(files.map((file) => [file.path, file.content]));
  for (const call of turns.flatMap(({ calls }) => calls)) {
    const { role, execution } = call;
    const isDone = role === undefined && execution?.status === "executed" && !execution.result.isError;
    const written = isDone ? readWrite(call) : undefined;
    const path = written && toWorkspacePath(written.path);
    if (written && path !== undefined) content.set(path, written.content);
  }
  return [...content].map(([path, text]) => ({ path, content: text })).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Matches the text of workspace files, by path; a missing file is an absent value. */
export function compileFiles(wanted: JsonObject = {}): (list: () => readonly EvalFile[], judge: Judge) => Assertion[] {
  const tests = Object.entries(wanted).map(([path, value]) => {
    return { path, key: toInnerPath(path), test: compileMatcher(value) };
  });
  return (list, judge) => {
    if (tests.length === 0) return [];
    const texts = new Map(list().map(({ path, content }) => [path, content]));
    return tests.map(({ path, key, test }) => ({ what: `file: ${path}`, ...test(texts.get(key ?? ""), path, judge) }));
  };
}

/** A call that a reply writes as text: its tool, if the form shows it, and what the form is called. */
export type WrittenCall = { tool?: string; form: string };

/**
 * What the chat templates of open models put around a call. An endpoint that parses calls removes these signs, so a
 * reply that shows one was not parsed. A group, if there is one, is the name of the tool; without, it is in what
 * follows.
 */
const signs: readonly (readonly [form: string, pattern: RegExp])[] = [
  ["Qwen3-Coder's <function=…>", /<(?:\w+:)?tool_call>\s*<function=([\w.:/-]+)/],
  ["GLM's <tool_call> with <arg_key>", /<tool_call>\s*([\w.:/-]+)\s*<arg_key>/],
  ["an <invoke> tag", /<(?:\w+:)?(?:tool_call|function_calls?)>\s*<(?:\w+:)?invoke name="([^"]+)"/],
  ["Hermes' and Qwen's <tool_call>", /<tool_call>/],
  ["Llama's <function=…>", /<function=([\w.:/-]+)/],
  ["Llama's <|python_tag|>", /<\|python_(?:tag|start)\|>/],
  ["Mistral's [TOOL_CALLS]", /\[TOOL_CALLS\](?:\s*([\w.:/-]+)\s*\[(?:ARGS|CALL_ID)\])?/],
  ["Kimi's tool_calls_section", /<\|tool_calls?_section_begin\|>|<\|tool_call_begin\|>\s*functions\.([\w/-]+):\d+/],
  [
    "DeepSeek's tool_calls",
    /<[|｜]tool[▁_]calls?[▁_]begin[|｜]>(?:<[^>]{1,40}>)?(?:function<[|｜]tool[▁_]sep[|｜]>)?(?:<steptml:invoke name=")?([\w.:/-]+)?/,
  ],
  ["DeepSeek's DSML", /<[|｜]DSML[|｜](?:function_calls>\s*<[|｜]DSML[|｜])?invoke name="([^"]+)"|<[|｜]DSML[|｜]/],
  ["Granite's and Phi's <|tool_call|>", /<\|tool_calls?\|>|\bfunctools\[/],
  ["gpt-oss's channel", /\bto=functions\.([\w.-]+)/],
  ["Gemma's call:", /<(?:start_function_call|\|tool_call)>(?:call:([\w.-]+))?/],
  ["Gemma's tool_code", /```tool_code\s+(?:print\()?(?:\w+\.)*?(\w+)\(/],
  ["Cohere's <|START_ACTION|>", /<\|START_ACTION\|>/],
  ["ReAct's Action", /^Action:\s*`?([\w.:/-]+)`?\s*\n\s*Action Input:/m],
  ["Functionary's recipient", /<\|recipient\|>\s*(?!all\b)([\w.:/-]+)/],
  ["Qwen-Agent's ✿FUNCTION✿", /✿FUNCTION✿:\s*([\w.:/-]+)/],
  ["LM Studio's [TOOL_REQUEST]", /\[TOOL_REQUEST\]/],
  // Granite 20B, Hunyuan, Jamba, LongCat, MiniMax-M1, Nemotron, OLMo, Cline; LFM, Apertus, InternLM.
  ["a tag of calls", /<(?:\w+_)?(?:tool_?calls?|function_?calls?|tool_use|use_mcp_tool)>|<invoke name="([^"]+)"/i],
  ["a token of calls", /<\|(?:tool_call_start|tools_prefix|action_start|role_sep)\|>/],
];

/** The keys under which models write the name and the arguments of a call in JSON, or as a dictionary of Python. */
const nameKey = /[{,]\s*["'](?:name|tool|tool_name|function|function_name|action)["']\s*:\s*["']([\w.:/-]+)["']/g;
const argumentKey = /["'](?:arguments|args|parameters|params|input|tool_input|action_input)["']\s*:/;
/** The form that most open models are trained on, whatever name it has: models invent names, too. */
const callObject =
  /^\[?\s*\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*"([\w.:/-]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*\{/;
/**
 * `{"tool": {…arguments}}`; the name before its arguments; a tag of that name; Python, as in `[read_file(path="a")]`.
 */
const listedForms = [
  /^\[?\s*\{\s*"([\w.:/-]+)"\s*:\s*\{/,
  /^(?:>>>|\[)? ?([\w.:/-]+)(?:\]|\[ARGS\])? ?:?\s{0,2}\{\s*["'}]/,
  /^<([\w.:/-]+)>\s*</,
  // LangChain's XML agents: `<tool>search</tool><tool_input>…`.
  /^<tool(?:_name)?>\s*([\w.:/-]+)\s*<\/tool(?:_name)?>/,
  /^\[?\s*(?:print\()?(?:\w+\.)?([\w-]+)\((?:\s*\w+\s*=[\s\S]*)?\)*\s*[\],]?[\s\S]*\)\s*\]?$/,
];

const fence = /```[\w-]*\s*\n([\s\S]*?)```/g;

/**
 * Finds a call that a model wrote as text, because the endpoint had no chat template or parser for its calls: in the
 * signs of open models, as JSON, or as Python, alone, after thoughts or words, or in a code block. Since an answer may
 * show either, JSON of another form than `{"name": …, "arguments": {…}}`, and Python, count only with the name of a
 * listed tool.
 */
export function findWrittenCall(written: string, names: readonly string[]): WrittenCall | undefined {
  const listed = new Set(names);
  const text = (written.split("</think>").at(-1) ?? "").trim() || written;
  for (const [form, pattern] of signs) {
    const found = pattern.exec(text);
    if (!found) continue;
    const tool = found.slice(1).find((group) => group !== undefined) ?? findNamed(text.slice(found.index), listed);
    return { form, ...(tool !== undefined && { tool }) };
  }
  const whole = text.trim();
  const blocks = [...text.matchAll(fence)].map(([, inside = ""]) => inside.trim());
  const last = (whole.split("\n\n").at(-1) ?? "").trim();
  for (const block of [whole, ...blocks, last]) {
    const [, named] = callObject.exec(block) ?? [];
    const tool = named ?? listedForms.map((form) => form.exec(block)?.[1]).find((name) => name && listed.has(name));
    if (tool !== undefined) return { tool, form: block === whole ? "JSON or Python" : "a part of the text" };
  }
  const tool = argumentKey.test(text) ? findKeyed(text).find((name) => listed.has(name)) : undefined;
  return tool === undefined ? undefined : { tool, form: "JSON among words" };
}

const findKeyed = (text: string) => [...text.matchAll(nameKey)].map(([, name = ""]) => name);

/** The name in what may be cut off: a listed one, by its key or wherever it stands, else the first with a key. */
function findNamed(text: string, listed: ReadonlySet<string>): string | undefined {
  const start = text.slice(0, 4_000);
  const keyed = findKeyed(start);
  const words = [...start.matchAll(/[\w.:/-]+/g)].map(([word]) => word.replace(/^functions\.|:\d+$|\.call$/g, ""));
  return [...keyed, ...words].find((name) => listed.has(name)) ?? keyed[0];
}
