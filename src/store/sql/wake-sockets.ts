// Waking the other processes of one home (L11): a socket per process in `<home>/run`, a connection is the message.
//
// I1. Without a folder, or with a path too long for a socket, changes are noticed by `PRAGMA data_version` each second.
// I2. A socket nobody listens on is removed by whoever meets it.

import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Connection } from "./connection.ts";

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, with its NUL. */
const MAX_SOCKET_PATH = 103;
const POLL_MS = 1_000;
const CONNECT_TIMEOUT_MS = 250;

/** How the processes of one ledger tell each other that something changed. */
export interface Wakes {
  onChange(listener: () => void): () => void;
  /** Never throws. */
  wakeOthers(): Promise<void>;
  close(): Promise<void>;
}

/** `name` must be unique among processes. The socket is made with the first listener. */
export function openSocketWakes(options: {
  connection: Connection;
  folder: string | undefined;
  name: string;
}): Wakes {
  const { connection, folder, name } = options;
  const path = folder === undefined ? undefined : join(folder, `${name}.sock`);
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  let stop: Promise<() => Promise<void>> | undefined;
  const start = () => {
    const listening = path && Buffer.byteLength(path) <= MAX_SOCKET_PATH;
    return listening
      ? listen(path, notify).catch(() => pollDataVersion(connection, notify))
      : Promise.resolve(pollDataVersion(connection, notify));
  };
  return {
    onChange(listener) {
      listeners.add(listener);
      stop ??= start();
      return () => void listeners.delete(listener);
    },
    wakeOthers: () => (folder === undefined ? Promise.resolve() : wakeFolder(folder, path)),
    async close() {
      listeners.clear();
      await (await stop)?.();
    },
  };
}

async function listen(path: string, notify: () => void): Promise<() => Promise<void>> {
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.destroy();
    notify();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  // Waiting for news keeps no process alive.
  server.unref();
  return () => closeServer(server);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

async function wakeFolder(folder: string, own: string | undefined): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const paths = names.filter((name) => name.endsWith(".sock")).map((name) => join(folder, name));
  await Promise.all(paths.filter((path) => path !== own).map(knock));
}

/** Connects and hangs up. */
function knock(path: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const timer = setTimeout(() => socket.destroy(), CONNECT_TIMEOUT_MS);
    socket.once("connect", () => socket.end());
    socket.once("error", (error: NodeJS.ErrnoException) => {
      // (I2) Its process is gone: a live one accepts, or at least queues.
      if (error.code === "ECONNREFUSED") void rm(path, { force: true }).catch(() => {});
    });
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function pollDataVersion(connection: Connection, notify: () => void): () => Promise<void> {
  let seen: unknown;
  const look = async () => {
    const row = await connection.get("PRAGMA data_version").catch(() => undefined);
    if (row === undefined) return;
    if (seen !== undefined && row.data_version !== seen) notify();
    seen = row.data_version;
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = look();
  }, POLL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
