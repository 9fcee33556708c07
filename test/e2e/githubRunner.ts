import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";

const variables = z.record(z.string(), z.string());
const stepSchema = z.looseObject({
  ...{ id: z.string().optional(), if: z.string().optional(), uses: z.string().optional() },
  with: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  ...{ env: variables.optional(), run: z.string().optional() },
});
type Step = z.infer<typeof stepSchema>;
const actionSchema = z.looseObject({
  inputs: z.record(z.string(), z.looseObject({ description: z.string(), default: z.string().optional() })),
  runs: z.looseObject({
    using: z.literal("composite"),
    steps: z.array(stepSchema.extend({ shell: z.literal("bash"), run: z.string() })),
  }),
});
const workflowSchema = z.looseObject({
  jobs: z.record(z.string(), z.looseObject({ env: variables.optional(), steps: z.array(stepSchema) })),
});

export type Job = {
  /** The folder of the repository, and the programs that come before those of the machine. */
  cwd: string;
  bin?: string;
  env?: Record<string, string>;
  secrets?: Record<string, string>;
  event?: string;
  fork?: boolean;
};
type Ran = { failed: boolean; printed: string; result: string | undefined; summary: string };

/** Runs the action in the folder `action` with these inputs. */
export async function runAction(action: string, inputs: Record<string, string>, job: Job): Promise<Ran> {
  return await runSteps([{ uses: action, with: inputs }], job);
}

/**
 * Runs the steps of the job `evals` of a workflow file as the runner does: expressions are filled in, and a failed step skips
 * those without always(). Actions of the repository are run, others provide nothing.
 */
export async function runWorkflow(file: string, job: Job): Promise<Ran> {
  const { evals } = workflowSchema.parse(parse(readFileSync(join(job.cwd, file), "utf8"))).jobs;
  if (!evals) throw new Error(`${file} has no job "evals".`);
  const workspace = (text: string) => text.replaceAll(/\$\{\{ github\.workspace \}\}/g, job.cwd);
  const own = Object.entries(evals.env ?? {}).map(([name, text]) => [name, workspace(text)]);
  return await runSteps(evals.steps, { ...job, env: { ...job.env, ...Object.fromEntries(own) } });
}

async function runSteps(steps: readonly Step[], job: Job): Promise<Ran> {
  const dir = mkdtempSync(join(tmpdir(), "evals-runner-"));
  const summary = join(dir, "summary.md");
  writeFileSync(summary, "");
  try {
    return { ...(await runAll(steps, { job, dir, summary, inputs: {} })), summary: readFileSync(summary, "utf8") };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Frame = { job: Job; dir: string; summary: string; inputs: Record<string, string>; env?: Record<string, string> };

async function runAll(steps: readonly Step[], frame: Frame): Promise<Omit<Ran, "summary">> {
  const { job, inputs } = frame;
  const outputs: Record<string, Record<string, string | undefined>> = {};
  const pullRequest = { number: 5, head: { repo: { fork: job.fork ?? false } } };
  const github = { event_name: job.event ?? "pull_request", token: "token", event: { pull_request: pullRequest } };
  let [printed, failed, result]: [string, boolean, string?] = ["", false];
  const evaluate = (expression: string): unknown =>
    new Function(
      ...["inputs", "steps", "github", "secrets", "always", "success"],
      `return ${expression
        .replaceAll("==", "===")
        .replaceAll("!===", "!==")
        .replaceAll(/inputs\.([\w-]+)/g, 'inputs["$1"]')};`,
    )(
      inputs,
      Object.fromEntries(Object.entries(outputs).map(([id, values]) => [id, { outputs: values }])),
      github,
      job.secrets ?? {},
      () => true,
      () => !failed,
    );
  const fill = (text: string) =>
    text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => String(evaluate(expression) ?? ""));
  const fillAll = (texts: Record<string, string | number | boolean> = {}) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(String(text))]));
  for (const step of steps) {
    const isRun = step.if === undefined ? !failed : evaluate(step.if) && (!failed || step.if.includes("always()"));
    if (!isRun) continue;
    const env = { ...frame.env, ...fillAll(step.env) };
    const ran = step.uses?.startsWith(".")
      ? await runComposite(step.uses, { ...frame, inputs: fillAll(step.with), env })
      : step.run === undefined
        ? { failed: false, printed: "", result: undefined }
        : await shell(fill(step.run), { ...frame, env });
    printed += ran.printed;
    failed ||= ran.failed;
    result = ran.result ?? result;
    if (step.id !== undefined) outputs[step.id] = { result: ran.result };
  }
  return { failed, printed, result };
}

async function runComposite(uses: string, frame: Frame) {
  const folder = join(frame.job.cwd, uses);
  const { inputs, runs } = actionSchema.parse(parse(readFileSync(join(folder, "action.yml"), "utf8")));
  const defaults = Object.entries(inputs).map(([name, { default: value = "" }]) => [name, value]);
  return await runAll(runs.steps, { ...frame, inputs: { ...Object.fromEntries(defaults), ...frame.inputs } });
}

async function shell(script: string, { job, dir, summary, env }: Frame): Promise<Omit<Ran, "summary">> {
  const output = join(dir, "output");
  writeFileSync(output, "");
  const path = [job.bin, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
  const child = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
    cwd: job.cwd,
    env: {
      ...{ PATH: path.filter(Boolean).join(":"), HOME: job.cwd, CI: "true", GITHUB_REPOSITORY: "ada/notes" },
      ...{ GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary },
      ...job.env,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
  const code = await new Promise((resolve) => child.on("close", resolve));
  const [, result] = /^result=(.*)$/m.exec(readFileSync(output, "utf8")) ?? [];
  return { failed: code !== 0, printed, result };
}
