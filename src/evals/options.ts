// Written by scripts/optionTypes.mjs from the flags of the commands.

type SuiteOptions = {
  /** Run only the eval files of these skills. */
  skill?: string | readonly string[] | undefined;
  /** Search for skills in these folders of the home and project folders (default: those of `host`). */
  hostDir?: string | readonly string[] | undefined;
  /** Include the skills in the home folder. */
  userSkills?: boolean | undefined;
  /** Model that grades expected behaviour, for example anthropic:claude-opus-5-5 (default: not graded). */
  judge?: string | undefined;
  /** Run only cases whose id matches this pattern (* matches any text). */
  case?: string | readonly string[] | undefined;
  /** Maximum replies per trial; overrides the suites. */
  maxTurns?: number | undefined;
  /** Which tool calls are executed; overrides the suites (their default: safe). */
  execute?: "always" | "safe" | "never" | undefined;
  /** Text that the model gets for a call that is not executed; {tool} and {reason} are filled in. */
  denial?: string | undefined;
};

type ExposureOptions = {
  /** Show tool names and skills as this host does. Default: "plain". */
  host?: "plain" | "agent-skills" | "claude-code" | "codex" | "copilot" | "gemini-cli" | "goose" | undefined;
  /** How tools are shown: all (every definition), names (with a search tool that loads definitions), search (of the API) or host (as the host does) (default: all; for hosts: host). */
  exposure?: string | undefined;
  /** Search algorithm for `exposure` names (default: keyword) or search (default: the first of the API). */
  ranker?: "keyword" | "bm25" | "regex" | undefined;
};

type AskOptions = {
  /** Seed of the tool order (default: random, recorded). */
  seed?: number | undefined;
  /** Folder of the run records. Default: "reports". */
  out?: string | undefined;
  /** Base URL of the model's API, for example http://localhost:8000/v1. */
  baseUrl?: string | undefined;
  /** Maximum output tokens per reply. */
  maxTokens?: number | undefined;
  /** Timeout of one request, in seconds (hosts: of one trial). */
  timeout?: number | undefined;
  /** Maximum retries for transient errors of the model. */
  retries?: number | undefined;
  /** Reasoning effort, for models that have one: low, medium, high, .... */
  effort?: string | undefined;
  /** JSON file with list prices that replace the built-in ones. */
  prices?: string | undefined;
  /** Maximum concurrent trials. Default: 10. */
  concurrency?: number | undefined;
  /** Send no further requests once this many US dollars are spent. */
  budget?: number | undefined;
  /** Maximum requests to models. */
  maxRequests?: number | undefined;
  /** Send no further requests after this many seconds. */
  maxTime?: number | undefined;
  /** Claude Code executable, for the model claude-code (default: $CLAUDE_CODE_PATH, then claude on the PATH). */
  claudePath?: string | undefined;
};

type ServerOptions = {
  /** Command line of an MCP server. */
  server?: string | readonly string[] | undefined;
  /** URL of an MCP server. */
  url?: string | readonly string[] | undefined;
  /** Transport of `url`: Streamable HTTP (default), or the older SSE. */
  transport?: "http" | "sse" | undefined;
  /** Host configuration file, for example .mcp.json: every server in it. */
  config?: string | readonly string[] | undefined;
  /** With `config`: only the servers of these names. */
  name?: string | readonly string[] | undefined;
};

