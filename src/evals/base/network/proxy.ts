import { usageError } from "../types/errors.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The built-in `fetch`, or one like it. Other code gets it from here, so that no request passes the proxies by. */
export type Fetch = typeof fetch;

/** A `fetch` through the proxies of the environment, or the built-in one where none is set. Throws as `createProxyFetch`. */
export const openFetch = (env: Env): Fetch => createProxyFetch(env) ?? fetch;

/**
 * A `fetch` that uses the proxies in HTTPS_PROXY and HTTP_PROXY, except for this machine and the hosts in NO_PROXY;
 * undefined when no proxy is set. Lower-case names take precedence, as in curl. undici is loaded with the first
 * request. Certificates are checked against Node's list and NODE_EXTRA_CA_CERTS. Timeouts are left to the caller's
 * signal. Throws a usage error for a proxy that is not an http or https URL.
 */
export function createProxyFetch(env: Env): Fetch | undefined {
  const proxies = readProxies(env);
  return proxies.httpProxy === "" && proxies.httpsProxy === "" ? undefined : createLateFetch(proxies);
}

/** With or without a proxy. Never ends a request by itself, as the built-in `fetch` does after 300 s. */
export function createPatientFetch(env: Env): Fetch {
  return createLateFetch(readProxies(env));
}

function readProxies(env: Env) {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const readProxy = (name: string) => {
    const value = read(name);
    if (value === "" || /^https?:\/\/./.test(value)) return value;
    // The value may hold a password.
    throw usageError(`${name} is not an http or https URL.`, "Write it as http://host:port.");
  };
  const excluded = read("NO_PROXY");
  const noProxy = excluded === "*" ? excluded : `${excluded},localhost,127.0.0.1,[::1]`;
  return { httpProxy: readProxy("HTTP_PROXY"), httpsProxy: readProxy("HTTPS_PROXY"), noProxy };
}

function createLateFetch(proxies: ReturnType<typeof readProxies>): Fetch {
  const options = { ...proxies, proxyTunnel: false, headersTimeout: 0, bodyTimeout: 0 };
  let loading: Promise<Fetch> | undefined;
  return async (url, init) => {
    // undici is large.
    loading ??= import("./proxied.ts").then(({ createProxiedFetch }) => createProxiedFetch(options));
    return (await loading)(url, init);
  };
}
