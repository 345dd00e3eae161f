// A network between two nodes that can be cut: a TCP relay on a port of its own.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface TcpProxy {
  url: string;
  /** Resolves when bytes of a request have gone through since the last cut. */
  whenBusy(): Promise<void>;
  /** Resets every connection. */
  cut(): void;
}

export async function tcpProxy(port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isBusy = false;
  let wake = () => {};
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => sockets.delete(socket));
    }
    client.once("data", () => {
      isBusy = true;
      wake();
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    isBusy = false;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  onTestFinished(async () => {
    cut();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    async whenBusy() {
      while (!isBusy)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    cut,
  };
}
