import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { readSkillEvals } from "../../../src/evals/input/skills/evals.ts";
import { parseSkill } from "../../../src/evals/input/skills/package.ts";
import { loadSuites } from "../../../src/evals/input/suites/load.ts";
import { examples } from "../../../src/evals/inspection/lint/examples.ts";
import { lint } from "../../../src/evals/inspection/lint/lint.ts";
import { rulesMarkdown } from "../../../src/evals/inspection/lint/lintRulesReport.ts";
import type { LintSubject, SubjectKind, Subjects } from "../../../src/evals/inspection/lint/rule.ts";
import { catalogue, rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { aRegistrationSubject, aSkillSubject, aSuiteSubject, aToolSubject } from "./cases/cases.ts";

type Subject = { [K in SubjectKind]: (example: unknown, id: string) => Promise<Subjects[K]> | Subjects[K] };

const dispatcher = {
  name: "run_tool",
  description: "Calls a tool of the catalog.",
  inputSchema: { type: "object", properties: { name: { type: "string" }, arguments: { type: "object" } } },
};

const scratch = mkdtempSync(join(tmpdir(), "lint-examples-"));
let written = 0;

/** How the example of each kind of rule becomes what the rule looks at. */
const subjects: Subject = {
  tools(example) {
    const [tool = {}, ...siblings] = [example].flat() as JsonObject[];
    return aToolSubject(
      tool,
      siblings.map(({ name }) => String(name)),
    );
  },
  toolsets: (example) => ({
    server: "weather",
    ...(Array.isArray(example) ? { tools: example } : (example as { instructions: string; tools: JsonObject[] })),
  }),
  "judged tools": (example, rule) => ({
    judge: "model",
    grades: [{ rule, ...(example as { score: number; reason: string }) }],
  }),
  versions: (example) => example as Subjects["versions"],
  skills(example, rule) {
    const text = example as string;
    const parsed = parseSkill(text, { folder: "image-compressor", file: "SKILL.md" });
    const { package: bare } = aSkillSubject();
    // No host loads a package without a description, so the loader reports it before lint does.
    if ("reason" in parsed) return aSkillSubject({ document: { ...bare.document, frontMatter: {} } });
    const one = { name: "video-compressor", description: "Compresses videos." };
    // What is left of a host's budget depends on the skills before this one.
    const long = (at: number) => ({ name: `audio-${at}`, description: "x".repeat(1000) });
    const siblings = rule === "skill-listing-budget" ? Array.from({ length: 15 }, (_, at) => long(at)) : [one];
    return aSkillSubject({ ...parsed, folder: "image-compressor" }, { "SKILL.md": text, "sizes.md": "" }, siblings);
  },
  async "eval files"(example) {
    const dir = join(scratch, String(written++));
    mkdirSync(join(dir, "evals"), { recursive: true });
    const { package: skill } = aSkillSubject({ dir, file: join(dir, "SKILL.md") });
    writeFileSync(join(dir, "evals", "evals.json"), JSON.stringify(example));
    const { evals } = await readSkillEvals(skill, { repository: dir, cwd: dir }).catch(() => ({ evals: [] }));
    return { skill: skill.name, raw: example, evals, all: evals };
  },
  "host entries"(example) {
    const [[name = "", entry] = []] = Object.entries(example as JsonObject);
    const subject = aRegistrationSubject(entry, name, ["/srv/weather/server.js", "/usr/bin/node"]);
    return { ...subject, isSet: (variable) => variable === "GITHUB_TOKEN" };
  },
  async suites(example, rule) {
    const file = join(scratch, `${written++}.yaml`);
    writeFileSync(file, example as string);
    const { suites } = await loadSuites([file], { cwd: scratch }).catch(() => ({ suites: [] }));
    // The loader itself refuses a case that expects nothing.
    const [suite = aSuiteSubject([{}]).suite] = suites;
    const listed = [
      { name: "get_weather", description: 'Returns the forecast, as in "Will it rain in Bergen tomorrow?".' },
      { name: "send_mail", description: "Sends a letter." },
      ...(rule === "dispatcher-undeclared" ? [dispatcher] : []),
    ];
    return { suite, tools: listed.map(({ name }) => name), listed };
  },
};

async function findRules(kind: SubjectKind, id: string, example: unknown): Promise<string[]> {
  const subject = await subjects[kind](example, id);
  const target = {
    kind,
    subject,
    names: [],
    settings: [{ profile: "spec" }],
    where: () => ({ path: "$" }),
  } as unknown as LintSubject;
  return lint([target], rules).findings.map(({ rule }) => rule);
}

const all = (Object.keys(rules) as SubjectKind[]).flatMap((kind) => rules[kind].map(({ id }) => ({ kind, id })));

it("has one example for every rule", () => {
  expect(Object.keys(examples).sort()).toEqual(all.map(({ id }) => id).sort());
});

describe.each(all)("$id", ({ kind, id }) => {
  it("reports its invalid example, and not its valid one", async () => {
    const example = examples[id];
    expect(await findRules(kind, id, example?.invalid)).toContain(id);
    expect(await findRules(kind, id, example?.valid)).not.toContain(id);
  });
});

it("is the source of the page of lint rules; `npm run build && npm run docs:lint` writes it", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/lint-rules.md"), "utf8");
  expect(page).toBe(rulesMarkdown(catalogue(rules), examples));
});
