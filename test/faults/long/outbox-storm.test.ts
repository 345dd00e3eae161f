// 500 messages to servers that drop, delay, refuse and cut, from a node that is killed -9 again and again.
//
// What must hold (O3): idempotent: nothing lost, nothing doubled. Blind: what is doubtful is `unknown` and was not re-sent.

import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Delivery, NewDelivery } from "../../../src/records/delivery.ts";
import { openLedger } from "../../../src/store/sql/open-ledger.ts";
import { serve } from "../../deliver/loopback.ts";
import { seededRandom } from "../../support/random.ts";
import { faultHome, untilTrue } from "../fault-home.ts";
import { startNode } from "../node-process.ts";

const MESSAGES = 250;
const KILLS = 5;
const ADDRESSES = 25;

type Fate = "takes" | "takes late" | "takes and cuts" | "cuts before" | "is down" | "asks to wait";

/** One request in seven goes wrong, each in its own way. */
function fates(seed: number): () => Fate {
  const random = seededRandom(seed);
  return () => {
    const dice = (random(1)[0] ?? 0) / 256;
    if (dice < 0.04) return "takes and cuts";
    if (dice < 0.06) return "cuts before";
    if (dice < 0.1) return "is down";
    if (dice < 0.14) return "asks to wait";
    return dice < 0.3 ? "takes late" : "takes";
  };
}

/** A server with a memory: `idOf` names what was sent, so that a repeat can be told from a second message. */
async function platformServer(
  seed: number,
  idOf: (path: string, body: string) => string,
  answer: (id: string) => string,
) {
  const taken = new Map<string, number>();
  const next = fates(seed);
  const late = new Set<ServerResponse>();
  const server = await serve((response, { socket }, { path = "", body }) => {
    const fate = next();
    const id = idOf(path, body);
    if (fate === "is down") return void response.writeHead(500).end("{}");
    if (fate === "asks to wait") return void response.writeHead(429, { "retry-after": "1" }).end("{}");
    if (fate === "cuts before") return void socket.destroy();
    taken.set(id, (taken.get(id) ?? 0) + 1);
    if (fate === "takes and cuts") return void socket.destroy();
    if (fate === "takes") return void response.end(answer(id));
    // Late: with the request after the next one, or at the latest a moment later.
    late.add(response);
    setImmediate(() => {
      for (const waiting of late) waiting.end(answer(id));
      late.clear();
    });
  });
  return { base: new URL(server.url).origin, taken, count: () => server.received.length };
}

function messages(platform: "matrix" | "gotify"): NewDelivery[] {
  return Array.from({ length: MESSAGES }, (_, number): NewDelivery => {
    const chat =
      platform === "matrix" ? `!room${number % ADDRESSES}:example.org` : `app${number % ADDRESSES}`;
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
  });
}

test("O3: kill -9 during 500 sends (hermes#58818): idempotent loses and doubles nothing, blind never sends a doubtful one again", {
  timeout: 420_000,
}, async () => {
  const matrix = await platformServer(
    1,
    (path) => path.split("/").at(-1) ?? "",
    (id) => `{"event_id":"$${id}"}`,
  );
  const gotify = await platformServer(
    2,
    (_path, body) => JSON.parse(body).message,
    () => '{"id":1}',
  );
  const home = await faultHome({
    config: [
      "timezone: UTC",
      "deliver:",
      `  matrix: {baseUrl: "${matrix.base}", token: "\${env:MATRIX_TOKEN}"}`,
      `  gotify: {baseUrl: "${gotify.base}", token: "\${env:GOTIFY_TOKEN}"}`,
      "  allowPrivate: [127.0.0.1]",
      "",
    ].join("\n"),
  });
  await writeFile(join(home.path, ".env"), "MATRIX_TOKEN=m4trix-t0ken\nGOTIFY_TOKEN=g0tify-t0ken\n", {
    mode: 0o600,
  });
  const ledger = await openLedger({
    url: home.store,
    clock: {
      now: Date.now,
      monotonicMs: () => performance.now(),
      uptimeMs: () => performance.now(),
      sleep: never,
    },
    random: seededRandom(3),
    host: { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" },
  });
  try {
    const rows = [...messages("matrix"), ...messages("gotify")];
    await ledger.putDeliveries(rows, Date.now());
    const open = async () => (await ledger.deliveries({ state: ["queued", "sending"], limit: 1_000 })).length;

    for (let kill = 1; kill <= KILLS; kill++) {
      const before = matrix.count() + gotify.count();
      const node = await startNode({ home: home.path });
      await untilTrue("it has sent some more", () =>
        Promise.resolve(matrix.count() + gotify.count() >= before + 40),
      );
      node.signal("SIGKILL");
      await node.exited;
    }
    await startNode({ home: home.path });
    await untilTrue("nothing waits any more", async () => (await open()) === 0, 360_000);

    const ended = await ledger.deliveries({ limit: 1_000 });
    const of = (platform: string) => ended.filter(({ target }) => target.platform === platform);
    expect(
      of("matrix")
        .map(stateOf)
        .filter((state) => state !== "delivered"),
    ).toEqual([]);
    // One transaction id per message, whatever number of requests carried it.
    expect(matrix.taken.size).toBe(MESSAGES);

    expect([...gotify.taken].filter(([, times]) => times > 1)).toEqual([]);
    expect(
      of("gotify")
        .map(stateOf)
        .filter((state) => state !== "delivered" && state !== "unknown"),
    ).toEqual([]);
    const delivered = of("gotify").filter(({ state }) => state === "delivered");
    expect(delivered.filter(({ body }) => !gotify.taken.has(body))).toEqual([]);
    const doubtful = of("gotify").filter(({ state }) => state === "unknown");
    expect(doubtful.length).toBeGreaterThan(0);
    expect(doubtful.length).toBeLessThan(MESSAGES / 4);
  } finally {
    await ledger.close();
  }
});

const stateOf = ({ state }: Delivery) => state;

function never(): Promise<void> {
  return Promise.reject(new Error("nobody sleeps here"));
}
