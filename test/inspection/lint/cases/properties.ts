import type { ToolSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aToolWith, type CasesOf } from "./cases.ts";

const one = (name: string, schema: Record<string, unknown>) => aToolWith({ [name]: schema });
const text = (name: string, description = "What it is.", more: Record<string, unknown> = {}) =>
  one(name, { type: "string", description, ...more });
const typed = (name: string, type: string, description = "What it is.") => one(name, { type, description });
const orNull = (name: string, schema: Record<string, unknown>) => one(name, { anyOf: [schema, { type: "null" }] });

export const propertyCases: CasesOf<ToolSubject> = {
  "property-type": {
    clean: [
      ...["string", "integer", "number", "boolean"].map((type) => typed("city", type)),
      one("city", { type: ["string", "null"] }),
      one("city", { enum: ["Oslo"] }),
      one("city", { const: "Oslo" }),
      one("city", { $ref: "#/$defs/City" }),
      orNull("city", { type: "string" }),
    ],
    violations: {
      "a property has a type": [
        one("city", { description: "The city." }),
        one("city", {}),
        one("cities", { type: "array", items: {} }),
        one("cities", { type: "array", items: { description: "A city." } }),
        one("place", { type: "object", properties: { city: { description: "The city." } } }),
      ],
    },
  },
  "array-items-missing": {
    clean: [
      one("cities", { type: "array", items: { type: "string" } }),
      one("pair", { type: "array", prefixItems: [{ type: "string" }] }),
    ],
    violations: {
      "an array declares its items": [
        one("cities", { type: "array" }),
        one("cities", { type: ["array", "null"] }),
        orNull("cities", { type: "array" }),
        one("rows", { type: "array", items: { type: "array" } }),
      ],
      "a tuple is that of JSON Schema 2020-12": [one("pair", { type: "array", items: [{ type: "string" }] })],
    },
  },
  "unit-without-enum": {
    clean: [
      text("unit", "Of the temperature.", { enum: ["celsius", "fahrenheit"] }),
      typed("units", "integer", "How many to order."),
      text("business_unit"),
      text("unit", "The apartment unit of the address."),
      text("unit", "The systemd unit to restart."),
      text("unit", "The unit, such as g or cup."),
      text("unit_id"),
    ],
    violations: {
      "a unit is an enum of the allowed units": [
        text("unit"),
        text("units"),
        text("temperatureUnit"),
        text("from_unit"),
        orNull("unit", { type: "string" }),
        one("query", { type: "object", properties: { unit: { type: "string" } } }),
      ],
    },
  },
  "priority-without-enum": {
    clean: [
      text("priority", "How soon.", { enum: ["low", "medium", "high"] }),
      typed("priority", "integer"),
      text("priority", "P0 to P4.", { pattern: "^P[0-4]$" }),
      text("priority", "The name of a priority of the project."),
    ],
    violations: {
      "a priority or severity is an enum of its levels": [
        ...["priority", "issue_priority", "taskPriority", "severity", "urgency"].map((name) => text(name)),
      ],
    },
  },
  "count-as-string": {
    clean: [
      typed("count", "integer"),
      text("account"),
      text("invoice_number", "The number of the invoice."),
      text("offset", "An opaque cursor of the page before."),
      ...[text("utc_offset"), text("numFmt"), text("num_format")],
      text("amount", "Number of tokens to send, in the least unit."),
    ],
    violations: {
      "a count is an integer, not a string": [
        ...["count", "limit", "offset", "number_of_rooms", "max_results", "pageSize", "num_rooms"].map((name) =>
          text(name),
        ),
      ],
    },
  },
  "count-as-number": {
    clean: [
      typed("count", "integer"),
      typed("delay", "number", "Number of seconds to wait."),
      typed("temperature", "number", "The temperature in degrees."),
      typed("credit_limit", "number"),
      ...[typed("user_id", "integer"), typed("userId", "string"), typed("paid", "number"), typed("page", "integer")],
    ],
    violations: {
      "a count is an integer, not any number": [
        typed("limit", "number"),
        typed("steps", "number", "Number of steps to take."),
        orNull("limit", { type: "number" }),
      ],
      "nor is an id or a page": [typed("user_id", "number"), typed("issueId", "number"), typed("page", "number")],
    },
  },
  "enabled-as-string": {
    clean: [
      typed("enabled", "boolean"),
      text("state", "Which to list.", { enum: ["open", "closed"] }),
      text("mode", "When to ask.", { enum: ["true", "false", "auto"] }),
      text("island"),
      text("has_text", "The text to look for."),
      text("draft", "Whether it is a draft.", { enum: ["true", "false"] }),
    ],
    violations: {
      "what is on or off by its name is a boolean": [
        ...["enabled", "is_active", "should_notify", "logging_disabled"].map((name) => text(name)),
        text("verbose", "Set to 'true' to see more."),
        text("recursive", "yes/no"),
        text("hasChildren", "Whether it has children."),
      ],
    },
  },
  "tags-as-string": {
    clean: [
      one("tags", { type: "array", items: { type: "string" } }),
      text("todo_list", "The name of the list."),
      text("table", "The table as comma-separated values, with a header."),
      text("keywords", "What to search for."),
      text("labels", "A label selector."),
      text("tags", "Comma-separated."),
      text("labels", "The labels, separated by semicolons."),
      text("tags", "For example 'red,green'."),
      text("colorRoadLabels", "Overrides how roads are drawn."),
      text("labels", "The color of the labels."),
    ],
    violations: {
      "tags are an array of strings, or their separator is described": [
        "tags",
        "labels",
        "issueLabels",
        "tag_list",
        "id_list",
      ].map((name) => text(name)),
    },
  },
  "enum-in-description": {
    clean: [
      text("order", "One of: asc, desc.", { enum: ["asc", "desc"] }),
      text("page", "One of the pages that list_pages returned."),
      text("key", 'A key, e.g. one of "Enter" or "Tab".'),
      text("namespace", "Can be 'default' or 'system' or any other."),
      text("category", "Options: 'a', 'b', etc."),
      text("coin", "The id of a coin ('bitcoin', 'ethereum'). Call search_coins to find others."),
      text("category", "Filter by category ('Dexes', 'Lending'). Use exact category names."),
      text("mentions", 'A JSON array, such as [{"type": "User"}]. Valid types are: User, Team.'),
      text("city", "Must be given, or the call fails."),
      text("archivePath", "The path of the archive. Supported formats: zip, tar, tar.gz."),
      // Another rule reports that it is a unit, with the same fix.
      text("unit", "One of: celsius, fahrenheit."),
    ],
    violations: {
      "allowed values that the description lists are an enum": [
        text("order", "How to sort. One of: asc, desc."),
        text("order", 'Either "asc" or "desc".'),
        text("order", "Allowed values: asc | desc"),
        text("order", "Can be 'asc' for ascending order, or 'desc' for descending order."),
        text("order", "The order ('asc' or 'desc')."),
      ],
    },
  },
};
