import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { groupBy } from "../../base/collections.ts";
import { looksRandom } from "../../base/secrets/recognize.ts";
import { quote } from "../../base/text/text.ts";
import { usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { parseJsonText } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";
import { readNamed } from "../../input/parsing/read.ts";
import { count } from "../../reports/format.ts";
import { type DraftCase, type KnownQuery, leaveOutAlike } from "./draft.ts";

/** What happened in a conversation, in order. `failed` is about the call with this id. */
type Event =
  | { kind: "user"; text: string }
  | { kind: "call"; id: string; name: string }
  | { kind: "failed"; id: string };

/** What a user wrote, and the calls of the server's tools that followed; `others`: how many calls of other tools. */
type Exchange = { text: string; calls: { tool: string; failed: boolean }[]; others: number };

/** Longer texts are pasted ones, which nobody reads in a review. */
const maxQuery = 600;
const limit = 256 * 1024 * 1024;
/** As many as a person edits in one sitting; of these at most so many that need no tool. */
const [maxCases, maxNoTool] = [30, 5];

const text = z.string().catch("");
const list = <T extends z.ZodType>(item: T) => z.array(item).catch([]);

const block = z.object({
  type: text,
  text,
  name: text,
  id: text,
  tool_use_id: text,
  is_error: z.boolean().catch(false),
});
const claudeLine = z.object({
  sessionId: z.string(),
  type: z.enum(["user", "assistant"]),
  isMeta: z.boolean().catch(false),
  isSidechain: z.boolean().catch(false),
  message: z.object({
    content: z.union([z.string().transform((value) => [block.parse({ type: "text", text: value })]), list(block)]),
  }),
});
const codexLine = z.object({
  type: z.literal("response_item"),
  payload: z.object({
    type: text,
    role: text,
    name: text,
    namespace: text,
    call_id: text,
    content: list(z.object({ type: text, text })),
  }),
});
const part = z.object({ type: text, content: text, text, name: text, id: text });
const spanMessages = list(z.object({ role: text, parts: list(part) }));
const attribute = z.object({ key: text, value: z.object({ stringValue: text }).catch({ stringValue: "" }) });
/** Spans as OpenTelemetry's collector and SDKs write them. */
const spanLine = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: list(z.object({ spans: list(z.object({ traceId: text, attributes: list(attribute) })) })),
    }),
  ),
});

/**
 * Drafts cases from what users wrote: from sessions of Claude Code and Codex, and OpenTelemetry spans with messages.
 * The tool that was used in the end is expected; one that failed before, or that the user corrected, is one to avoid.
 * Texts of users stay as they are, but for personal data, which become examples; a text with a secret is not used.
 * @param names further texts to replace, such as names
 * @param known queries that the suite has already
 * @param isUsable whether a text may be written to a file, which a text with a secret may not
 */
export function draftFromTraffic(
  paths: readonly string[],
  tools: readonly Tool[],
  options: { names: readonly string[]; known: readonly KnownQuery[]; isUsable(text: string): boolean },
  io: Pick<Io, "cwd">,
): { cases: DraftCase[]; report: string } {
  const { names, known, isUsable } = options;
  const prefixes = new Set<string>();
  const usable = tools.filter(({ name }) => isUsable(name));
  const read = paths.flatMap((path) => readSessions(path, io));
  const sessions = read.map((events) => toExchanges(events, usable, prefixes));
  const own = sessions.filter((exchanges) => exchanges.some(({ calls }) => calls.length > 0));
  const leftOut = { "with a secret": 0, "without a context": 0, "too long": 0, "like another": 0 };
  const proposed = own.flatMap(proposeCases).flatMap(({ isFirst, ...one }) => {
    const why = refuse(one.input, isFirst, isUsable);
    if (why) leftOut[why] += 1;
    return why ? [] : [{ ...one, input: replacePersonalData(one.input, names) }];
  });
  const kept = leaveOutAlike(proposed, known);
  leftOut["like another"] = proposed.length - kept.length;
  const cases = chooseCases(kept);
  const refused = Object.entries(leftOut).flatMap(([why, times]) => (times > 0 ? [`${times} ${why}`] : []));
  if (cases.length === 0)
    throw usageError(
      own.length === 0
        ? `None of ${count(sessions.length, "conversation")} in ${paths.join(", ")} calls tools of this server.`
        : "No query in these conversations can be used.",
      own.length === 0 ? "Name the sessions of users of this server." : `Left out: ${refused.join(", ")}.`,
    );
  const report = [
    `${count(cases.length, "query", "queries")} in the words of users, from ${count(own.length, "conversation")}, where names of tools begin with ${[...prefixes].sort().map(quote).join(", ")}.`,
    ...(refused.length > 0 ? [`Left out: ${refused.join(", ")}.`] : []),
    "E-mail addresses, phone, card and account numbers are replaced. The tools are those that were used, right or not.",
  ].join(" ");
  return { cases, report };
}

