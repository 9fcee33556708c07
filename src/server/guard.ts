import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** A host as written in a URL: IPv6 addresses in brackets. */
export function urlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/**
 * Protects against DNS rebinding, where a web page reaches a local server under the name of its own site. Returns a
 * function that gives the reason to refuse a request, or undefined if it is allowed.
 *
 * The Host header must name this server: a loopback name, the address listened on, or one of `extraHosts`. A server
 * that listens beyond loopback is also reached under addresses it cannot know; there, any IP address as Host is safe,
 * because rebinding needs a name. An Origin, which browsers send, must be the same host and port.
 */
export function createGuard(host: string, extraHosts: readonly string[]) {
  const names = new Set([...loopbackNames, ...[host, ...extraHosts].map((name) => urlHost(name.toLowerCase()))]);
  const anyAddress = !isLoopback(host);

  return (headers: IncomingHttpHeaders): string | undefined => {
    const given = headers.host ?? "";
    const name = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i.exec(given)?.[1]?.toLowerCase();
    const isAddress = name !== undefined && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
    if (name === undefined || !(names.has(name) || (anyAddress && isAddress))) {
      return `The Host header ${JSON.stringify(given)} does not name this server. Use its address, or allow the name with --allow-hosts.`;
    }
    if (headers.origin !== undefined && !isSameOrigin(headers.origin, given)) {
      return `The Origin ${JSON.stringify(headers.origin)} is not allowed. Only pages of this server may call it.`;
    }
    return undefined;
  };
}

function isSameOrigin(origin: string, host: string): boolean {
  return ["http:", "https:"].some((scheme) => {
    const own = URL.canParse(`${scheme}//${host}`) ? new URL(`${scheme}//${host}`).origin : undefined;
    return origin === own;
  });
}
