// A storm over the outbox: messages to two platforms whose servers drop, delay, refuse and cut, from a node that is killed -9
// again and again, and the proof of what is left (O3).
//
// I1. Matrix stands for `idempotent`, Gotify for `blind`. A server remembers what it took, so a repeat is told from a second
//     message.
// I2. Idempotent: nothing lost, nothing doubled. Blind: what is doubtful is `unknown` and was not sent again.

import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Delivery, NewDelivery } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { openLedger } from "../../src/store/sql/open-ledger.ts";
import { serve } from "../deliver/loopback.ts";
import { seededRandom } from "../support/random.ts";
import { type FaultHome, faultHome } from "./fault-home.ts";

/** What a server does with a request. `takes and holds`: no answer comes as long as this node lives. */
export type Fate =
  | "takes"
  | "takes late"
  | "takes and cuts"
  | "takes and holds"
  | "cuts before"
  | "is down"
  | "asks to wait";

const ADDRESSES = 25;

interface StormServer {
  base: string;
  /** How often each message was taken. */
  taken: ReadonlyMap<string, number>;
  /** Requests so far. */
  count(): number;
  /** Requests that are held now. */
  held(): number;
}

async function stormServer(
  next: () => Fate,
  { idOf, answer }: { idOf(path: string, body: string): string; answer(id: string): string },
): Promise<StormServer> {
  const taken = new Map<string, number>();
  const late = new Map<ServerResponse, string>();
  const held = new Set<ServerResponse>();
  const server = await serve((response, { socket }, { path = "", body }) => {
    const fate = next();
    const id = idOf(path, body);
    if (fate === "is down") return void response.writeHead(500).end("{}");
    if (fate === "asks to wait") return void response.writeHead(429, { "retry-after": "1" }).end("{}");
    if (fate === "cuts before") return void socket.destroy();
    taken.set(id, (taken.get(id) ?? 0) + 1);
    if (fate === "takes and cuts") return void socket.destroy();
    if (fate === "takes") return void response.end(answer(id));
    if (fate === "takes and holds") {
      held.add(response);
      return void response.once("close", () => held.delete(response));
    }
    // Late: a moment later, all that came meanwhile together.
    late.set(response, id);
    setImmediate(() => {
      for (const [waiting, own] of late) waiting.end(answer(own));
      late.clear();
    });
  });
  const base = new URL(server.url).origin;
  return { base, taken, count: () => server.received.length, held: () => held.size };
}

export interface OutboxStorm {
  home: FaultHome;
  /** Of both platforms together. */
  requests(): number;
  /** Held now by each of both, at least. */
  held(): number;
  /** Messages that wait or are on their way. */
  open(): Promise<number>;
  /** The proof, asked once nothing is open. Returns how many are in doubt. */
  expectHonest(): Promise<number>;
}

/** A home whose outbox holds `messages` for each of both platforms; no node is up. */
export async function outboxStorm(
  messages: number,
  nextFate: (seed: number) => () => Fate,
): Promise<OutboxStorm> {
  const matrix = await stormServer(nextFate(1), {
    idOf: (path) => path.split("/").at(-1) ?? "",
    answer: (id) => `{"event_id":"$${id}"}`,
  });
  const gotify = await stormServer(nextFate(2), {
    idOf: (_path, body) => JSON.parse(body).message,
    answer: () => '{"id":1}',
  });
  const home = await stormHome(matrix.base, gotify.base);
  const ledger = await outboxOf(home);
  const numbers = Array.from({ length: messages }, (_, number) => number);
  // In turn: both are on their way at any moment.
  const rows = numbers.flatMap((number) => [rowOf("matrix", number), rowOf("gotify", number)]);
  await ledger.putDeliveries(rows, Date.now());
  const listed = async (states?: Delivery["state"][]) =>
    ledger.deliveries({ limit: 2 * messages, ...(states && { state: states }) });
  return {
    home,
    requests: () => matrix.count() + gotify.count(),
    held: () => Math.min(matrix.held(), gotify.held()),
    open: async () => (await listed(["queued", "sending"])).length,
    async expectHonest() {
      const ended = await listed();
      const of = (platform: string) => ended.filter(({ target }) => target.platform === platform);
      const undelivered = of("matrix").filter(({ state }) => state !== "delivered");
      expect(undelivered, "idempotent: lost").toEqual([]);
      // One transaction id per message, whatever number of requests carried it.
      expect(matrix.taken.size, "idempotent: lost or doubled").toBe(messages);

      const twice = [...gotify.taken].filter(([, times]) => times > 1);
      expect(twice, "blind: sent again").toEqual([]);
      const delivered = of("gotify").filter(({ state }) => state === "delivered");
      const invented = delivered.filter(({ body }) => !gotify.taken.has(body));
      expect(invented, "blind: delivered without having arrived").toEqual([]);
      const doubtful = of("gotify").filter(({ state }) => state === "unknown");
      expect(delivered.length + doubtful.length, "blind: neither delivered nor in doubt").toBe(messages);
      return doubtful.length;
    },
  };
}

async function stormHome(matrix: string, gotify: string): Promise<FaultHome> {
  const config = [
    "timezone: UTC",
    "deliver:",
    `  matrix: {baseUrl: "${matrix}", token: "\${env:MATRIX_TOKEN}"}`,
    `  gotify: {baseUrl: "${gotify}", token: "\${env:GOTIFY_TOKEN}"}`,
    "  allowPrivate: [127.0.0.1]",
    "",
  ].join("\n");
  const home = await faultHome({ config });
  const secrets = "MATRIX_TOKEN=m4trix-t0ken\nGOTIFY_TOKEN=g0tify-t0ken\n";
  await writeFile(join(home.path, ".env"), secrets, { mode: 0o600 });
  return home;
}

async function outboxOf(home: FaultHome): Promise<OutboxLedger> {
  const uptime = () => performance.now();
  const ledger = await openLedger({
    url: home.store,
    clock: { now: Date.now, monotonicMs: uptime, uptimeMs: uptime, sleep: nobodySleeps },
    random: seededRandom(3),
    host: { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" },
  });
  onTestFinished(() => ledger.close());
  return ledger;
}

function nobodySleeps(): Promise<void> {
  return Promise.reject(new Error("nobody sleeps here"));
}

function rowOf(platform: "matrix" | "gotify", number: number): NewDelivery {
  const at = number % ADDRESSES;
  const chat = platform === "matrix" ? `!room${at}:example.org` : `app${at}`;
  return {
    key: `storm/${platform}/${number}`,
    runId: undefined,
    jobId: undefined,
    kind: "result",
    target: { platform, chat, text: `${platform}:${chat}` },
    part: 0,
    body: `${platform} ${number}`,
    repeatability: platform === "matrix" ? "idempotent" : "blind",
    state: "queued",
  };
}
