import { EnvHttpProxyAgent, fetch as send } from "undici";

/** A `fetch` through the proxies that the options name. A module of its own: undici is large and imported late. */
export function createProxiedFetch(options: EnvHttpProxyAgent.Options): typeof fetch {
  const dispatcher = new EnvHttpProxyAgent(options);
  const fetchThrough = send as unknown as (url: Parameters<typeof fetch>[0], init: object) => Promise<Response>;
  return (url, init) => fetchThrough(url, { ...init, dispatcher });
}