/** The options of `run`, as the flags of `evals run`. */
export type RunOptions = SuiteOptions &
  ExposureOptions &
  AskOptions & {
    /** Suite files, folders or skill packages (default: evals/). */
    paths?: string | readonly string[] | undefined;
    /** Models under test: lexical, anthropic:<model>, openai:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>. Default: ["lexical"]. */
    model?: string | readonly string[] | undefined;
    /** Trials per case and model; overrides the suites (their default: 5). In a check: the maximum (default: 25). */
    trials?: number | undefined;
    /** Rate at which a case passes; overrides the suites (their default: 0.8). */
    passRate?: number | undefined;
    /** Check against the accepted baseline (default: if there is one); on requires one, always compares even an unchanged tool list (an A/A test, which shows the noise). */
    check?: "on" | "always" | "off" | undefined;
    /** Results that exit with code 1; repeatable (default: regressed if a baseline is checked, none for lexical, otherwise rate: a case below its pass rate). */
    failOn?:
      | "regressed"
      | "suite"
      | "changed"
      | "drifted"
      | "inconclusive"
      | "rate"
      | "any"
      | readonly ("regressed" | "suite" | "changed" | "drifted" | "inconclusive" | "rate" | "any")[]
      | undefined;
    /** Watch for drift of the model while the tools stay the same: 3 trials per case, more for cases that look different. */
    nightly?: boolean | undefined;
    /** With `nightly`: correlation between the trials of a case within a night (default: 0.02). */
    correlation?: number | undefined;
    /** Also run every case on the `surfaces` of its suite, and compare each with the suite's own tools. */
    surfaces?: boolean | undefined;
    /** Run every case with each of these numbers of the `distractors` of its suite, for example 0,10,50, and compare them; in a whole configuration: of other servers. */
    distractors?: string | undefined;
    /** Run once only the cases affected by a change since the baseline: of the case, an expected tool, or a tool similar to it. */
    changed?: boolean | undefined;
    /** After a regression, find the changed wording that caused it. */
    blame?: boolean | undefined;
    /** Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points). Default: 0.1. */
    margin?: number | undefined;
    /** Folder of the accepted baselines; commit it. Default: "evals/baselines". */
    baselines?: string | undefined;
    /** Run one part of the plan, for example 1/3; `evals merge` combines the parts into one run. */
    shard?: string | undefined;
    /** Send single-reply cases to the batch API of anthropic: and openai: models: half the price, replies within 24 hours. */
    batch?: boolean | undefined;
    /** With `resume`: cancel the pending batches of this record. */
    cancelBatch?: boolean | undefined;
    /** Run the trials on other machines, with `evals worker`, over this Redis server: redis://host:6379. */
    queue?: string | undefined;
    /** With `queue`: maximum trials started per second and provider, across all workers. */
    rate?: number | undefined;
    /** Accept the run as the baseline once it is complete, even if cases failed or regressed. */
    accept?: boolean | undefined;
    /** Continue this record (folder, id or latest) with its recorded flags; only missing trials run. */
    resume?: string | undefined;
    /** With `resume`: run broken trials again. */
    retryBroken?: boolean | undefined;
    /** For writing a suite: reuse the replies of earlier runs to identical requests, and send only new ones; gives no verdict (anthropic, openai). */
    cache?: boolean | undefined;
    /** Also print the run in this format: json, markdown, junit, github (annotations) or custom:<file>. */
    reporter?: string | readonly string[] | undefined;
    /** Send each trial as a trace, without texts, to this OpenTelemetry collector, for example http://localhost:4318. */
    otlp?: string | undefined;
  };

/** The options of `compare`, as the flags of `evals compare`. */
export type CompareOptions = {
  /** A: folder or id of a run, or a baseline file. */
  base: string;
  /** B: folder or id of a run, or latest. */
  head: string;
  /** Compare only these suites (default: all that both have). */
  suite?: string | readonly string[] | undefined;
  /** Compare only these models (default: all that both have). */
  model?: string | readonly string[] | undefined;
  /** Mean drop that NO REGRESSION rules out (0.1 or 10% = 10 percentage points). Default: 0.1. */
  margin?: number | undefined;
  /** Output format. Default: "terminal". */
  as?: "terminal" | "json" | "markdown" | "html" | "junit" | "github" | "sarif" | undefined;
  /** Folder of the run records. Default: "reports". */
  out?: string | undefined;
};

