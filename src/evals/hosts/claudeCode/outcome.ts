import type { Json } from "../../types/json.ts";
import type { Broken, Outcome } from "../../types/trial.ts";
import type { Heard } from "./stream.ts";

/** What a trial gave to the host, which must be there when it starts: names as the host writes them. */
export type Given = { servers: readonly string[]; tools: readonly string[]; skills: readonly string[] };

/** How the host's process ended, with the end of its stderr. */
export type End = { how: string; wasWell: boolean; stderr: string };

/** A host that could not load what the trial is about has not been asked the trial's question. */
export function startProblem({ init }: Heard, given: Given): Broken | undefined {
  if (!init) return undefined;
  const errors = told(init.mcp_server_errors);
  if (errors) return broken("server", `Claude Code skipped a tool server: ${errors}`);
  for (const name of given.servers) {
    const status = init.mcp_servers.find((server) => server.name === name)?.status ?? "not listed";
    if (status !== "connected")
      return broken("server", `Claude Code has no connection to the server ${name}: ${status}`);
  }
  const tool = given.tools.find((name) => !init.tools.includes(name));
  if (tool) return broken("server", `Claude Code does not offer the tool ${tool}`);
  const skill = given.skills.find((name) => !init.skills.includes(name));
  return skill ? broken("model", `Claude Code did not load the skill ${skill}`) : undefined;
}

/**
 * What a conversation came to that ended by itself. The limit of turns is an answer: the turns made until then. An error
 * of the model's interface is none, though the host prints it as one.
 */
export function outcomeOf(heard: Heard, given: Given, end: End): Outcome {
  const { init, result, turns } = heard;
  const stderr = end.stderr === "" ? "" : `: ${end.stderr}`;
  if (!init) return broken("model", `Claude Code ${end.how} before it began${stderr}`);
  const problem = startProblem(heard, given);
  if (problem) return problem;
  if (!result) return broken("model", `Claude Code ${end.how} without a result${stderr}`);
  if (result.subtype === "error_max_turns") return { kind: "answered" };
  const said = result.result || result.errors?.join("; ") || "no reason given";
  if (result.is_error || result.subtype !== "success") {
    return broken("model", `Claude Code gave up (${result.subtype}): ${said}`);
  }
  if (!end.wasWell) return broken("model", `Claude Code ${end.how}${stderr}`);
  if (result.stop_reason === "max_tokens")
    return broken("model", "the reply was cut at the most output tokens; raise --max-tokens");
  if (turns.length === 0) return broken("model", `Claude Code answered by itself, without asking the model: ${said}`);
  return { kind: "answered" };
}

export function broken(stage: Broken["stage"], message: string): Broken {
  return { kind: "broken", stage, message };
}

/** The text of a field that is empty when all is well, whatever shape it has. */
function told(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return ["[]", "{}", ""].includes(text) ? "" : text;
}
