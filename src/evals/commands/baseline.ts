import { verifyGates } from "../base/types/flagValues.ts";
import { choice, defineCommand, text, texts, toggle } from "./command.ts";
import { baselinesFlag, envFlags, jsonFlag, outFlag, suiteFlags } from "./flags.ts";

const { skill, "host-dir": hostDir, "user-skills": userSkills, case: cases } = suiteFlags;
const group = "With verify:";

export const baselineCommand = defineCommand({
  command: "baseline <action> [targets..]",
  describe: "Accept a run as the baseline of later runs, show baselines, or verify them",
  positionals: {
    action: choice(
      "accept [run]: write one baseline per suite and model of the run (default: latest). " +
        "show [suites or files]: print what baselines contain. " +
        "verify [paths]: check that they match the current tools and cases; no model is called",
      ["accept", "show", "verify"],
      { demandOption: true },
    ),
    targets: texts("Run to accept, suites or baseline files to show, or suites to verify (default: evals/)"),
  },
  flags: {
    baselines: baselinesFlag,
    out: outFlag,
    force: toggle("Accept a run that failed, is incomplete or was made with --case; ungraded cases are left out"),
    tools: text("JSON or YAML file with a tool list, instead of starting the servers", { group }),
    "fail-on": choice("Results that exit with code 1; repeatable", [...verifyGates, "none"], {
      array: true,
      default: ["changed", "stale", "unaccepted"],
      group,
    }),
    case: { ...cases, describe: "Verify only cases whose id matches this pattern (* matches any text)", group },
    skill: { ...skill, describe: "Verify only the eval files of these skills", group },
    "host-dir": { ...hostDir, describe: "Search for skills in these folders of the home and project folders", group },
    "user-skills": { ...userSkills, group },
    ...envFlags,
    json: jsonFlag,
  },
  epilogue:
    "changed: a tool list differs from the one that was accepted. stale: a case is new or edited, was not graded, or names " +
    "a tool that changed. unaccepted: a suite has no baseline. uncovered-tools, uncovered-parameters: no case expects the " +
    "tool, or names the parameter in `args`. Exit code 3 when a server cannot be listed.",
  examples: [
    ["run -n 20 && evals baseline accept", "Accept the current tools, with 20 trials per case to compare with"],
    ["baseline accept 2026-11-21T09-30-00-000", "Accept this run and print what it changes"],
    ["baseline show filesystem", "Show tools, commit and pass rates of the baselines of one suite"],
    ["baseline verify", "In a pull request, without an API key: did anything change without a new run?"],
    ["baseline verify --tools tools.json", "Without starting a server, against a list of `evals tools --json`"],
    ["baseline verify --fail-on stale --fail-on uncovered-tools", "Fail for stale cases and for tools without a case"],
    ["baseline verify --fail-on none", "Show all changes since the baselines, and exit with 0"],
  ],
  run: async ({ action, targets, failOn, ...args }, io) => {
    if (action !== "verify")
      return (await import("../experiments/baseline/accept.ts")).baseline({ ...args, action, targets }, io);
    const gates = failOn.filter((gate) => gate !== "none");
    return (await import("../inspection/verify.ts")).verify({ ...args, paths: targets, failOn: gates }, io);
  },
});
