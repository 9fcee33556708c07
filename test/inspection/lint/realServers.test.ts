import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { describeToolList } from "../../../src/evals/inspection/lint/collect.ts";
import { lint } from "../../../src/evals/inspection/lint/lint.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { notFound, realFindings } from "./cases/realServers.ts";
import { labels } from "./labelled/measure.ts";

const servers = ["everything", "filesystem"] as const;

function readTools(server: string): JsonObject[] {
  const file = join(import.meta.dirname, `../../fixtures/lint/${server}.json`);
  return JSON.parse(readFileSync(file, "utf8")).tools;
}

/** The findings of all rules for tools and lists, as in `evals lint`. */
const found = servers.flatMap((server) =>
  lint(
    describeToolList({ server, items: readTools(server), settings: [{ profile: "spec" }] }).subjects,
    rules,
  ).findings.map(({ rule, location: { tool, path = "" } }) => ({ server, tool, rule, path })),
);
const keyOf = ({
  server,
  tool,
  rule,
  path,
}: {
  server: string;
  tool?: string | undefined;
  rule: string;
  path: string;
}) => `${server} ${tool} ${rule} ${path}`;

test("finds on two real servers what was reviewed by hand, and nothing else", () => {
  expect(found.map(keyOf).sort()).toEqual(realFindings.map(keyOf).sort());
});

test("is wrong in less than one finding of twenty", () => {
  const wrong = realFindings.filter(({ verdict }) => verdict === "false positive");
  expect(wrong.length / realFindings.length).toBeLessThan(0.05);
});

test("agrees with the labelled set: a finding of a labelled rule is right where the label says so", () => {
  const labelled = new Set(Object.values(labels).flatMap((byTool) => Object.values(byTool).flat()));
  const reviewed = realFindings.filter(({ rule }) => labelled.has(rule));
  const right = (list: typeof reviewed) => list.filter(({ verdict }) => verdict === "right");
  const isLabelled = ({ server, tool, rule }: (typeof reviewed)[number]) => labels[server]?.[tool]?.includes(rule);
  expect(reviewed.filter((one) => isLabelled(one) !== (one.verdict === "right"))).toEqual([]);
  const known = new Set([...right(reviewed), ...notFound].map(({ server, tool, rule }) => `${server} ${tool} ${rule}`));
  const all = servers.flatMap((server) =>
    Object.entries(labels[server] ?? {}).flatMap(([tool, ids]) => ids.map((rule) => `${server} ${tool} ${rule}`)),
  );
  expect(all.filter((one) => !known.has(one))).toEqual([]);
});
