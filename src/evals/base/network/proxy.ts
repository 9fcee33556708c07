import { usageError } from "../types/errors.ts";

/** The built-in `fetch`, or one like it. Other code gets it from here, so that no request passes the proxies by. */
export type Fetch = typeof fetch;

/** A `fetch` through the proxies of the environment, or the built-in one where none is set. Throws as `createProxyFetch`. */
export const openFetch = (env: Readonly<Record<string, string | undefined>>): Fetch => createProxyFetch(env) ?? fetch;

/**
 * A `fetch` that uses the proxies in HTTPS_PROXY and HTTP_PROXY, except for this machine and the hosts in NO_PROXY;
 * undefined when no proxy is set. Lower-case names take precedence, as in curl. undici is loaded with the first
 * request. Certificates are checked against Node's list and NODE_EXTRA_CA_CERTS. Timeouts are left to the caller's
 * signal. Throws a usage error for a proxy that is not an http or https URL.
 */
export function createProxyFetch(env: Readonly<Record<string, string | undefined>>): Fetch | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const readProxy = (name: string) => {
    const value = read(name);
    if (value === "" || /^https?:\/\/./.test(value)) return value;
    // The value may hold a password.
    throw usageError(`${name} is not an http or https URL.`, "Write it as http://host:port.");
  };
  const proxies = { httpProxy: readProxy("HTTP_PROXY"), httpsProxy: readProxy("HTTPS_PROXY") };
  if (proxies.httpProxy === "" && proxies.httpsProxy === "") return undefined;
  const excluded = read("NO_PROXY");
  const noProxy = excluded === "*" ? excluded : `${excluded},localhost,127.0.0.1,[::1]`;
  const options = { ...proxies, noProxy, proxyTunnel: false, headersTimeout: 0, bodyTimeout: 0 };
  let loading: Promise<Fetch> | undefined;
  return async (url, init) => {
    // undici is large.
    loading ??= import("./proxied.ts").then(({ createProxiedFetch }) => createProxiedFetch(options));
    return (await loading)(url, init);
  };
}
