// The outbox on the real ledger (a SQLite file), a hand-driven clock, and adapters that keep what they are given.

import { describe, expect, test } from "vitest";
import { makeWebhookAdapter } from "../../src/deliver/adapters/webhook.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import { HOUR, SECOND } from "../../src/kernel/time.ts";
import type { Adapter, SendResult } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { openSqliteDatabase } from "../../src/store/sql/sqlite-driver.ts";
import { chat, chatAdapter, START } from "./fixtures.ts";
import { serve } from "./loopback.ts";
import { gate, message, openPost } from "./outbox-ledger.ts";

const never = new AbortController().signal;

/** Answers with these in turn, then delivers. */
function scripted(answers: SendResult[], changes: Partial<Adapter> = {}) {
  const adapter = chatAdapter(changes);
  const { send } = adapter;
  return {
    ...adapter,
    send: async (...args: Parameters<typeof send>) => {
      const receipt = await send(...args);
      return answers.shift() ?? receipt;
    },
  };
}

describe("a running outbox", () => {
  test("sends what is put while it rests, and keeps the platform's answer as the receipt", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    const outbox = post.outbox({ adapters: [adapter] });
    outbox.start();
    await post.clock.whenSleeping();

    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    outbox.nudge();
    await post.next("delivery-delivered");

    expect((await post.rows()).get("a")).toMatchObject({
      state: "delivered",
      attempts: 1,
      receipt: { id: "m1", at: START },
    });
  });

  test("O2: what failed for now is sent again when its time has come, not before", async () => {
    const post = await openPost();
    const adapter = scripted([{ kind: "retry", error: "busy", afterMs: 7 * SECOND }]);
    const outbox = post.outbox({ adapters: [adapter] });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    outbox.start();
    await post.next("delivery-retry");
    await post.clock.whenSleeping();

    await post.clock.advance(6_999);
    expect(adapter.sent).toHaveLength(1);
    expect((await post.rows()).get("a")).toMatchObject({ state: "queued", error: "busy", attempts: 1 });

    await post.clock.whenSleeping();
    await post.clock.advance(8 * SECOND);
    await post.next("delivery-delivered");
    expect(adapter.sent).toHaveLength(2);
  });

  test("O2: a waiting part holds back the later ones of its target, and no other target", async () => {
    const post = await openPost();
    const adapter = scripted([{ kind: "retry", error: "busy", afterMs: HOUR }]);
    const outbox = post.outbox({ adapters: [adapter] });
    const rows = [message("a0", chat("1")), message("a1", chat("1"), { part: 1 }), message("b0", chat("2"))];
    await post.ledger.putDeliveries(rows, START);

    outbox.start();
    await post.next("delivery-retry");
    await post.next("delivery-delivered");

    expect(adapter.sent.map(({ body }) => body)).toEqual(["a0", "b0"]);
    await post.clock.whenSleeping();
    await post.clock.advance(HOUR + 30 * SECOND);
    await post.next("delivery-delivered");
    await post.next("delivery-delivered");
    expect(adapter.sent.map(({ body }) => body)).toEqual(["a0", "b0", "a0", "a1"]);
  });

  test("O2: a dead or unknown part does not hold back the later ones", async () => {
    const post = await openPost();
    const adapter = scripted([
      { kind: "refused", error: "no such chat" },
      { kind: "unknown", error: "cut" },
    ]);
    const outbox = post.outbox({ adapters: [adapter] });
    await post.ledger.putDeliveries(
      ["a", "b", "c"].map((key) => message(key, chat("1"))),
      START,
    );

    outbox.start();
    await post.next("delivery-delivered");

    expect([...(await post.rows()).values()].map(({ key, state }) => [key, state])).toEqual(
      expect.arrayContaining([
        ["a", "dead"],
        ["b", "unknown"],
        ["c", "delivered"],
      ]),
    );
  });

  test("targets are served in parallel, sixteen at a time", async () => {
    const post = await openPost();
    const release = gate();
    const full = gate();
    let active = 0;
    let most = 0;
    const adapter = chatAdapter({
      send: async () => {
        active += 1;
        most = Math.max(most, active);
        if (active === 16) full.open();
        await release.opened;
        active -= 1;
        return { kind: "delivered", receipt: { at: START } };
      },
    });
    const outbox = post.outbox({ adapters: [adapter] });
    const rows = Array.from({ length: 20 }, (_, index) => message(`k${index}`, chat(`${index}`)));
    await post.ledger.putDeliveries(rows, START);

    outbox.start();
    await full.opened;
    release.open();
    for (let count = 0; count < 20; count++) await post.next("delivery-delivered");

    expect(most).toBe(16);
  });

  test("law 5, a webhook that fails once: the second try has the same key and body", async () => {
    const post = await openPost();
    const server = await serve((response) =>
      response.writeHead(server.received.length === 1 ? 503 : 200).end(),
    );
    const webhook = makeWebhookAdapter({ clock: post.clock, allowPrivate: ["127.0.0.1"] });
    const target = { platform: "webhook", url: server.url, text: `webhook:${server.url}` };
    const outbox = post.outbox({ adapters: [webhook] });
    await post.ledger.putDeliveries([message("a", target, { repeatability: "idempotent" })], START);

    outbox.start();
    await post.next("delivery-retry");
    await post.clock.whenSleeping();
    await post.clock.advance(15 * SECOND);
    await post.next("delivery-delivered");

    const [first, second] = server.received;
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
    expect(second?.body).toBe(first?.body);
    expect((await post.rows()).get("a")).toMatchObject({ attempts: 2, receipt: { status: 200 } });
  });

  test("a platform's answer is redacted before it is kept", async () => {
    const post = await openPost();
    const adapter = scripted([{ kind: "refused", error: "bad token s3cr3t-s3cr3t" }]);
    const outbox = post.outbox({ adapters: [adapter], redact: makeRedact(["s3cr3t-s3cr3t"]) });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);

    outbox.start();
    await post.next("delivery-dead");

    expect((await post.rows()).get("a")?.error).toBe("bad token [redacted]");
  });

  test("O4: a row whose adapter is not configured here is dead with that reason", async () => {
    const post = await openPost();
    const outbox = post.outbox({ adapters: [chatAdapter({ unusable: () => "no token is set" })] });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);

    outbox.start();
    await post.next("delivery-dead");

    expect((await post.rows()).get("a")).toMatchObject({
      state: "dead",
      error: "notConfigured: no token is set",
    });
  });
});

