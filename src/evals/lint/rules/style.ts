import { isJsonObject, type JsonObject } from "../../types/json.ts";
import { quote } from "../../types/quote.ts";
import { unquotedDescription } from "../language.ts";
import type { Rule, ToolSubject } from "../rule.ts";
import { wordsOf } from "../text.ts";

/** A wording that does not belong, unless one of the words `unless` says that the tool itself is about such things. */
type Pattern = { clause: string; what: string; sees: RegExp; unless?: RegExp };

const web =
  /^(?:https?|request|requests|api|apis|endpoint|endpoints|fetch|url|curl|rest|graphql|openapi|webhook|webhooks)$/;
const stores =
  /^(?:sql|query|db|database|table|tables|row|rows|record|records|redis|postgres|mysql|mongo|mongodb|sqlite|kafka|elasticsearch)$/;
const code =
  /^(?:code|class|function|functions|symbol|symbols|repo|repository|git|python|java|typescript|refactor|module)$/;

const stock =
  "aiohttp|axios|psycopg2?|sqlalchemy|mongoose|mongodb|redis|memcached|postgres(?:ql)?|mysql|sqlite|dynamodb|scikit-learn|sklearn|" +
  "pandas|numpy|tensorflow|pytorch|langchain|puppeteer|selenium|beautifulsoup|boto3|kafka|rabbitmq|celery|elasticsearch|hibernate|" +
  "prisma|flask|fastapi|django|spring boot|asyncio|lambda function";

