import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../fakes/folder.ts";
import type { MessageAnswer, MessagesBody } from "../../fixtures/endpoints/messages.ts";
import { type Ended, evals } from "../evals.ts";

type Skill = {
  description: string;
  body?: string;
  evals?: unknown;
  triggers?: unknown;
  files?: Record<string, string>;
};

/** A project and a home of its own, both empty at first and removed at the end. */
export function project() {
  const root = makeFolder();
  const [cwd, home] = [join(root, "project"), join(root, "home")];
  for (const folder of [cwd, home]) mkdirSync(folder);
  const options = { cwd, env: { HOME: home } };
  return {
    cwd,
    home,
    write,
    /** Writes a package and returns its folder. */
    skill(folder: string, name: string, { description, body = "", evals: cases, triggers, files = {} }: Skill): string {
      const dir = join(folder, name);
      write(join(dir, "SKILL.md"), `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}\n`);
      if (cases) write(join(dir, "evals/evals.json"), JSON.stringify({ evals: cases }, null, 2));
      if (triggers) write(join(dir, "evals/trigger-eval.json"), JSON.stringify(triggers, null, 2));
      for (const [path, content] of Object.entries(files)) write(join(dir, path), content);
      return dir;
    },
    run: (...args: string[]): Promise<Ended> => evals(args, options),
  };
}

function write(file: string, content: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** What a model is shown: the user's words, the skills by either presentation, and how many replies it gave already. */
export type Shown = { query: string; skills: string[]; replies: number; results: string; body: MessagesBody };

export function shownIn(body: MessagesBody): Shown {
  const texts = (content: unknown): string => (typeof content === "string" ? content : JSON.stringify(content));
  const system = body.system === undefined ? "" : texts(body.system).replaceAll("\\n", "\n");
  const listed = /These skills can be loaded/.test(system) ? /^- ([\w-]+): /gm : /<name>([\w-]+)<\/name>/g;
  return {
    query: texts(body.messages[0]?.content),
    skills: [...system.matchAll(listed)].flatMap((match) => match[1] ?? []),
    replies: body.messages.filter(({ role }) => role === "assistant").length,
    results: texts(body.messages.at(-1)?.content),
    body,
  };
}

/** The call that loads a skill in the presentation that was shown. */
export function loading(skill: string, { body }: Shown): NonNullable<MessageAnswer["calls"]>[number] {
  return body.tools?.some(({ name }) => name === "Skill")
    ? { name: "Skill", input: { skill } }
    : { name: "Read", input: { file_path: `/skills/${skill}/SKILL.md` } };
}

/** The criteria of a judge's request; undefined for a request that asks the model under test. */
export function criteriaOf(body: MessagesBody): { criteria: string[]; transcript: string } | undefined {
  if (body.output_config === undefined) return undefined;
  const text = String(body.messages[0]?.content);
  const [head = "", ...rest] = text.split("The transcript:");
  return { criteria: [...head.matchAll(/^\d+\. (.*)$/gm)].map((match) => match[1] ?? ""), transcript: rest.join("") };
}

/** A judge's answer: a verdict and its evidence for each criterion. */
export function verdicts(all: readonly { verdict: "met" | "not met" | "cannot tell"; evidence: string }[]) {
  const answers = all.map((one, index) => ({ number: index + 1, reason: "So it is.", ...one }));
  return { text: JSON.stringify({ answers }) };
}
