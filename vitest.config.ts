import { defineConfig } from "vitest/config";

// unit: pure code and edges against loopback, must stay under 30 s. e2e: the built program, real servers.
export default defineConfig({
  test: {
    // Vitest leaves one core free by default, which on two cores would halve the speed.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          name: "unit",
          // No module of the product keeps state that one test could leave to another; loading each once saves a third.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/docs/commands.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/docs/commands.test.ts"],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
