import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts a server on 127.0.0.1 that does not keep the process alive. `url` has no path. */
export async function startLoopback(answer: RequestListener): Promise<{ http: Server; url: string }> {
  const http = createServer(answer);
  http.listen(0, "127.0.0.1").unref();
  await once(http, "listening");
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}
