// Waking the other nodes of one PostgreSQL: LISTEN on a session of its own, reconnected when it breaks.

import type { Client } from "pg";
import type { Connection } from "./connection.ts";
import { sessionConfig } from "./postgres-connection.ts";
import type { Wakes } from "./wake-sockets.ts";

const CHANNEL = "nightshift";
const MIN_RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 15_000;

/** `name` must be unique among processes: a process does not wake itself. The session is opened with the first listener. */
export function openNotifyWakes(options: { connection: Connection; url: string; name: string }): Wakes {
  const { connection, url, name } = options;
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  let listening: { stop(): Promise<void> } | undefined;
  return {
    onChange(listener) {
      listeners.add(listener);
      listening ??= keepListening({ url, name, notify });
      return () => void listeners.delete(listener);
    },
    async wakeOthers() {
      await connection.all(`SELECT pg_notify('${CHANNEL}', ?)`, [name]).catch(() => {});
    },
    async close() {
      listeners.clear();
      await listening?.stop();
    },
  };
}

function keepListening({ url, name, notify }: { url: string; name: string; notify: () => void }) {
  let client: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let delayMs = MIN_RECONNECT_MS;
  let isStopped = false;
  let connecting = Promise.resolve();

  const again = () => {
    client = undefined;
    if (isStopped || timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      connecting = attempt(true);
    }, delayMs);
    timer.unref();
    delayMs = Math.min(delayMs * 2, MAX_RECONNECT_MS);
  };

  const attempt = async (isReconnect: boolean) => {
    try {
      const next = await openListener(url, { name, notify, onEnd: again });
      if (isStopped) return await next.end();
      client = next;
      delayMs = MIN_RECONNECT_MS;
      // Whatever was said while we were deaf is looked for now.
      if (isReconnect) notify();
    } catch {
      again();
    }
  };

  connecting = attempt(false);
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await connecting;
      await client?.end().catch(() => {});
    },
  };
}

async function openListener(
  url: string,
  { name, notify, onEnd }: { name: string; notify: () => void; onEnd: () => void },
): Promise<Client> {
  const { Client } = (await import("pg")).default;
  const client = new Client(await sessionConfig(url));
  let isUp = false;
  client.on("error", () => {});
  client.on("end", () => {
    if (isUp) onEnd();
  });
  client.on("notification", ({ payload }) => {
    if (payload !== name) notify();
  });
  await client.connect();
  try {
    await client.query(`LISTEN ${CHANNEL}`);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  isUp = true;
  return client;
}
