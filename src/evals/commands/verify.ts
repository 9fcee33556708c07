import { verifyGates } from "../base/types/gates.ts";
import { choice, defineCommand, text } from "./command.ts";
import { baselinesFlag, jsonFlag, suiteFlags, suitePaths } from "./flags.ts";

const { skill, "host-dir": hostDir, "user-skills": userSkills, case: cases } = suiteFlags;

export const verifyCommand = defineCommand({
  command: "verify [paths..]",
  describe: "Check that the accepted baselines match the current tools and cases; no model is called",
  positionals: { paths: suitePaths },
  flags: {
    tools: text("JSON or YAML file with a tool list, instead of starting the servers"),
    baselines: baselinesFlag,
    "fail-on": choice("Results that exit with code 1; repeatable", [...verifyGates, "none"], {
      array: true,
      default: ["changed", "stale", "unaccepted"],
    }),
    case: { ...cases, describe: "Verify only cases whose id matches this pattern (* matches any text)" },
    skill: { ...skill, describe: "Verify only the eval files of these skills" },
    "host-dir": { ...hostDir, describe: "Search for skills in these folders of the home and project folders" },
    "user-skills": userSkills,
    json: jsonFlag,
  },
  epilogue:
    "changed: a tool list differs from the one that was accepted. stale: a case is new or edited, was not graded, or names " +
    "a tool that changed. unaccepted: a suite has no baseline. uncovered-tools, uncovered-parameters: no case expects the " +
    "tool, or names the parameter in `args`. Exit code 3 when a server cannot be listed.",
  examples: [
    ["verify", "In a pull request, without an API key: did anything change without a new run?"],
    ["verify --tools tools.json", "Without starting a server, against a list of `evals tools --json`"],
    ["verify --fail-on stale --fail-on uncovered-tools", "Fail for stale cases and for tools without a case"],
    ["verify --fail-on none", "Show all changes since the baselines, and exit with 0"],
  ],
  run: async ({ failOn, ...args }, io) => {
    const gates = failOn.filter((gate) => gate !== "none");
    return (await import("../inspection/verify.ts")).verify({ ...args, failOn: gates }, io);
  },
});
