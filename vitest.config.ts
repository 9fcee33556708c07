import { availableParallelism } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { buildPage } from "./scripts/buildPage.mjs";

/** The page of reports, bundled when a test first imports it: tests of the sources need no build. */
const page = {
  name: "page",
  enforce: "pre" as const,
  resolveId: (id: string) => (id === "#page" ? "\0page" : undefined),
  load: async (id: string) => (id === "\0page" ? (await buildPage()).source : undefined),
};

const threadFile = join(import.meta.dirname, "node_modules/.cache/tool-evals/thread.mjs");
const buildThread = () =>
  build({
    ...{ entryPoints: [join(import.meta.dirname, "src/evals/base/code/thread.ts")], outfile: threadFile },
    ...{ bundle: true, format: "esm", platform: "node", external: ["jiti"] },
  });
let threadBuilt: ReturnType<typeof buildThread> | undefined;
/** The thread of users' modules, bundled when a test first imports what starts it: Node 20 starts no TypeScript. */
const thread = {
  name: "thread",
  enforce: "pre" as const,
  async transform(code: string, id: string) {
    if (!id.endsWith("/base/code/caller.ts")) return undefined;
    threadBuilt ??= buildThread();
    await threadBuilt;
    return code.replace(/fileURLToPath\(new URL\(`\.\/thread.*\)\)/, JSON.stringify(threadFile));
  },
};
const plugins = [page, thread];

/** Tests that start processes or simulate long runs: real time, whatever the code costs. */
const slow = [
  "test/docs/commands.test.ts",
  "test/contract/asker.test.ts",
  "test/records/lock.test.ts",
  "test/servers/{connect,source}.test.ts",
  "test/inspection/inspect.test.ts",
  "test/inspection/lint/growth.test.ts",
  "test/experiments/pipeline/{exposure,regression,resume}.test.ts",
  "test/experiments/check/ask.test.ts",
];

/** The longest files first, so that no worker is left alone with one while the others have nothing to do. */
const longest =
  /\/(docs\/commands|e2e\/(page|run|smoke|package)|lint\/growth|experiments\/improve\/improve)\.test\.ts$/;
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const isShort = ({ moduleId }: TestSpecification) => Number(!longest.test(moduleId));
    return (await super.sort(files)).sort((a, b) => isShort(a) - isShort(b));
  }
}

/** No module of the product keeps state that one test could leave to another; loading each once saves a third. */
const isolate = false;

/** Ends what hangs. Whatever ends is waited for, however busy the machine is. A test that asserts nothing fails. */
const everywhere = {
  setupFiles: "test/home.ts",
  testTimeout: 1_200_000,
  hookTimeout: 1_200_000,
  expect: { poll: { timeout: 600_000 }, requireAssertions: true },
};

/**
 * What needs minutes: attacks and faults of every kind, huge and very many inputs, simulations of the statistics, queues
 * with killed machines, hosts that few people have and what starts the others some hundred times, and ways to use the
 * program beside a run that ends.
 */
const nightly = [
  "test/torture/**/*.test.ts",
  "test/base/jsonSchema/hostile.test.ts",
  "test/base/secrets/secretForms.test.ts",
  "test/inspection/lint/hostile.test.ts",
  "test/input/{skills,suites}/fuzz.test.ts",
  "test/experiments/pipeline/batches.test.ts",
  "test/experiments/drift/{ask,design}.test.ts",
  "test/experiments/design/{agreement,compare}.test.ts",
  "test/e2e/{bench,improve,localModel,queue,queueConnection,conformance}.test.ts",
  "test/e2e/{action,doctor,import,initWorkflow,looks,probe,server,variants,view,watch}.test.ts",
  "test/reading/merge.test.ts",
  "test/servers/faults.test.ts",
  "test/asking/models/local/local.test.ts",
  "test/e2e/hosts/others/**/*.test.ts",
  "test/e2e/hosts/{exposures,profiles,results,skillLists}.test.ts",
];

// unit: pure code and edges against loopback. e2e: the built program, real servers and hosts. nightly: what CI leaves to
// the night and to releases; test/e2e/smoke.test.ts has one of each kind.
export default defineConfig({
  test: {
    // One more than cores: many tests wait for processes, timeouts and polls.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins,
        test: {
          name: "unit",
          isolate,
          include: ["test/**/*.test.ts"],
          exclude: ["test/{e2e,torture}/**", ...slow, ...nightly],
          ...everywhere,
        },
      },
      {
        plugins,
        test: {
          name: "e2e",
          isolate,
          include: ["test/e2e/**/*.test.ts", ...slow],
          exclude: nightly,
          // The modules as built are loaded as Node does.
          server: { deps: { external: [/\/build\/evals\//] } },
          ...everywhere,
        },
      },
      { plugins, test: { name: "nightly", include: nightly, ...everywhere } },
    ],
  },
});
