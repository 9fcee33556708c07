import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { HttpError } from "./requests.ts";

/** The open sessions of one listener by their id: at most `limit`, each closed after `idleMs` without a request. */
export class Sessions<T extends Transport> {
  readonly #open = new Map<string, { server: Server; transport: T; idle: NodeJS.Timeout }>();
  readonly #limit: number;
  readonly #idleMs: number;

  constructor(limit: number, idleMs: number) {
    this.#limit = limit;
    this.#idleMs = idleMs;
  }

  /** Opens a session: connects a server of its own to the transport. Throws HttpError 503 when there are too many. */
  async open(id: string, transport: T, server: Server): Promise<void> {
    if (this.#open.size >= this.#limit) {
      const message = `Too many sessions: ${this.#limit} are open. Close one, or try again later.`;
      throw new HttpError(503, message, { "retry-after": "60" });
    }
    // The timer alone does not keep the process alive.
    const idle = setTimeout(() => void server.close(), this.#idleMs).unref();
    this.#open.set(id, { server, transport, idle });
    server.onclose = () => {
      clearTimeout(idle);
      this.#open.delete(id);
    };
    await server.connect(transport);
  }

  /** The transport of a session, whose idle time starts anew. Throws HttpError 404 when there is no such session. */
  find(id: string): T {
    const session = this.#open.get(id);
    if (!session) {
      throw new HttpError(404, "Session not found: it was closed or never opened. Open a new one.", {}, -32001);
    }
    session.idle.refresh();
    return session.transport;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ server }) => server.close()));
  }
}
