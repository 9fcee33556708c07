// Wall time of `evals lint --tools` on long and on hostile lists, start of Node included: median of five, in seconds.
// Usage: node bench/lint.mjs
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cli, scratch, wall } from "./harness.mjs";

const verbs = ["get", "list", "create", "update", "delete", "search", "send", "archive", "export", "compare"];
const things = [
  "invoice",
  "customer",
  "order",
  "ticket",
  "report",
  "payment",
  "shipment",
  "contract",
  "calendar",
  "note",
];

/** A list of realistic tools, each with three parameters and its own words. */
function list(size) {
  return Array.from({ length: size }, (_, index) => {
    const [verb, thing] = [verbs[index % 10], things[Math.floor(index / 10) % 10]];
    const group = `group${Math.floor(index / 100)}`;
    return {
      name: `${verb}_${thing}_${group}`,
      description: `Use this to ${verb} one ${thing} of ${group}. Call it when the user names a ${thing} of ${group}, for example "${verb} the ${thing} from ${group}". For others there are the tools of the other groups.`,
      inputSchema: {
        type: "object",
        properties: {
          [`${thing}_id`]: { type: "string", description: `The id of the ${thing}, for example ${thing}-${index}.` },
          language: {
            type: "string",
            enum: ["en", "de", "fr"],
            default: "en",
            description: "The language to answer in.",
          },
          max_results: { type: "integer", minimum: 1, maximum: 50, default: 10, description: "How many to return." },
        },
        required: [`${thing}_id`],
      },
    };
  });
}

function nested(depth) {
  let schema = { type: "string" };
  for (let level = 0; level < depth; level++) schema = { type: "object", properties: { inner: schema } };
  return schema;
}

const [sane] = list(1);
const withProperty = (schema, more = {}) => [
  { ...sane, inputSchema: { type: "object", properties: { value: schema }, ...more } },
];

const lists = {
  "1,000 tools, with confusable pairs": [list(1_000), "--confusable"],
  "5,000 tools": [list(5_000)],
  "a description of 10 MB": [[{ ...sane, description: "Returns the weather of Oslo. ".repeat(350_000) }]],
  "a description of 10 MB without a space": [[{ ...sane, description: "a".repeat(10_000_000) }]],
  "a name of 10 MB": [[{ ...sane, name: "get_".repeat(2_500_000) }]],
  "a schema 500 deep": [withProperty(nested(500))],
  "a recursive $ref": [withProperty({ $ref: "#/$defs/node" }, { $defs: { node: { $ref: "#/$defs/node" } } })],
  "10,000 $refs in a ring": [
    withProperty(
      { $ref: "#/$defs/d0" },
      {
        $defs: Object.fromEntries(
          Array.from({ length: 10_000 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${(at + 1) % 10_000}` }]),
        ),
      },
    ),
  ],
  "a remote $ref": [withProperty({ $ref: "http://127.0.0.1:9/schema.json" })],
  "regex bombs": [
    withProperty({
      type: "string",
      pattern: "^(a+)+$",
      default: `${"a".repeat(50_000)}!`,
      enum: [`${"a".repeat(50)}!`],
    }),
  ],
  "100,000 properties": [
    [
      {
        ...sane,
        inputSchema: {
          type: "object",
          properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, {}])),
        },
      },
    ],
  ],
};

const file = join(scratch, "tools.json");
for (const [name, [tools, ...flags]] of Object.entries(lists)) {
  writeFileSync(file, JSON.stringify({ tools }, null, 1));
  const seconds = await wall([cli, "lint", "--tools", file, ...flags], 5, { codes: [0, 1] });
  console.log(`${seconds.toFixed(2)} s  ${name}`);
}