/** The options of `blame`, as the flags of `evals blame`. */
export type BlameOptions = AskOptions & {
  /** Run with a regression: its folder, its id or latest (the newest one that regressed). Default: "latest". */
  run?: string | undefined;
  /** Explain these cases: part of an id or a pattern (default: the 3 cases that dropped most). */
  case?: string | readonly string[] | undefined;
  /** Only this suite of the run. */
  suite?: string | undefined;
  /** Compare the live tools with this baseline instead of a run; requires `case`. */
  baseline?: string | undefined;
  /** With `baseline`: where the suite file is (default: evals/). */
  paths?: string | readonly string[] | undefined;
  /** Only this model of the run. */
  model?: string | undefined;
  /** Continue this record (folder, id or latest) with its recorded flags; only missing trials run. */
  resume?: string | undefined;
};

/** The options of `variants`, as the flags of `evals variants`. */
export type VariantsOptions = SuiteOptions &
  ExposureOptions &
  AskOptions & {
    /** Variants file: the wordings to test; required for a new experiment. */
    file?: string | undefined;
    /** Suite file (default: the only one under evals/). */
    path?: string | undefined;
    /** Model under test: lexical, anthropic:<model>, openai:<model>, claude-code, codex:<model>, copilot:<model>, goose:<provider>/<model>, custom:<file> or replay:<run>. Default: "lexical". */
    model?: string | undefined;
    /** Write the winner as a JSON overlay to this file, or to standard output with -; exit code 1 without one. */
    write?: string | undefined;
    /** With `write`: write this variant, whether it won or not. */
    of?: string | undefined;
    /** Smallest gain that is worth a change. Default: 0.1. */
    margin?: number | undefined;
    /** Rule out a loss only for cases whose id matches this pattern (default: all); saves trials. */
    harmCases?: string | readonly string[] | undefined;
    /** Loss to rule out for cases with a pass rate below 85% (default: 0.15, as for all); 0.25 saves a third of the trials. */
    harmUnsteady?: number | undefined;
    /** Folder of the accepted baselines; commit it. Default: "evals/baselines". */
    baselines?: string | undefined;
    /** Continue this record (folder, id or latest) with its recorded flags; only missing trials run. */
    resume?: string | undefined;
  };

/** The options of `tools`, as the flags of `evals tools`. */
export type ToolsOptions = ServerOptions & {
  /** Suite files or folders whose servers are listed (default: evals/, unless a flag names a list). */
  paths?: string | readonly string[] | undefined;
  /** JSON or YAML file with a tool list, or a baseline. */
  tools?: string | readonly string[] | undefined;
};

/** The options of `lint`, as the flags of `evals lint`. */
export type LintOptions = ServerOptions & {
  /** Suites or skill packages, files or folders (default: evals/ and the skills of the project, unless a flag names what to lint). */
  paths?: string | readonly string[] | undefined;
  /** JSON or YAML file with a tool list. */
  tools?: string | readonly string[] | undefined;
  /** Skill package, or folder of skill packages. */
  skills?: string | readonly string[] | undefined;
  /** Also rank the pairs of tools that are easy to confuse. */
  confusable?: boolean | undefined;
  /** Baseline or tool list of the previous release: classify what changed, and check the versioning rules. */
  against?: string | undefined;
  /** Also have this model grade each tool, for example anthropic:claude-opus-5-5; its findings are marked. */
  judge?: string | undefined;
  /** Base URL of the judge's API, for example http://localhost:8000/v1. */
  baseUrl?: string | undefined;
  /** Maximum output tokens per reply. */
  maxTokens?: number | undefined;
  /** Timeout of one request to the judge, in seconds. */
  timeout?: number | undefined;
  /** Maximum retries for transient errors of the model. */
  retries?: number | undefined;
  /** Reasoning effort, for models that have one: low, medium, high, .... */
  effort?: string | undefined;
  /** JSON file with list prices that replace the built-in ones. */
  prices?: string | undefined;
  /** Maximum concurrent requests to the judge. Default: 10. */
  concurrency?: number | undefined;
  /** Send no further tools to the judge once this many US dollars are spent. */
  budget?: number | undefined;
  /** Severity of a rule, as <rule>=error|warning|info|off; overrides the configuration in files. */
  severity?: string | readonly string[] | undefined;
  /** Rules to check; spec adds conventions of wording and form, for your own servers (default: general). */
  profile?: "general" | "spec" | undefined;
  /** List every finding, infos included (default: repeated ones are folded, infos only counted). */
  all?: boolean | undefined;
  /** Lowest severity that exits with code 1. Default: "error". */
  failureThreshold?: "error" | "warning" | "info" | undefined;
};