describe("a cut between request and receipt", () => {
  test.each([
    ["idempotent", "queued", 1],
    ["blind", "unknown", 1],
  ] as const)("O3: an adapter that throws leaves a %s row %s", async (repeatability, state, sends) => {
    const post = await openPost();
    const adapter = chatAdapter();
    const { send } = adapter;
    const broken = {
      ...adapter,
      send: async (...args: Parameters<typeof send>) => {
        await send(...args);
        throw new Error("socket hang up");
      },
    };
    await post.ledger.putDeliveries([message("a", chat("1"), { repeatability })], START);

    await post.outbox({ adapters: [broken] }).drain(never);

    expect((await post.rows()).get("a")).toMatchObject({ state, error: "socket hang up" });
    expect(adapter.sent).toHaveLength(sends);
  });

  test("O3: an adapter that hangs and heeds no signal is given up within the lease, as unknown", async () => {
    const post = await openPost();
    const sending = gate();
    const adapter = chatAdapter({
      send: () => {
        sending.open();
        return new Promise<never>(() => {});
      },
    });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    const draining = post.outbox({ adapters: [adapter] }).drain(never);
    await sending.opened;

    await post.clock.advance(59 * SECOND);

    expect(await draining).toEqual({ delivered: 0, retry: 0, dead: 0, unknown: 1 });
  });

  /** A node that took the row and died before it could write the answer. */
  async function crashedPost(repeatability: Adapter["repeatability"]) {
    const post = await openPost();
    await post.ledger.putDeliveries([message("a", chat("1"), { repeatability })], START);
    const request = { nodeId: "node-0", now: START, leaseMs: 60_000, limit: 1 };
    expect(await post.ledger.takeDeliveries(request)).toHaveLength(1);
    return post;
  }
  const deadNodes = () => ["node-0"];

  test("58818: a blind message of a dead node is unknown and never sent again by itself", async () => {
    const post = await crashedPost("blind");
    const adapter = chatAdapter();

    expect(await post.outbox({ adapters: [adapter], deadNodes }).drain(never)).toMatchObject({ unknown: 1 });

    expect(adapter.sent).toEqual([]);
    const row = (await post.rows()).get("a");
    expect(row).toMatchObject({ state: "unknown", error: expect.stringContaining("may have arrived") });

    // Only a person sends it again.
    await post.ledger.retryDelivery(row!.id, START);
    await post.outbox({ adapters: [adapter] }).drain(never);
    expect(adapter.sent).toHaveLength(1);
  });

  test("O3: an idempotent message of a dead node is sent again at once, with its key", async () => {
    const post = await crashedPost("idempotent");
    const adapter = chatAdapter();

    expect(await post.outbox({ adapters: [adapter], deadNodes }).drain(never)).toMatchObject({
      delivered: 1,
    });

    expect(adapter.sent).toHaveLength(1);
  });

  test("O3: without proof of death the lease decides: not before it has run out, then at once", async () => {
    const post = await crashedPost("idempotent");
    const adapter = chatAdapter();

    await post.outbox({ adapters: [adapter] }).drain(never);
    expect(adapter.sent).toEqual([]);

    await post.clock.advance(60_001);
    await post.outbox({ adapters: [adapter] }).drain(never);
    expect(adapter.sent).toHaveLength(1);
  });

  test.each([
    ["arrived", { id: "m7", at: START }, "delivered", 0],
    ["did not arrive", "absent", "delivered", 1],
    ["cannot tell", undefined, "unknown", 0],
  ] as const)("O3: a platform that can be asked says it %s", async (_answer, found, state, sends) => {
    const post = await crashedPost("probe");
    const adapter = chatAdapter({ probe: () => Promise.resolve(found) });

    await post.outbox({ adapters: [adapter], deadNodes }).drain(never);

    expect((await post.rows()).get("a")?.state).toBe(state);
    expect(adapter.sent).toHaveLength(sends);
  });

  test("a process that was stopped between taking and sending does not send: another may have", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    let isStopped = true;
    const ledger: OutboxLedger = {
      ...post.ledger,
      takeDeliveries: async (request) => {
        const rows = await post.ledger.takeDeliveries(request);
        if (isStopped) {
          isStopped = false;
          await post.clock.advance(61 * SECOND);
          // Meanwhile another node took over and sent it.
          await post.outbox({ adapters: [adapter], nodeId: "node-2" }).drain(never);
        }
        return rows;
      },
    };
    await post.ledger.putDeliveries([message("a", chat("1"), { repeatability: "idempotent" })], START);

    await post.outbox({ adapters: [adapter], ledger }).drain(never);

    expect(adapter.sent).toHaveLength(1);
    expect((await post.rows()).get("a")).toMatchObject({ state: "delivered", attempts: 1 });
  });
});

