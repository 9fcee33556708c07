import { parseWords } from "../../base/collections.ts";
import { getNumber, getSingleType, listRequired } from "../../base/jsonSchema/keywords.ts";
import { compileSchema } from "../../base/jsonSchema/validate.ts";
import { isSecretName } from "../../base/secrets/recognize.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import type { Tool } from "../../base/types/tool.ts";
import { listAlternatives, listParameters, splitWords } from "../parameters.ts";

/** Kinds of text: words of parameters' names that mean it, two values, and what a description says of such a value. */
const textKinds = {
  sql: ["sql statement", "SELECT name FROM customers LIMIT 10", "SELECT COUNT(*) FROM orders", /\bSQL\b/],
  json: ["json", '{"theme": "dark"}', '{"limit": 10}', /\bJSON\b/],
  yaml: ["yaml manifest", "{ kind: Namespace, metadata: { name: staging } }", "{ replicas: 3 }", /\bYAML\b/],
  glob: ["glob", "**/*.md", "src/**/*.ts", /\bglobs?\b/i],
  regex: ["regex regexp", "ERROR.*timeout", "^v\\d+", /\bregex|\bregular expressions?\b/i],
  cron: ["cron crontab", "0 9 * * 1", "*/15 * * * *", /\bcron\b/i],
  uuid: ["uuid guid", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "9b2f7c1a-58d4-4d2e-8b1f-6a0c3e5d7f90", /\bUUIDs?\b/],
  email: ["email mail recipient cc bcc", "ada@example.com", "grace@example.org", /\be-?mail address/i],
  url: ["url uri href link website", "https://example.com/pricing", "https://example.org/news", /\bUR[LI]s?\b/],
  moment: ["datetime timestamp since until", "2026-03-02T09:00:00Z", "2026-03-05T17:30:00Z", /\bISO[ -]?8601\b/i],
  date: ["date day deadline birthday", "2026-03-02", "2026-03-05", /\bYYYY-MM-DD\b|\bdate\b/i],
  time: ["time", "09:30", "17:45", /\bHH:MM\b/i],
  folder: ["dir directory folder cwd", "docs", "archive", /\bpath (?:to|of) (?:the|a) (?:directory|folder)\b/i],
  checkout: ["checkout", "projects/website", "projects/billing", /\bpath (?:to|of) (?:the|a) (?:git )?repository\b/i],
  path: ["path file filename filepath", "notes.txt", "report.md", /\b(?:file|relative|absolute) ?(?:name|path)\b/i],
  pattern: ["pattern", "report.*", "todo.*"],
  revision: ["sha commit revision", "4f2a9c1", "b81d03e", /\bcommit (?:hash|SHA)\b/i],
  branch: ["branch", "feature/login", "main", /\bbranch\b/i],
  version: ["version", "1.2.0", "2.0.1"],
  search: ["query search keyword term q topic phrase", "invoice", "solar power"],
  question: ["question", "How do I export a report?", "What changed in version 2?"],
  language: ["language lang locale", "en", "pt"],
  command: ["command cmd", "ls -la", "df -h", /\bshell command\b/i],
  code: ["code script snippet function", "() => document.title", "2 + 2", /\bJavaScript\b/i],
  expression: ["expression formula", "2 * (3 + 4)", "15 / 4"],
  selector: ["selector css", "#submit", ".price", /\bCSS selector\b/i],
  repository: ["repo repository project", "website", "billing"],
  organization: ["owner org organization workspace namespace", "acme", "globex"],
  person: ["user username login assignee author member", "ada", "grace"],
  city: ["city location place town", "Lisbon", "Oslo"],
  country: ["country", "Portugal", "Norway"],
  host: ["host hostname domain", "example.com", "db.example.org"],
  ip: ["ip", "192.0.2.10", "198.51.100.7"],
  timezone: ["timezone tz", "Europe/Lisbon", "Asia/Tokyo", /\btime ?zone\b/i],
  currency: ["currency", "EUR", "USD"],
  color: ["color colour", "#336699", "#ffcc00"],
  table: ["table collection", "customers", "orders"],
  database: ["database db", "shop", "analytics"],
  sheet: ["sheet worksheet spreadsheet", "Budget", "Summary"],
  package: ["package library dependency module", "react", "express"],
  label: ["label tag category", "bug", "urgent"],
  channel: ["channel room", "general", "releases"],
  id: ["id identifier number", "1207", "42"],
  title: ["title subject headline summary", "Quarterly report", "Release plan"],
  prose: ["text message content body comment description note", "The meeting moves to 3 pm.", "The tests passed."],
  name: ["name", "atlas", "budget"],
} as const satisfies Record<string, readonly [words: string, value: string, other: string, said?: RegExp]>;

