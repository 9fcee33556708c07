import { listProperties } from "../../../base/jsonSchema/keywords.ts";
import { splitName } from "../../../base/text/nearest.ts";
import { quote } from "../../../base/text/text.ts";
import { isJsonObject } from "../../../base/types/json.ts";
import { getUnquotedDescription, readText } from "../language.ts";
import { defineRules, type RuleHead, type ToolSubject } from "../rule.ts";

/** Words of a name by which the web, a store of data or code is the topic of a tool. */
const web = /^(?:https?|requests?|apis?|endpoints?|fetch|url|curl|rest|graphql|openapi|webhooks?)$/;
const stores =
  /^(?:sql|query|db|database|tables?|rows?|records?|redis|postgres|mysql|mongo|mongodb|sqlite|kafka|elasticsearch)$/;
const code = /^(?:code|class|functions?|symbols?|repo|repository|git|python|java|typescript|refactor|module)$/;
const technical = new RegExp(`${web.source}|${stores.source}|${code.source}|^(?:queues?|deploy|frontend|backend)$`);

const stock =
  "aiohttp|axios|psycopg2?|sqlalchemy|mongoose|mongodb|redis|memcached|postgres(?:ql)?|mysql|sqlite|dynamodb|scikit-learn|sklearn|" +
  "pandas|numpy|tensorflow|pytorch|langchain|puppeteer|selenium|beautifulsoup|boto3|kafka|rabbitmq|celery|elasticsearch|hibernate|" +
  "prisma|flask|fastapi|django|spring boot|asyncio|lambda function";