describe("the outbox and its store", () => {
  test("I2: a store that another process locks does not lose the receipt, and nothing is sent twice", async () => {
    const post = await openPost();
    const other = await openSqliteDatabase(post.file, undefined);
    const adapter = chatAdapter();
    const refused = gate();
    const ledger: OutboxLedger = {
      ...post.ledger,
      closeDeliveries: (closings) =>
        post.ledger.closeDeliveries(closings).catch((error) => {
          refused.open();
          throw error;
        }),
    };
    const { send } = adapter;
    const locking = {
      ...adapter,
      send: (...args: Parameters<typeof send>) => {
        other.exec("BEGIN IMMEDIATE");
        return send(...args);
      },
    };
    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    const draining = post.outbox({ adapters: [locking], ledger }).drain(never);

    await refused.opened;
    other.exec("ROLLBACK");
    other.close();
    await post.clock.whenSleeping();
    await post.clock.advance(5 * SECOND);

    expect(await draining).toMatchObject({ delivered: 1 });
    expect(adapter.sent).toHaveLength(1);
  });

  test("openclaw#27921: a late duplicate of a delivered message puts nothing and sends nothing", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    const outbox = post.outbox({ adapters: [adapter] });

    for (let time = 0; time < 3; time++) {
      await post.ledger.putDeliveries([message("a", chat("1"))], START);
      await outbox.drain(never);
    }

    expect(adapter.sent).toHaveLength(1);
  });

  test("two nodes drain one outbox: every message is sent once", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    const keys = Array.from({ length: 50 }, (_, index) => `k${index}`);
    await post.ledger.putDeliveries(
      keys.map((key, index) => message(key, chat(`${index % 7}`))),
      START,
    );

    await Promise.all(
      ["node-1", "node-2"].map((nodeId) => post.outbox({ adapters: [adapter], nodeId }).drain(never)),
    );

    expect(adapter.sent.map(({ body }) => body).sort()).toEqual([...keys].sort());
  });
});

describe("stopping", () => {
  test("lets a send finish, writes its receipt, and takes nothing more", async () => {
    const post = await openPost();
    const sending = gate();
    const release = gate();
    const adapter = chatAdapter({
      send: async () => {
        sending.open();
        await release.opened;
        return { kind: "delivered", receipt: { at: START } };
      },
    });
    const outbox = post.outbox({ adapters: [adapter] });
    await post.ledger.putDeliveries([message("a", chat("1")), message("b", chat("1"))], START);
    outbox.start();
    await sending.opened;

    const stopping = outbox.stop(10 * SECOND);
    release.open();
    await stopping;

    const rows = await post.rows();
    expect([rows.get("a")?.state, rows.get("b")?.state]).toEqual(["delivered", "queued"]);
    expect(post.clock.sleeping()).toBe(0);
  });

  test("L13: aborts what outlives the grace, says what it does not know, and leaves no timer", async () => {
    const post = await openPost();
    const sending = gate();
    const adapter = chatAdapter({
      send: (_request, signal) => {
        sending.open();
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      },
    });
    const outbox = post.outbox({ adapters: [adapter] });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    outbox.start();
    await sending.opened;

    const stopping = outbox.stop(10 * SECOND);
    await post.clock.advance(10 * SECOND);
    await stopping;

    expect((await post.rows()).get("a")).toMatchObject({ state: "unknown", error: "the outbox stopped" });
    expect(post.clock.sleeping()).toBe(0);
  });

  test("twice is once, and it can start again", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    const outbox = post.outbox({ adapters: [adapter] });
    outbox.start();
    outbox.start();
    await Promise.all([outbox.stop(), outbox.stop()]);
    await outbox.stop();
    expect(post.clock.sleeping()).toBe(0);

    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    outbox.start();
    await post.next("delivery-delivered");

    expect(adapter.sent).toHaveLength(1);
  });
});
