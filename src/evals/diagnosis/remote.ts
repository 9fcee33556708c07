import type { RemoteStart } from "./facts.ts";
import type { Diagnosis } from "./report.ts";

type Finding = Omit<Diagnosis, "severity" | "show">;

/** Why nothing could be connected to at a URL, by what a plain request to it came to. */
export function whyNotReached(start: RemoteStart, client: { message: string; hint: string }): Finding {
  const { answer } = start;
  if (answer.kind === "none") return { ...unreachable(answer.code, start.url), evidence: [answer.message] };
  const evidence = [...seen(answer), `the client: ${client.message}`];
  const { status, location, authenticate } = answer;
  if (status >= 300 && status < 400)
    return {
      id: "redirect",
      wrong: `The URL is redirected${location === undefined ? "" : ` to ${location}`}.`,
      evidence,
      remedy: "Write the address that it leads to: hosts drop headers on a redirect, or do not follow it.",
    };
  if (status === 401 || status === 403)
    return {
      id: "credentials",
      wrong: status === 401 ? "It asks for credentials." : "It refuses the credentials.",
      evidence,
      remedy: `Give them under headers${authenticate?.toLowerCase().startsWith("bearer") ? " as Authorization: Bearer" : ""}, or log in with the host.`,
    };
  if (status === 404 || status === 405) {
    const other = start.transport === "http" ? "sse" : "http";
    const remedy = `Check the path (often /mcp or /sse), and whether the server's transport is ${other}.`;
    return { id: "no-endpoint", wrong: "There is no MCP endpoint at this path.", evidence, remedy };
  }
  if (status >= 500)
    return { id: "server-fault", wrong: "The server fails.", evidence, remedy: "See the server's own log." };
  return { id: "not-mcp", wrong: "It answers, but not as an MCP server.", evidence, remedy: client.hint };
}

function seen({ status, type, authenticate }: Extract<RemoteStart["answer"], { kind: "status" }>): string[] {
  return [
    `HTTP ${status}${type === undefined ? "" : `, ${type}`}`,
    ...(authenticate === undefined ? [] : [`WWW-Authenticate: ${authenticate}`]),
  ];
}

function unreachable(code: string, url: string): Omit<Finding, "evidence"> {
  if (!/^https?:\/\/./i.test(url))
    return { id: "no-url", wrong: "This is no http or https URL.", remedy: "Write it as https://host/path." };
  if (code === "ECONNREFUSED")
    return {
      id: "port-refused",
      wrong: "Nothing listens on the port.",
      remedy: "Start the server, and check host and port of the url.",
    };
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return {
      id: "host-unknown",
      wrong: "The name of the host is not known.",
      remedy: "Mend the url, and check the network and its proxy.",
    };
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|DEPTH_ZERO/.test(code))
    return {
      id: "certificate",
      wrong: "Its certificate is not trusted.",
      remedy: "Install a certificate that is, or name its authority with NODE_EXTRA_CA_CERTS.",
    };
  if (/SSL|TLS|EPROTO/.test(code)) {
    const remedy = url.startsWith("https:")
      ? "Write http:// if the server has no TLS, or put it behind a proxy that has."
      : "Write https://.";
    return { id: "tls", wrong: "It does not speak TLS in the way that the url says.", remedy };
  }
  if (/TIMEOUT|TIMEDOUT/.test(code))
    return {
      id: "no-answer",
      wrong: "It accepts no request in time.",
      remedy: "Check that the server runs, and that no firewall stands between.",
    };
  return { id: "unreachable", wrong: "It cannot be reached.", remedy: "Check host, port and path of the url." };
}
