import type { HostModel } from "../../../src/evals/base/types/model.ts";
import type { ModelOptions } from "../../../src/evals/experiments/workspace/models.ts";
import { type MessageAnswer, startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { needsHost, openHost } from "./support.ts";

type Script = Parameters<typeof startMessagesEndpoint>[0];

let program: () => string;

/** Where Claude Code is. Only to be called in a test. */
export const claudePath = () => program();

/** To be called once in a test file: installs Claude Code. */
export function needsClaude(): void {
  program = needsHost("claude-code");
}

/** A Messages endpoint for one test. */
export const endpoint = (script: Script) => startMessagesEndpoint(script);

/** Says these one after the other, whatever it is asked, and then that it is done. */
export function steps(...answers: MessageAnswer[]): Script {
  return ({ messages }) => answers[messages.filter(({ role }) => role === "assistant").length] ?? { text: "All done." };
}

/** Claude Code as a model under test, asking that endpoint. */
export function host(
  { url }: { url: string },
  options: Partial<ModelOptions> = {},
  program = claudePath(),
): Promise<HostModel> {
  const own = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "secret", CLAUDE_CODE_PATH: program };
  return openHost("claude-code:claude-sonnet-5-5", { env: { PATH: process.env.PATH, ...own }, ...options });
}
