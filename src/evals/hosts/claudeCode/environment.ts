import type { ClaudeCodeOptions } from "./claudeCode.ts";

type Env = ClaudeCodeOptions["env"];

/** What passes from the user's environment: where programs and certificates are, how the network is reached, and who asks. */
const passed =
  /^(PATH|LANG|LC_ALL|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|https?_proxy|ANTHROPIC_\w+|CLAUDE_CODE_OAUTH_TOKEN)$/i;

/** The clean environment of every trial, but for its folders. No setting or login of the user's own reaches it. */
export function environment(
  { env, baseUrl }: Pick<ClaudeCodeOptions, "env" | "baseUrl">,
  { apiKey, retries, maxTokens }: { apiKey: string; retries: number; maxTokens: number },
): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) => (value && passed.test(name) ? [[name, value]] : []));
  const proxied = [env.NO_PROXY ?? env.no_proxy, "127.0.0.1"].filter(Boolean).join(",");
  return {
    ...Object.fromEntries(kept),
    ...(tokenOf(env) === undefined && { ANTHROPIC_API_KEY: apiKey }),
    ...(baseUrl !== undefined && { ANTHROPIC_BASE_URL: baseUrl }),
    TERM: "dumb",
    NO_PROXY: proxied,
    CLAUDE_CODE_MAX_RETRIES: String(retries),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    // It would tell the model to write files with a tool that is not offered.
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    // All tools are shown from the start: a search before the pick would be another experiment.
    ENABLE_TOOL_SEARCH: "false",
  };
}

/** What stands in for an API key, where there is one. */
export function tokenOf(env: Env): string | undefined {
  return env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN || undefined;
}