type TextKind = keyof typeof textKinds;

const kindsByWord = new Map(
  Object.entries(textKinds).flatMap(([kind, [words]]) => words.split(" ").map((word) => [word, kind as TextKind])),
);
const formats: Readonly<Record<string, TextKind>> = {
  date: "date",
  "date-time": "moment",
  time: "time",
  email: "email",
  uri: "url",
  url: "url",
  uuid: "uuid",
  hostname: "host",
  ipv4: "ip",
};

/** Kinds that say little: what a description says of the form counts more. */
const vague = parseWords("search expression code pattern prose name title time city");
/** Last words of names of choices, which only an enumeration or a description can list. */
const choiceNames = /^(?:type|kind|mode|format|method|status|state|level|order|units?|style|action|operation)$/;
/** Things whose names cannot be made up, in the description of a parameter `name`. */
const existing =
  /\b(?:person|people|full name|players?|artists?|authors?|athletes?|celebrity|company|club|book|game)\b/i;
/** Tools whose queries are in SQL, and words in the names of tools whose paths are folders. */
const sqlTool = /\bSQL\b|\b(?:postgres\w*|sqlite|mysql|mariadb|duckdb|bigquery|snowflake)\b/i;
type ValuesBySubject = readonly (readonly [said: RegExp, values: readonly string[]])[];
/** Statements of SQL for tools that do not only read, by what their texts say. */
const statements: ValuesBySubject = [
  [
    /\bcreate\w*\b[^.]{0,20}\btable\b/i,
    ["CREATE TABLE suppliers (name TEXT, phone TEXT)", "CREATE TABLE visits (day TEXT, pages INTEGER)"],
  ],
  [
    /^(?!.*\bselect\b).*\b(?:insert|update|delete|write)\b/is,
    ["UPDATE customers SET city = 'Oslo' WHERE id = 42", "DELETE FROM orders WHERE id = 1207"],
  ],
];
const subjects: ValuesBySubject = [
  [/\bgeocod\w*|\baddress(?:es)?\b|\bplaces?\b|\bmaps?\b/i, ["Brandenburg Gate, Berlin", "221B Baker Street, London"]],
  [/\b(?:papers?|journals?|literature|PubMed|arXiv)\b/i, ["sleep and memory", "effects of caffeine"]],
  [/\b(?:docs|documentation|guides?)\b/i, ["how to set up caching", "how to run tests"]],
  [/\b(?:web|internet|online|news)\b/i, ["opening hours of the Louvre", "best electric bikes"]],
  [/\bcode\b/i, ["parse a date", "retry a request"]],
];
const fileKinds: ValuesBySubject = [
  [/\b(?:svg|logo|icon)s?\b/i, ["logo.svg", "icon.svg"]],
  [/\b(?:images?|png|jpe?g|photos?|screenshots?)\b/i, ["photo.png", "chart.png"]],
  [/\b(?:fonts?|ttf)\b/i, ["Inter.ttf", "Lora.ttf"]],
  [/\b(?:pptx?|presentations?|slides?|powerpoint)\b/i, ["slides.pptx", "launch.pptx"]],
  [/\b(?:docx?|word documents?)\b/i, ["report.docx", "letter.docx"]],
  [/\b(?:xlsx?|excel|workbooks?|worksheets?)\b/i, ["budget.xlsx", "sales.xlsx"]],
  [/\bcsv\b/i, ["customers.csv", "orders.csv"]],
  [/\bpdfs?\b/i, ["contract.pdf", "manual.pdf"]],
  [/\b(?:audio|mp3|wav|songs?)\b/i, ["song.mp3", "interview.wav"]],
  [/\b(?:videos?|mp4)\b/i, ["talk.mp4", "demo.mp4"]],
];
const moved = /^(?:source|src|destination|dest)$/;
/** What has a path that is a folder: `repo_path`. */
const holders = /^(?:repo|repository|project|root|workspace)$/;
const folderTool = /^(?:directory|directories|folders?|dir|tree|list|search|find|glob)$/;

