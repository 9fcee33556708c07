/** The services to which hosts send their requests, with the defaults of each. */
export const services = {
  anthropic: {
    keyVariable: "ANTHROPIC_API_KEY",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    baseUrl: "https://api.anthropic.com",
    maxTokensLimit: 128_000,
  },
  openai: {
    keyVariable: "OPENAI_API_KEY",
    baseUrlVariable: "OPENAI_BASE_URL",
    baseUrl: "https://api.openai.com/v1",
    maxTokensLimit: 128_000,
  },
} as const;

export type ServiceName = keyof typeof services;

/** The part of the user's environment that every host gets: programs and language, but no settings and no logins. */
export function passEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  passed = /^(PATH|LANG|LC_ALL)$/i,
): Record<string, string> {
  const kept = Object.entries(env).filter(([name, value]) => value && passed.test(name));
  return { ...(Object.fromEntries(kept) as Record<string, string>), TERM: "dumb" };
}