const implementation: readonly RegExp[] = [
  // How the request is sent.
  /\b(?:GET|POST|PUT|PATCH|DELETE) (?:request )?(?:to |from |at )?\/[\w{]|\bHTTP[ /](?:status )?(?:code )?[1-5]\d\d\b|\b[Rr]eturns? (?:200|201|204|400|401|403|404|409|422|500|503)(?= with| or| if| when| on| OK|[.,;]|$)/,
  // The backend of the tool.
  /\bthis (?:API |REST )?(?:endpoint|route|API call)\b|\b(?:calls?|hits?|wraps?) (?:the|our|an?) (?:[\w-]+ ){0,3}(?:API|endpoint|webhook|microservice)\b|\bwrapper (?:around|for|over|of)\b|\b(?:of|by) our (?:\w+ )?(?:API|backend)\b|\b(?:REST|GraphQL|gRPC) (?:API|endpoint|service)\b/i,
  // How data is stored.
  /\bSELECT [\w*,. ]{1,60} FROM\b|\bINSERT INTO\b|\bDELETE FROM\b|\b(?:[Ee]xecutes?|[Rr]uns?|[Ii]ssues) an? (?:SELECT|INSERT|UPDATE|DELETE|JOIN)\b|\b(?:into|from|in|on) the \w+ (?:table|collection)\b(?= of|[.,;]| and|$)/,
  // A name from the source code.
  /\b[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Service|Repository|Controller|Manager|Handler|DAO|DTO|Factory|Impl|Util|Utils)\b|\b[A-Za-z]\w*\.\w+\(\)|\b(?:[Ss]ee|in|from) [\w-]+\/[\w/-]+\.(?:py|[jt]s|go|java|rb|rs|cs|php)\b/,
  // What the tool is built on.
  new RegExp(`\\b(?:using|via|through|with|in|of|backed by) (?:an? |the |our )?(?:[\\w-]+ ){0,2}(?:${stock})\\b`, "i"),
  // Inner workings.
  /\binternally\b|\bunder the hood\b|\bbehind the scenes\b|\bimplemented (?:with|using|in|as|by)\b|\bdelegates? to\b|\b(?:called|used|consumed|invoked) by (?:the|our) (?:\w+ )?(?:front-?end|back-?end|UI)\b|\b(?:of|for) the (?:(?:old|legacy|new) )?(?:front|back)-?end\b|\b(?:SMTP|job|task|message) queue\b/i,
  // An internal address.
  /\bhttps?:\/\/[\w.-]{1,200}\.(?:internal|local|corp|lan|svc)\b/i,
  // A note to colleagues.
  /\b(?:TODO[:(]|FIXME\b|XXX:)/,
];

const docstring: readonly RegExp[] = [
  // A section of a docstring.
  /^ *(?:\*\*)?(?:args|arguments|parameters|params|kwargs)(?: explained)?:|^ *(?:raises|yields|throws|attributes): *$|[.!] (?:args|arguments|parameters|params):|^ *input: .*\n *output:/im,
  // A tag of a docstring.
  /(?<![\w:]):(?:param|type|returns?|rtype|raises)\b[^:\n]{0,80}:|(?<!\S)@(?:param|returns?|throws|arg)\b/,
  // A heading of a docstring.
  /^ *(?:parameters|returns|raises) *\n *-{3,}/im,
  // A type of a programming language.
  /\breturns? (?:an? |the )?(?:dict|dictionary|tuple|ndarray|DataFrame|Promise|(?:List|Dict|Optional|Tuple)\[)(?![\w-])/i,
];

const audience: readonly RegExp[] = [
  // The first person.
  /(?<=^|[.!?] )(?:I|We) (?:will |can |also )?[a-z]{2,}\b|\bI (?:am|will|can)\b|\bour (?:[\w-]+ ){0,2}(?:API|platform|service|engine|assistant|product|docs)\b/m,
  // Advertising.
  /\b(?:powerful|blazing(?:ly)?[- ]fast|lightning[- ]fast|state[- ]of[- ]the[- ]art|cutting[- ]edge|world[- ]class|best[- ]in[- ]class|award[- ]winning|revolutionary|game[- ]chang(?:er|ing)|seamless(?:ly)?|effortless(?:ly)?|next[- ]gen(?:eration)?|industry[- ]leading|unparalleled|AI[- ]powered|trusted by|the easiest way|key features:)/i,
  // Advice for developers.
  /(?<=^|[.!?] )Demonstrates\b|\bfor developers\b|\bby MCP (?:clients|hosts)\b|\b(?:client|schema) data validation\b|\bread the docs\b|\blearn more\b/m,
];

/** A rule about wordings that do not belong in a description. `topics`: words of names with which it does not apply. */
type StyleRule = RuleHead & { patterns: readonly RegExp[]; topics?: RegExp; message: string; fix: string };

const table: readonly StyleRule[] = [
  {
    id: "description-endpoint",
    why: "The reference of an endpoint is written for programmers: it does not say for which requests the tool is.",
    patterns: [/\b(?:(?:error|status) )?(?:responses?|codes?|statuses):? *\n? *[-*]? *`?[45]\d\d\b/i],
    topics: web,
    message: "The description has the statuses of an HTTP endpoint",
    fix: "Say what a call does and when to call it, and leave the statuses out.",
  },
  {
    id: "description-implementation",
    profile: "spec",
    why: "How a tool is built does not help to choose it, costs tokens, and goes out of date.",
    patterns: implementation,
    topics: technical,
    message: "The description mentions how the tool is built",
    fix: "Say what the tool does for the user, and leave out how.",
  },
  {
    id: "description-docstring",
    profile: "spec",
    why: "A docstring tells a programmer how to call; parameters belong in the schema, where a model looks for them.",
    patterns: docstring,
    message: "The description has a part of a docstring",
    fix: "Describe each parameter in its schema, and say here when to call the tool and what it does.",
  },
  {
    id: "description-for-model",
    profile: "spec",
    why: "Praise and asides to people take the space of what a model chooses by.",
    patterns: audience,
    message: "The description is not written to a model",
    fix: "Write it to the model: when to call the tool, and what it does.",
  },
];

export const styleRules = defineRules<ToolSubject>(
  "https://www.anthropic.com/engineering/writing-tools-for-agents",
  table.map(({ patterns, topics, message, ...head }) => ({
    ...head,
    at: ["description"],
    *check({ server, tool }) {
      const text = getUnquotedDescription(tool);
      const { name, inputSchema } = tool;
      const parameters = isJsonObject(inputSchema) ? listProperties(inputSchema).slice(0, 100) : [];
      const words = [server, readText(name), ...parameters.map(([key]) => key)].flatMap(splitName);
      if (text === undefined || words.some((word) => topics?.test(word))) return;
      for (const pattern of patterns) {
        const [match] = pattern.exec(text) ?? [];
        if (match !== undefined) yield { message: `${message}: ${quote(match.trim())}.` };
      }
    },
  })),
);