/** Values of numbers, by a word of the name. Any other number is a count. */
const numberKinds: readonly (readonly [words: RegExp, values: readonly number[]])[] = [
  [/^lat(?:itude)?$/, [38.72, 59.91, 48.86, 40.42]],
  [/^(?:longitude|lon|lng)$/, [-9.14, 10.75, 2.35, -3.7]],
  [/^year$/, [2026, 2025]],
  [/^port$/, [8080, 5432]],
  [/^(?:width|height)$/, [1280, 720]],
  [/^(?:limit|max|top|size|results)$/, [10, 25]],
  [/^(?:timestamp|since|until)$/, [1772442000, 1772728200]],
  [/^(?:probability|ratio|share)$/, [0.25, 0.5]],
  [/^(?:id|number)$/, [1207, 42]],
];

/** Keywords that no value made up here can violate, so that most schemas need not be compiled. */
const harmless = parseWords("type title description default examples enum const");

/**
 * Makes up values for the required parameters of a tool: those that its schema gives (constants, examples, defaults,
 * enumerations, examples in descriptions), else values of its format, else what its name means. Each is valid for the
 * schema of its parameter. A parameter that none of this fits stays unfilled, because a case must not expect a value
 * that no user would say.
 * @param isUsable whether a text may be written to a file, which a text with a secret may not
 * @param skip how many of the values that fit are passed over, for a second query
 */
export function sampleArguments(tool: Tool, isUsable: (text: string) => boolean, skip = 0) {
  const parameters = listParameters(tool.inputSchema);
  const args: JsonObject = {};
  const unfilled: string[] = [];
  for (const name of listRequired(tool.inputSchema)) {
    const used = new Set(Object.values(args).map((value) => JSON.stringify(value)));
    const all = listFitting(name, parameters.get(name), tool);
    const fitting = all.filter((one) => isUsable(`${name} ${JSON.stringify(one)}`));
    const value = fitting.find((one, at) => at >= skip && !used.has(JSON.stringify(one))) ?? fitting[0];
    if (value === undefined) unfilled.push(name);
    else args[name] = value;
  }
  return { args, unfilled };
}

/** The values that fit a parameter and are valid for its schema, the best first. */
function listFitting(name: string, schema: Json | undefined, tool: Tool): Json[] {
  const { $defs = {}, definitions = {} } = tool.inputSchema;
  const [parameter = {}] = listAlternatives(schema, tool.inputSchema);
  const values = listValues(name, parameter, tool);
  if (Object.keys(parameter).every((keyword) => harmless.has(keyword))) return values;
  const validate = compileSchema({ $defs, definitions, ...(isJsonObject(schema) && schema) });
  return values.filter((value) => typeof validate === "string" || validate(value, name).kind !== "invalid");
}

function listValues(name: string, parameter: JsonObject, tool: Tool): Json[] {
  const { examples, enum: choices, const: constant, default: usual, description, format } = parameter;
  const given = [constant, ...toList(examples), usual, ...toList(choices)].filter(isSimple);
  if (given.length > 0) return given;
  const said = typeof description === "string" ? description.slice(0, 1000) : "";
  const type = getSingleType(parameter);
  if (type === "string") return listTexts(name, said, format, tool);
  if (type === "integer" || type === "number") {
    const [, values = []] = numberKinds.find(([words]) => splitWords(name).some((word) => words.test(word))) ?? [];
    return [...values, 3, 7, 12, getNumber(parameter, "minimum") ?? 3, getNumber(parameter, "maximum") ?? 3];
  }
  if (type === "boolean") return [true];
  if (type !== "array") return [];
  const [item = {}] = listAlternatives(parameter.items, tool.inputSchema);
  // One number says nothing of a series.
  const texts = listValues(name, { description: said, ...item }, tool).filter((one) => typeof one === "string");
  const isForSeveral = texts.length > 1 && /\bmultiple\b/i.test(tellAbout(tool));
  return [...(isForSeveral ? [texts.slice(0, 2), texts.slice(0, 2).reverse()] : []), ...texts.map((one) => [one])];
}

