/** One finding on a list in test/fixtures/lint, read by hand against the tool's text: is it right? */
type Reviewed = {
  server: "everything" | "filesystem";
  tool: string;
  rule: string;
  path: string;
  verdict: "right" | "false positive";
  note: string;
};

const everything = (tool: string, rule: string, parameter: string, note: string): Reviewed => ({
  server: "everything",
  tool,
  rule,
  path: `$.inputSchema.properties.${parameter}`,
  verdict: "right",
  note,
});

/** The meaning of the parameter is in the tool's description at best (search_files, edit_file), and often nowhere. */
const undescribed = (tool: string, ...parameters: string[]): Reviewed[] =>
  parameters.map((parameter) => ({
    server: "filesystem",
    tool,
    rule: "parameter-description-missing",
    path: `$.inputSchema.properties.${parameter}`,
    verdict: "right",
    note: "The parameter has no text: whether a path may be relative, and what a pattern is, only the tool shows.",
  }));

const review = (server: Reviewed["server"], rule: string, path: string, notes: Readonly<Record<string, string>>) =>
  Object.entries(notes).map(([tool, note]): Reviewed => ({ server, tool, rule, path, verdict: "right", note }));

const description = "$.description";

/** Reviewed with the whole description of each: it does not say which requests the tool is for. */
const saysNoWhen: readonly Reviewed[] = [
  ...review("everything", "description-when", description, {
    echo: "What it does, in five words; no situation.",
    "get-annotated-message": "What it demonstrates, and no use of it.",
    "get-resource-links": "What comes back, and no request for it.",
    "get-resource-reference": '"Can be used by MCP clients" is about the reference that comes back.',
    "get-structured-content": '"For client data validation" says what the schema is for, not when to call.',
    "get-sum": "What it returns alone.",
    "get-tiny-image": "What it returns alone.",
    "gzip-file-as-resource": '"Depending upon the selected output type" is about the result.',
    "toggle-simulated-logging": "What it toggles alone.",
    "toggle-subscriber-updates": "What it toggles alone.",
    "trigger-long-running-operation": "What it demonstrates alone.",
    "simulate-research-query": '"If ambiguous is true" tells of a parameter, not of a request.',
  }),
  ...review("filesystem", "description-when", description, {
    read_media_file: "How each kind of file comes back, and not when to take it instead of read_text_file.",
    write_file: '"Use with caution" warns of overwriting; it does not say when to use edit_file instead.',
    edit_file: "How edits are made, and not for which change to take it.",
    directory_tree: "The form of the result in five sentences, and no situation.",
  }),
];

const forPeople: readonly Reviewed[] = review("everything", "description-for-model", description, {
  "get-annotated-message": '"Demonstrates how annotations can be used" speaks to a developer.',
  "get-resource-reference": '"Can be used by MCP clients" speaks to one who writes a client.',
  "get-structured-content": '"For client data validation" does, too.',
  "trigger-long-running-operation": '"Demonstrates a long running operation".',
  "simulate-research-query": '"Demonstrates MCP task-based operations".',
});

const unexplained: readonly Reviewed[] = review("filesystem", "description-sibling", description, {
  read_text_file: "A request to read a file fits read_file and read_media_file too; neither is named.",
  read_media_file: "It takes any file, as read_text_file does, and does not name it.",
  read_multiple_files: 'It sets itself against "reading files one by one" without the tool for that.',
  write_file: "A change of a file fits edit_file too, which is not named.",
  edit_file: "The same the other way round.",
  list_directory: "It does not say which of the two listings to use.",
  list_directory_with_sizes: "The same the other way round.",
});

/** Labels that no rule finds; `description-sibling` compares only tools with similar names. */
export const notFound: readonly Pick<Reviewed, "server" | "tool" | "rule">[] = [
  { server: "everything", tool: "get-annotated-message", rule: "description-what" },
  { server: "everything", tool: "get-resource-links", rule: "description-sibling" },
  { server: "everything", tool: "get-resource-reference", rule: "description-sibling" },
  { server: "filesystem", tool: "directory_tree", rule: "description-sibling" },
];

/** Every finding on the two lists. */
export const realFindings: readonly Reviewed[] = [
  everything("get-resource-links", "count-as-number", "count", "1 to 10 links; 2.5 of them cannot be returned."),
  everything(
    "get-resource-reference",
    "count-as-number",
    "resourceId",
    "An id that the server checks to be an integer.",
  ),
  everything("get-sum", "parameter-name-vague", "a", "The first of two numbers."),
  everything("get-sum", "parameter-name-vague", "b", "The second of two numbers."),
  everything("gzip-file-as-resource", "parameter-name-vague", "data", "It takes a URL to fetch, not data."),
  everything("trigger-long-running-operation", "count-as-number", "steps", "The number of steps of an operation."),
  ...undescribed("read_file", "path"),
  ...undescribed("read_text_file", "path"),
  ...undescribed("read_media_file", "path"),
  ...undescribed("write_file", "path"),
  ...undescribed("edit_file", "path"),
  ...undescribed("create_directory", "path"),
  ...undescribed("directory_tree", "path", "excludePatterns"),
  ...undescribed("search_files", "path", "excludePatterns"),
  ...undescribed("get_file_info", "path"),
  ...saysNoWhen,
  ...forPeople,
  ...unexplained,
  ...review("filesystem", "name-verb", "$.name", { directory_tree: "A noun; get_directory_tree would say it." }),
  ...review("filesystem", "near-duplicate-tools", description, {
    list_directory_with_sizes: 'Word for word that of list_directory but for "including sizes" and "useful".',
  }),
];