/** The conversations in a file, or in the files of a folder. Throws a usage error for other files. */
function readSessions(path: string, { cwd }: Pick<Io, "cwd">): Event[][] {
  const full = resolve(cwd, path);
  if (statSync(full, { throwIfNoEntry: false })?.isDirectory()) {
    const files = readdirSync(full, { recursive: true, encoding: "utf8" }).filter((file) => /\.jsonl?$/.test(file));
    return files.sort().flatMap((file) => readSession(readNamed(file, join(full, file), { limit })));
  }
  const sessions = readSession(readNamed(path, full, { limit }));
  if (sessions.length === 0)
    throw usageError(
      `No message of a user was found in ${path}.`,
      "Name sessions of Claude Code (~/.claude/projects) or Codex (~/.codex/sessions), or OTLP JSON with gen_ai.input.messages.",
    );
  return sessions;
}

/** The conversations in the text of a file. A line that is not JSON, as a crash leaves it, is skipped. */
function readSession(content: string): Event[][] {
  const whole = parseJsonText(content);
  const lines = whole === undefined ? content.split("\n").flatMap((line) => parseJsonText(line) ?? []) : [whole];
  const claude = lines.flatMap((line) => claudeLine.safeParse(line).data ?? []);
  const codex = lines.flatMap((line) => codexLine.safeParse(line).data ?? []);
  const spans = lines.flatMap((line) => spanLine.safeParse(line).data?.resourceSpans ?? []);
  const sessions = [
    ...[...groupBy(claude, ({ sessionId }) => sessionId)].map(([, own]) => own.flatMap(readClaudeLine)),
    codex.flatMap(readCodexLine),
    ...readSpans(spans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))),
  ];
  return sessions.filter((events) => events.some(({ kind }) => kind === "user"));
}

function readClaudeLine({ type, isMeta, isSidechain, message }: z.infer<typeof claudeLine>): Event[] {
  if (isMeta || isSidechain) return [];
  return message.content.flatMap((one): Event[] => {
    if (one.type === "tool_use") return [{ kind: "call", id: one.id, name: one.name }];
    if (one.type === "tool_result") return one.is_error ? [{ kind: "failed", id: one.tool_use_id }] : [];
    return type === "user" && one.type === "text" ? [{ kind: "user", text: one.text }] : [];
  });
}

function readCodexLine({ payload }: z.infer<typeof codexLine>): Event[] {
  const { type, role, name, namespace, call_id: id, content } = payload;
  if (type === "function_call") return [{ kind: "call", id, name: namespace + name }];
  if (type !== "message" || role !== "user") return [];
  return content.flatMap((one): Event[] => (one.type === "input_text" ? [{ kind: "user", text: one.text }] : []));
}

/** Each request repeats the conversation before it, so that of a conversation the longest counts. */
function readSpans(spans: readonly { traceId: string; attributes: readonly z.infer<typeof attribute>[] }[]): Event[][] {
  const read = spans.map(({ traceId, attributes }) => {
    const values = new Map(attributes.map(({ key, value }) => [key, value.stringValue]));
    const messages = ["gen_ai.input.messages", "gen_ai.output.messages"].flatMap((key) =>
      spanMessages.parse(parseJsonText(values.get(key) ?? "")),
    );
    return { id: values.get("gen_ai.conversation.id") ?? traceId, messages };
  });
  return [...groupBy(read, ({ id }) => id)].map(([, own]) => {
    const { messages } = own.reduce((longest, one) => (one.messages.length > longest.messages.length ? one : longest));
    return messages.flatMap(({ role, parts }) =>
      parts.flatMap((one): Event[] => {
        if (one.type === "tool_call") return [{ kind: "call", id: one.id, name: one.name }];
        return role === "user" && one.type === "text" ? [{ kind: "user", text: one.content || one.text }] : [];
      }),
    );
  });
}

