import { findMissingKey } from "./knownErrors.ts";
import type { Diagnosis } from "./report.ts";

/** The response to a plain HTTP request, made after a client could not connect. */
export type RemoteStart = {
  kind: "remote";
  url: string;
  transport: "http" | "sse";
  answer:
    | { kind: "status"; status: number; type?: string; location?: string; authenticate?: string; said?: string }
    | { kind: "none"; code: string; message: string };
};

type Cause = Omit<Diagnosis, "severity" | "show">;

/** Why no client could connect to a URL. `client` is the error of the client. */
export function diagnoseRemoteStart(start: RemoteStart, client: { message: string; hint: string }): Cause {
  const { answer } = start;
  if (answer.kind === "none") return { ...diagnoseNoResponse(answer.code, start.url), evidence: [answer.message] };
  const { status, type, location, authenticate, said } = answer;
  const evidence = [
    `HTTP ${status}${type === undefined ? "" : `, ${type}`}`,
    ...(authenticate === undefined ? [] : [`WWW-Authenticate: ${authenticate}`]),
    ...(said === undefined ? [] : [`body: ${said}`]),
    `client: ${client.message}`,
  ];
  if (status >= 300 && status < 400)
    return {
      id: "redirect",
      wrong: `The URL redirects${location === undefined ? "" : ` to ${location}`}.`,
      evidence,
      remedy: "Use the target URL: hosts drop headers on redirects, or do not follow them.",
    };
  // Some services answer a missing key with another status, and name it in the body.
  const asksForKey = status >= 400 && said !== undefined && findMissingKey(said) !== undefined;
  // Others answer the first request of a client, and refuse the next.
  const refused = findRefusal(client.message) ?? status;
  if (refused === 401 || refused === 403 || asksForKey)
    return {
      id: "credentials",
      wrong: refused === 403 ? "The server rejects the credentials." : "The server requires credentials.",
      evidence,
      remedy: `Add them to "headers"${authenticate?.toLowerCase().startsWith("bearer") ? " as Authorization: Bearer <token>" : ""}, or log in with \`evals login ${start.url.split("?")[0]}\`.`,
    };
  if (status === 404 || status === 405) {
    const other = start.transport === "http" ? "sse" : "http";
    const remedy = `Check the path (often /mcp or /sse), and whether the server uses the transport ${other} (\`--transport ${other}\`).`;
    return { id: "no-endpoint", wrong: "There is no MCP endpoint at this URL.", evidence, remedy };
  }
  if (status === 429) {
    const remedy = "Wait, then try again; ask the operator of the server for a higher limit if it stays.";
    return { id: "rate-limit", wrong: "The server refuses further requests for now.", evidence, remedy };
  }
  if (status >= 500)
    return { id: "server-fault", wrong: "The server has an internal error.", evidence, remedy: "Check its log." };
  return { id: "not-mcp", wrong: "The URL answers, but not with MCP.", evidence, remedy: client.hint };
}

/** The status by which a server refused a request, from the message of toolsets/http.ts. */
export function findRefusal(message: string): 401 | 403 | undefined {
  const status = /\banswers with HTTP (401|403)\b/.exec(message)?.[1];
  return status === undefined ? undefined : status === "401" ? 401 : 403;
}

function diagnoseNoResponse(code: string, url: string): Omit<Cause, "evidence"> {
  if (!/^https?:\/\/./i.test(url))
    return { id: "no-url", wrong: "This is not an HTTP or HTTPS URL.", remedy: "Write it as https://host/path." };
  if (code === "ECONNREFUSED")
    return {
      id: "port-refused",
      wrong: "The connection was refused: nothing listens on the port.",
      remedy: "Start the server, and check host and port of the URL.",
    };
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return {
      id: "host-unknown",
      wrong: "The host name could not be resolved.",
      remedy: "Correct the URL, and check the network and its proxy.",
    };
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|DEPTH_ZERO/.test(code))
    return {
      id: "certificate",
      wrong: "The certificate of the server is not trusted.",
      remedy: "Install a trusted certificate, or set NODE_EXTRA_CA_CERTS to the file of its certificate authority.",
    };
  if (/SSL|TLS|EPROTO/.test(code)) {
    const remedy = url.startsWith("https:")
      ? "Use http:// if the server has no TLS, or put a TLS proxy in front of it."
      : "Use https://.";
    return { id: "tls", wrong: "The TLS handshake failed.", remedy };
  }
  if (/TIMEOUT|TIMEDOUT/.test(code))
    return {
      id: "no-answer",
      wrong: "The server did not answer in time.",
      remedy: "Check that it is running, and that no firewall blocks the connection.",
    };
  return { id: "unreachable", wrong: "The server cannot be reached.", remedy: "Check host, port and path of the URL." };
}
