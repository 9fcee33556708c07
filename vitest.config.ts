import { defineConfig } from "vitest/config";
import { buildPage } from "./scripts/buildPage.mjs";

/** The page of reports, bundled when a test first imports it: tests of the sources need no build. */
const page = {
  name: "page",
  enforce: "pre" as const,
  resolveId: (id: string) => (id === "#page" ? "\0page" : undefined),
  load: (id: string) => (id === "\0page" ? buildPage() : undefined),
};

/** Tests that start processes or simulate long runs: real time, whatever the code costs. */
const slow = [
  "test/docs/commands.test.ts",
  "test/runs/lock.test.ts",
  "test/toolsets/{connect,faults,source}.test.ts",
  "test/inspection/inspect.test.ts",
  "test/server/sessions.test.ts",
  "test/experiments/{check,drift,exposure,merge,regression}.test.ts",
  "test/verdicts/simulation.test.ts",
  "test/decisions/{agreement,compare,drift}.test.ts",
];

// unit: pure code and edges against loopback. e2e: the built program, real servers and hosts, simulations. hosts: every
// host, those included that CI does not run.
export default defineConfig({
  test: {
    // Vitest leaves one core free by default, which on two cores would halve the speed.
    maxWorkers: "100%",
    projects: [
      {
        plugins: [page],
        test: {
          name: "unit",
          // No module of the product keeps state that one test could leave to another; loading each once saves a third.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: ["test/{e2e,torture}/**", ...slow],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        plugins: [page],
        test: {
          name: "e2e",
          include: ["test/{e2e,torture}/**/*.test.ts", ...slow],
          exclude: ["test/e2e/hosts/others/**"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        plugins: [page],
        test: {
          name: "hosts",
          include: ["test/e2e/hosts/**/*.test.ts"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
