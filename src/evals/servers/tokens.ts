import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type {
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import * as z from "zod";
import { makeFolder, replaceFile } from "../base/files/files.ts";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { messageOf, usageError } from "../base/types/errors.ts";
import { configFolder, type Env, serverError } from "./spec.ts";

const storedSchema = z.object({
  url: z.string(),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }).optional(),
  tokens: z
    .looseObject({ access_token: z.string(), token_type: z.string(), refresh_token: z.string().optional() })
    .optional(),
});
type Stored = z.infer<typeof storedSchema>;

/**
 * The file with the login at a server, in the configuration folder of the user and so outside any repository. Each
 * server has its own file, so that two processes never write the same file for different servers.
 */
export function tokenFile(url: string, env: Env): string {
  const { host } = new URL(url);
  const hash = createHash("sha256").update(url).digest("hex").slice(0, 16);
  return join(configFolder(env), "logins", `${host.replace(/[^\w.-]/g, "_")}-${hash}.json`);
}

/** The login at a server on disk. Everything secret in it becomes a known secret of the process. */
export class TokenStore {
  readonly file: string;

  /** Throws a usage error when the user has no folder for configuration. */
  constructor(
    private readonly url: string,
    private readonly env: Env,
  ) {
    this.file = tokenFile(url, env);
  }

  /** Undefined if there is no login. Throws a usage error for a file that cannot be read. */
  read(): Stored | undefined {
    let text: string;
    try {
      text = readFileSync(this.file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#unreadable(messageOf(error));
    }
    try {
      const stored = storedSchema.parse(JSON.parse(text));
      this.#remember(stored);
      return stored;
    } catch {
      throw this.#unreadable("it was edited");
    }
  }

  /** Replaces a part of the login; only the user can read the file. */
  async write(part: Partial<Stored>): Promise<void> {
    const stored = { ...this.read(), url: this.url, ...part };
    this.#remember(stored);
    await makeFolder(dirname(this.file), { mode: 0o700 });
    await replaceFile(this.file, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  }

  /** Returns false if there was no login. */
  async remove(): Promise<boolean> {
    const existed = this.read() !== undefined;
    await rm(this.file, { force: true });
    return existed;
  }

  #remember({ client, tokens }: Stored): void {
    const secrets = knownSecrets(this.env);
    for (const value of [client?.client_secret, tokens?.access_token, tokens?.refresh_token])
      if (value !== undefined) secrets.add("login", value);
  }

  #unreadable(why: string) {
    return usageError(`The login in ${this.file} cannot be read: ${why}.`, "Remove the file, and log in again.");
  }
}

/** The metadata with which the client registers at an authorization server. */
export const clientMetadata = (redirectUrl: string): OAuthClientProvider["clientMetadata"] => ({
  client_name: "tool-evals",
  redirect_uris: [redirectUrl],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
});

/**
 * Authenticates with the stored login of a server, and refreshes it; undefined if there is none. It never prompts the
 * user: if the login is refused, requests fail with an error that says how to log in.
 */
export function useLogin(url: string, env: Env): OAuthClientProvider | undefined {
  const { HOME, USERPROFILE, XDG_CONFIG_HOME, APPDATA } = env;
  if (!(HOME || USERPROFILE || XDG_CONFIG_HOME || APPDATA)) return undefined;
  const store = new TokenStore(url, env);
  if (!store.read()?.tokens) return undefined;
  const redirectUrl = "http://127.0.0.1/callback";
  let isRefused = false;
  return {
    redirectUrl,
    clientMetadata: clientMetadata(redirectUrl),
    clientInformation: () => store.read()?.client as StoredOAuthClientInformation | undefined,
    tokens: () => (isRefused ? undefined : (store.read()?.tokens as StoredOAuthTokens | undefined)),
    saveTokens: (tokens) => store.write({ tokens }),
    // The file stays: another process may have refreshed the tokens.
    invalidateCredentials: () => {
      isRefused = true;
    },
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
    redirectToAuthorization: () => {
      throw serverError(`The login at ${url} has expired or does not suffice.`, `Repeat \`evals login ${url}\`.`);
    },
  };
}