const implementation: readonly Pattern[] = [
  {
    clause: "no HTTP method, path or status",
    what: "how the request is sent",
    sees: /\b(?:GET|POST|PUT|PATCH|DELETE) (?:request )?(?:to |from |at )?\/[\w{]|\bHTTP[ /](?:status )?(?:code )?[1-5]\d\d\b|\b[Rr]eturns? (?:200|201|204|400|401|403|404|409|422|500|503)(?= with| or| if| when| on| OK|[.,;]|$)/,
    unless: web,
  },
  {
    clause: "no endpoint, interface or wrapper behind the tool",
    what: "what stands behind the tool",
    sees: /\bthis (?:API |REST )?(?:endpoint|route|API call)\b|\b(?:calls?|hits?|wraps?) (?:the|our|an?) (?:[\w-]+ ){0,3}(?:API|endpoint|webhook|microservice)\b|\bwrapper (?:around|for|over|of)\b|\b(?:of|by) our (?:\w+ )?(?:API|backend)\b|\b(?:REST|GraphQL|gRPC) (?:API|endpoint|service)\b/i,
    unless: web,
  },
  {
    clause: "no database statement or table",
    what: "how data is stored",
    sees: /\bSELECT [\w*,. ]{1,60} FROM\b|\bINSERT INTO\b|\bDELETE FROM\b|\b(?:[Ee]xecutes?|[Rr]uns?|[Ii]ssues) an? (?:SELECT|INSERT|UPDATE|DELETE|JOIN)\b|\b(?:into|from|in|on) the \w+ (?:table|collection)\b(?= of|[.,;]| and|$)/,
    unless: stores,
  },
  {
    clause: "no name of a class, function or source file",
    what: "a name from the source code",
    sees: /\b[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Service|Repository|Controller|Manager|Handler|DAO|DTO|Factory|Impl|Util|Utils)\b|\b[A-Za-z]\w*\.\w+\(\)|\b(?:[Ss]ee|in|from) [\w-]+\/[\w/-]+\.(?:py|[jt]s|go|java|rb|rs|cs|php)\b/,
    unless: code,
  },
  {
    clause: "no library or store it is built on",
    what: "what the tool is built on",
    sees: new RegExp(
      `\\b(?:using|via|through|with|in|of|backed by) (?:an? |the |our )?(?:[\\w-]+ ){0,2}(?:${stock})\\b`,
      "i",
    ),
    unless: new RegExp(`${stores.source}|^(?:${stock})$`),
  },
  {
    clause: "no inner workings",
    what: "inner workings",
    sees: /\binternally\b|\bunder the hood\b|\bbehind the scenes\b|\bimplemented (?:with|using|in|as|by)\b|\bdelegates? to\b|\b(?:called|used|consumed|invoked) by (?:the|our) (?:\w+ )?(?:front-?end|back-?end|UI)\b|\b(?:of|for) the (?:(?:old|legacy|new) )?(?:front|back)-?end\b|\b(?:SMTP|job|task|message) queue\b/i,
    unless: /^(?:queue|queues|deploy|frontend|backend)$/,
  },
  {
    clause: "no address of an internal host",
    what: "an internal address",
    sees: /\bhttps?:\/\/[\w.-]{1,200}\.(?:internal|local|corp|lan|svc)\b/i,
  },
  { clause: "no note to colleagues such as TODO", what: "a note to colleagues", sees: /\b(?:TODO[:(]|FIXME\b|XXX:)/ },
];

const docstring: readonly Pattern[] = [
  {
    clause: "no sections such as Args: and Returns:",
    what: "a section of a docstring",
    sees: /^ *(?:\*\*)?(?:args|arguments|parameters|params|kwargs)(?: explained)?:|^ *(?:returns?|raises|yields|throws|attributes): *$|[.!] (?:args|arguments|parameters|params):|^ *input: .*\n *output:/im,
  },
  {
    clause: "no tags such as :param and @return",
    what: "a tag of a docstring",
    sees: /(?<![\w:]):(?:param|type|returns?|rtype|raises)\b[^:\n]{0,80}:|(?<!\S)@(?:param|returns?|throws|arg)\b/,
  },
  {
    clause: "no underlined headings",
    what: "a heading of a docstring",
    sees: /^ *(?:parameters|returns|raises) *\n *-{3,}/im,
  },
  {
    clause: "no types of a programming language",
    what: "a type of a programming language",
    sees: /\breturns? (?:an? |the )?(?:dict|dictionary|tuple|ndarray|DataFrame|Promise|(?:List|Dict|Optional|Tuple)\[)(?![\w-])/i,
    unless: code,
  },
];

const audience: readonly Pattern[] = [
  {
    clause: "nobody speaks in it as I or we",
    what: "a speaker",
    sees: /(?<=^|[.!?] )(?:I|We) (?:will |can |also )?[a-z]{2,}\b|\bI (?:am|will|can)\b|\bour (?:[\w-]+ ){0,2}(?:API|platform|service|engine|assistant|product|docs)\b/m,
  },
  {
    clause: "no advertising",
    what: "advertising",
    sees: /\b(?:powerful|blazing(?:ly)?[- ]fast|lightning[- ]fast|state[- ]of[- ]the[- ]art|cutting[- ]edge|world[- ]class|best[- ]in[- ]class|award[- ]winning|revolutionary|game[- ]chang(?:er|ing)|seamless(?:ly)?|effortless(?:ly)?|next[- ]gen(?:eration)?|industry[- ]leading|unparalleled|AI[- ]powered|trusted by|the easiest way|key features:)/i,
  },
  {
    clause: "not addressed to developers",
    what: "what only a developer can use",
    sees: /(?<=^|[.!?] )Demonstrates\b|\bfor developers\b|\bby MCP (?:clients|hosts)\b|\b(?:client|schema) data validation\b|\bread the docs\b|\blearn more\b/m,
  },
];

const writing = "https://www.anthropic.com/engineering/writing-tools-for-agents";

/** What does not belong into a description that a model is to choose by. */
export const styleRules: readonly Rule<ToolSubject>[] = [
  {
    id: "description-implementation",
    severity: "warning",
    why: "How a tool is built does not help to choose it, costs tokens, and goes out of date.",
    docs: writing,
    ...patternsRule(implementation, "tells", "Say what the tool does for the user, and leave out how."),
  },
  {
    id: "description-docstring",
    severity: "warning",
    why: "A docstring tells a programmer how to call; parameters belong into the schema, where a model looks for them.",
    docs: writing,
    ...patternsRule(
      docstring,
      "has",
      "Describe each parameter in its schema, and say here when to call the tool and what it does.",
    ),
  },
  {
    id: "description-for-model",
    severity: "warning",
    why: "Praise and asides to people take the place of what a model chooses by.",
    docs: writing,
    ...patternsRule(audience, "has", "Write it to the model: when to call the tool, and what it does."),
  },
];

function patternsRule(
  patterns: readonly Pattern[],
  has: string,
  fix: string,
): Pick<Rule<ToolSubject>, "clauses" | "check"> {
  return {
    clauses: patterns.map(({ clause }) => clause),
    *check({ server, tool }) {
      const text = unquotedDescription(tool);
      if (text === undefined) return;
      const isTopic = (about: RegExp) => [...wordsOf(server), ...topicsOf(tool)].some((word) => about.test(word));
      for (const { what, sees, unless } of patterns) {
        const [seen] = sees.exec(text) ?? [];
        if (seen === undefined || (unless !== undefined && isTopic(unless))) continue;
        yield { at: ["description"], message: `The description ${has} ${what}: ${quote(seen.trim())}.`, fix };
      }
    },
  };
}

/** The words of a tool's name and of its parameters. */
function topicsOf({ name, inputSchema }: JsonObject): readonly string[] {
  const properties = isJsonObject(inputSchema) ? inputSchema.properties : undefined;
  const parameters = isJsonObject(properties) ? Object.keys(properties).slice(0, 100) : [];
  return [...(typeof name === "string" ? [name] : []), ...parameters].flatMap(wordsOf);
}