/** The options of `search`, as the flags of `evals search`. */
export type SearchOptions = {
  /** Suites or skill packages, files or folders (default: evals/, and the skills of the project). */
  paths?: string | readonly string[] | undefined;
  /** Only this algorithm: keyword (as in Claude Code), bm25 or regex (as in APIs). */
  ranker?: "keyword" | "bm25" | "regex" | readonly ("keyword" | "bm25" | "regex")[] | undefined;
  /** Exit with code 1 below this: recall@<1, 3, 5 or 10>=<share>, or rank=<number> for every query. */
  failOn?: string | readonly string[] | undefined;
  /** Search the tool names that this host shows. Default: "plain". */
  host?: "plain" | "agent-skills" | "claude-code" | "codex" | "copilot" | "gemini-cli" | "goose" | undefined;
  /** Search only for cases whose id matches this pattern (* matches any text). */
  case?: string | readonly string[] | undefined;
  /** Search only for the eval files of these skills. */
  skill?: string | readonly string[] | undefined;
  /** Search for skills in these folders of the home and project folders (default: those of `host`). */
  hostDir?: string | readonly string[] | undefined;
  /** Include the skills in the home folder. */
  userSkills?: boolean | undefined;
};

/** The options of `probe`, as the flags of `evals probe`. */
export type ProbeOptions = ServerOptions & {
  /** Suite files or folders whose servers are probed (default: evals/, unless a flag names a server). */
  paths?: string | readonly string[] | undefined;
  /** Probe only tools whose name matches this pattern (* matches any text). */
  tool?: string | readonly string[] | undefined;
  /** Which tools are called (default: as in the suite, otherwise safe: those annotated read-only or non-destructive; the latter may leave data behind). */
  execute?: "always" | "safe" | "never" | undefined;
  /** Maximum inputs per tool and kind of probe. Default: 5. */
  runs?: number | undefined;
  /** Seed of the generated inputs (default: random, printed). */
  seed?: number | undefined;
  /** Timeout of one call, in seconds. Default: 10. */
  timeout?: number | undefined;
  /** Maximum further calls to shrink a failing input. Default: 50. */
  maxCalls?: number | undefined;
  /** Make this call instead: {"tool": "...", "arguments": {...}}; repeatable, executed in order. */
  call?: string | readonly string[] | undefined;
  /** Severity of a rule, as <rule>=error|warning|info|off; overrides the configuration in files. */
  severity?: string | readonly string[] | undefined;
  /** Rules to check; spec adds conventions of failures and texts, for your own servers (default: general). */
  profile?: "general" | "spec" | undefined;
  /** Lowest severity that exits with code 1. Default: "warning". */
  failureThreshold?: "error" | "warning" | "info" | undefined;
};

/** The options of `doctor`, as the flags of `evals doctor`. */
export type DoctorOptions = ServerOptions & {
  /** Suite files or folders whose servers are examined (default: evals/, unless a flag names servers). */
  paths?: string | readonly string[] | undefined;
  /** Which tools without required arguments are called once; safe: those annotated read-only or non-destructive. Default: "safe". */
  execute?: "always" | "safe" | "never" | undefined;
  /** Timeout of a server's start, in seconds. Default: 30. */
  timeout?: number | undefined;
  /** Also examine how a host shows the tools, at no cost: claude-code, codex, copilot or goose, or a model in one. */
  host?: string | readonly string[] | undefined;
};

/** The options that `evals.config.*` can set for a project. */
export type ConfigOptions = Omit<
  RunOptions,
  "paths" | "skill" | "case" | "accept" | "resume" | "retryBroken" | "nightly" | "changed" | "cache"
>;