/** How texts begin that hosts write in the name of the user: context, instructions, interruptions, summaries. */
const byHost = /^\s*(?:<[a-z][\w-]*>|# AGENTS\.md|Caveat: |\[Request interrupted|This session is being continued)/;

function toExchanges(events: readonly Event[], tools: readonly Tool[], prefixes: Set<string>): Exchange[] {
  const exchanges: Exchange[] = [];
  const byId = new Map<string, Exchange["calls"][number]>();
  for (const event of events) {
    const last = exchanges.at(-1);
    if (event.kind === "user") {
      if (byHost.test(event.text)) continue;
      exchanges.push({ text: event.text.trim(), calls: [], others: 0 });
    } else if (event.kind === "failed") {
      const call = byId.get(event.id);
      if (call) call.failed = true;
    } else if (last) {
      const tool = findTool(event.name, tools);
      if (tool === undefined) last.others += 1;
      else {
        const call = { tool, failed: false };
        last.calls.push(call);
        byId.set(event.id, call);
        prefixes.add(event.name.slice(0, event.name.length - tool.length));
      }
    }
  }
  return exchanges;
}

/** The tool that a host calls `mcp__notes__search`, `notes-search` or `search`. */
function findTool(name: string, tools: readonly Tool[]): string | undefined {
  const isIt = (tool: string) => name === tool || ["__", "-", ".", "/"].some((sign) => name.endsWith(sign + tool));
  const found = tools.map((tool) => tool.name).filter(isIt);
  return found.sort((a, b) => b.length - a.length)[0];
}

const correction =
  /^(?:no[,.! ]|nope\b|wrong\b|not (?:that|this|what)\b|that(?:'s| is) (?:not|wrong)|i (?:meant|said|wanted)\b|instead\b|actually\b)/i;

/** The cases of a conversation. A case has no use if the user corrected the model, and no other tool was called. */
function proposeCases(exchanges: readonly Exchange[]): (Omit<DraftCase, "id"> & { isFirst: boolean })[] {
  return exchanges.flatMap(({ text: input, calls, others }, at) => {
    if (correction.test(input)) return [];
    const isFirst = at === 0;
    const final = calls.at(-1)?.tool;
    const next = exchanges[at + 1];
    const isCorrected = next !== undefined && correction.test(next.text);
    const tool = isCorrected ? next.calls.at(-1)?.tool : final;
    if (isCorrected && (tool === undefined || tool === final)) return [];
    if (tool === undefined) return others > 0 ? [] : [{ input, unfilled: [], isFirst }];
    const wrong = isCorrected ? final : calls.find((call) => call.failed && call.tool !== tool)?.tool;
    return [{ input, tool, unfilled: [], isFirst, ...(wrong !== undefined && { avoid: { tool: wrong, shared: [] } }) }];
  });
}

/** Why a text is no query; a later text of a conversation, if it is short, needs those before it. */
function refuse(query: string, isFirst: boolean, isUsable: (text: string) => boolean) {
  const words = query.split(/\s+/);
  if (query.length > maxQuery) return "too long";
  if (!isUsable(query) || words.some((word) => looksRandom(word.replace(uuid, "")))) return "with a secret";
  return words.length < (isFirst ? 2 : 4) ? "without a context" : undefined;
}

const uuid = /\b[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}\b/g;
const stands = ["Alex", "Robin", "Kim", "Sam", "Charlie"] as const;

/** What is personal, and the example that stands for it. Tried in this order at each place. */
const personal: readonly (readonly [RegExp, string])[] = [
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-zA-Z]{2,}\b/, "alex@example.com"],
  [uuid, "00000000-0000-4000-8000-000000000000"],
  [/(?<=(?:\/home|\/Users|\\Users)[/\\])[^/\\\s"']+/, "alex"],
  [/\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/, "DE89 3704 0044 0532 0130 00"],
  [/(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.]\d)/, "4111 1111 1111 1111"],
  [/(?<![\w.+-])(?:\+|00)\d(?:[\s()./-]{0,2}\d){7,13}\b/, "+1 202-555-0100"],
  [/(?<![\w.-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b/, "+1 202-555-0100"],
  [/(?<![\w.:-])\d{9,}(?![\w.:-]*\w)/, "123456789"],
];
const anyPersonal = new RegExp(personal.map(([{ source }]) => `(${source})`).join("|"), "g");

/** Replaces addresses, numbers of people and accounts, and the given names by examples that read alike. */
export function replacePersonalData(query: string, names: readonly string[]): string {
  const replace = (found: string, ...groups: unknown[]) =>
    personal[groups.findIndex((group) => group !== undefined)]?.[1] ?? found;
  const replaced = query.replace(anyPersonal, replace);
  return names.reduce((one, name, at) => {
    const written = name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const word = new RegExp(`(?<![\\p{L}\\p{N}])${written}(?![\\p{L}\\p{N}])`, "giu");
    return one.replace(word, stands[at % stands.length] ?? "Alex");
  }, replaced);
}

/** At most 30 cases: in turn one for each tool, those with near misses first. */
function chooseCases(proposed: readonly Omit<DraftCase, "id">[]): DraftCase[] {
  const none = proposed.filter(({ tool }) => tool === undefined).slice(0, maxNoTool);
  const asked = proposed.filter(({ tool }) => tool !== undefined);
  const isPlain = ({ avoid }: Omit<DraftCase, "id">) => Number(avoid === undefined);
  const groups = [...groupBy(asked, ({ tool = "" }) => tool).values()].map((own) =>
    own.toSorted((a, b) => isPlain(a) - isPlain(b)),
  );
  const chosen: DraftCase[] = [];
  for (let round = 0; round < maxCases; round++) {
    for (const own of groups) {
      const one = own[round];
      if (one && chosen.length < maxCases - none.length) chosen.push({ ...one, id: `${one.tool}-${round + 1}` });
    }
  }
  return [...chosen, ...none.map((one, at): DraftCase => ({ ...one, id: `no-tool-${at + 1}` }))];
}