const toList = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

function isSimple(value: Json | undefined): value is string | number | boolean {
  if (typeof value === "string") return value.trim() !== "" && value.length <= 60;
  return typeof value === "number" || typeof value === "boolean";
}

function listTexts(name: string, said: string, format: Json | undefined, tool: Tool): string[] {
  // A key alone is one of a keyboard or a map.
  if (isSecretName(name) && name !== "key") return [];
  const example = readExample(said);
  if (example !== undefined) return [example];
  const kind = (typeof format === "string" && formats[format]) || findKind(splitWords(name), said, tool);
  if (!kind) return [];
  const [, ...usual] = textKinds[kind];
  const special = kind === "sql" ? statements : kind === "search" ? subjects : kind === "path" ? fileKinds : [];
  const find = (text: string) => special.find(([form]) => form.test(text))?.[1];
  // What a parameter says of itself counts more than what its tool is about.
  const values = find(`${splitWords(name).join(" ")} ${said}`) ?? find(tellAbout(tool)) ?? usual;
  const form =
    kind === "date" ? /\b(?:YYYY|MM|DD)(?:[-/.](?:YYYY|MM|DD)){1,2}\b/i.exec(said)?.[0].toUpperCase() : undefined;
  const dates = form === undefined ? [] : [form.replace("YYYY", "2026").replace("MM", "03").replace("DD", "02")];
  return [...dates, ...values.filter((value) => typeof value === "string")];
}

/** The words of a tool's name, and the beginning of its description. */
const tellAbout = ({ name, description = "" }: Tool) => `${splitWords(name).join(" ")} ${description.slice(0, 500)}`;

function findKind(words: readonly string[], said: string, tool: Tool): TextKind | undefined {
  if (choiceNames.test(words.at(-1) ?? "")) return undefined;
  if (moved.test(words.at(-1) ?? "") && /\bfiles?\b/i.test(tellAbout(tool))) return "path";
  // The last word of a name says what it is, and those before of what: base_url, url_pattern. But "name" says nothing.
  const kind = words
    .toReversed()
    .flatMap((word) => kindsByWord.get(word) ?? kindsByWord.get(word.replace(/s$/, "")) ?? [])
    .find((one) => words.length === 1 || (one !== "name" && one !== "title"));
  if (kind === "path" && words.some((word) => holders.test(word))) return "checkout";
  const isFile = words.some((word) => /^file/.test(word));
  if (kind === "path" && !isFile && splitWords(tool.name).some((word) => folderTool.test(word))) return "folder";
  if (kind === "search" && sqlTool.test(tellAbout(tool))) return "sql";
  const described = Object.entries(textKinds).find(([, [, , , form]]) => form?.test(said))?.[0] as TextKind | undefined;
  if (kind === "id" && described === "uuid") return described;
  if (kind !== undefined && !vague.has(kind)) return kind;
  return kind === "name" && existing.test(said) ? undefined : (described ?? kind);
}

/** The first example, `EUR` in "(e.g. 'EUR', 'USD')", or the first of a list: "Possible values are: a, b". */
function readExample(description: string): string | undefined {
  const inQuotes = /\b(?:e\.g\.?|for example|such as)[,:]? +(?:"([^"\n]{1,60})"|'([^'\n]{1,60})'|`([^`\n]{1,60})`)/i;
  const quoted = inQuotes.exec(description);
  if (quoted) return quoted.slice(1).find((one) => one !== undefined && !/YYYY|HH/.test(one));
  const plain =
    /\b(?:e\.g\.?|for example)[,:]? +(?!(?:an?|the|this|that|if|when|to)\b)([\w/@+][^\s,;()]*(?: [^\s,;()]+){0,2}?)(?=[,;)\n]|\.?\s*$|\.\s|\s\()/i;
  const listed =
    /\b(?:values|options|categories|types|choices)\b[^.:\n]{0,20}:\s{0,3}(?:- )?["'`]?([a-z][\w-]{1,39})(?=["'`]?(?:[,:\n]| or ))/i;
  return (plain.exec(description)?.[1] ?? listed.exec(description)?.[1])?.replace(/\.$/, "");
}
