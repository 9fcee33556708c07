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

/** What the parameter means stands in the tool's description at best, and often nowhere. */
const undescribed = (tool: string, ...parameters: string[]): Reviewed[] =>
  parameters.map((parameter) => ({
    server: "filesystem",
    tool,
    rule: "parameter-description-missing",
    path: `$.inputSchema.properties.${parameter}`,
    verdict: "right",
    note: "Absolute or relative, and to which folder, is not said; of a pattern, not in which syntax.",
  }));

/** Every finding on the two lists, in their order. */
export const realFindings: readonly Reviewed[] = [
  everything("get-resource-links", "count-as-number", "count", "1 to 10 links; 2.5 of them cannot be returned."),
  everything(
    "get-resource-reference",
    "parameter-description-missing",
    "resourceType",
    "Text or Blob, not said of what.",
  ),
  everything("get-sum", "parameter-name-vague", "a", "The first of two numbers."),
  everything("get-sum", "parameter-name-vague", "b", "The second of two numbers."),
  everything("gzip-file-as-resource", "parameter-name-vague", "data", "It takes a URL to fetch, not data."),
  everything("trigger-long-running-operation", "count-as-number", "steps", "The number of steps of an operation."),
  ...undescribed("read_file", "path"),
  ...undescribed("read_text_file", "path"),
  ...undescribed("read_media_file", "path"),
  ...undescribed("write_file", "path", "content"),
  ...undescribed("edit_file", "path", "edits"),
  ...undescribed("create_directory", "path"),
  ...undescribed("list_directory", "path"),
  ...undescribed("list_directory_with_sizes", "path"),
  ...undescribed("directory_tree", "path", "excludePatterns"),
  ...undescribed("move_file", "source", "destination"),
  ...undescribed("search_files", "path", "pattern", "excludePatterns"),
  ...undescribed("get_file_info", "path"),
];
