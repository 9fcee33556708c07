import { isJsonObject } from "../../types/json.ts";
import type { RegistrationSubject, Rule } from "../rule.ts";
import { textsOf } from "./texts.ts";

/** Beginnings by which the issuers themselves mark their tokens, long enough not to be met in other texts. */
const tokens: readonly { of: string; sees: RegExp }[] = [
  { of: "GitHub", sees: /\b(?:gh[opsu]_[A-Za-z0-9]{30,}|github_pat_\w{40,})/ },
  { of: "Anthropic", sees: /\bsk-ant-[\w-]{20,}/ },
  { of: "OpenAI", sees: /\bsk-(?:proj|svcacct)-[\w-]{20,}|\bsk-[A-Za-z0-9]{40,}/ },
  { of: "AWS", sees: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/ },
  { of: "Google", sees: /\bAIza[\w-]{35}/ },
  { of: "Slack", sees: /\bxox[abprs]-[\w-]{10,}/ },
  { of: "GitLab", sees: /\bglpat-[\w-]{20,}/ },
  { of: "npm", sees: /\bnpm_[A-Za-z0-9]{36}/ },
  { of: "Hugging Face", sees: /\bhf_[A-Za-z0-9]{30,}/ },
  { of: "Stripe", sees: /\b[rs]k_live_[A-Za-z0-9]{20,}/ },
  { of: "a JSON web token's issuer", sees: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/ },
];

/** A secret that is written into the file; it is never repeated in a message. */
export const secretRule: Rule<RegistrationSubject> = {
  id: "registration-secret",
  severity: "warning",
  why: "The file is shared or committed sooner or later, and the secret with it.",
  docs: "https://code.claude.com/docs/en/mcp#environment-variable-expansion-in-mcp-json",
  clauses: [...tokens.map(({ of }) => `no token of ${of}`), "no password in a url"],
  *check({ entry }) {
    for (const { text, at } of isJsonObject(entry) ? textsOf(entry) : []) {
      const owner = tokens.find(({ sees }) => sees.test(text.slice(0, 10_000)))?.of;
      const fix = `Put it into an environment variable, and write \${NAME} here.`;
      if (owner !== undefined) yield { at, message: `A token of ${owner} is written into the entry.`, fix };
      else if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:(?!\$\{)[^\s/@]+@/i.test(text.slice(0, 10_000)))
        yield { at, message: "A password is written into the url.", fix };
    }
  },
};
