// The outbox on the real ledger (a SQLite file), a hand-driven clock, and adapters that keep what they are given.

import { describe, expect, test } from "vitest";
import { makeWebhookAdapter } from "../../src/deliver/adapters/webhook.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import { HOUR, SECOND } from "../../src/kernel/time.ts";
import type { Adapter, SendResult } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { chat, chatAdapter, START } from "./fixtures.ts";
import { serve } from "./loopback.ts";
import { gate, message, openPost } from "./outbox-ledger.ts";

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

  test("waits also for a row that the store handed out while the stop came", async () => {
    const post = await openPost();
    const [taking, handOut, sending, answer] = [gate(), gate(), gate(), gate()];
    const adapter = chatAdapter({
      send: async () => {
        sending.open();
        await answer.opened;
        return { kind: "delivered", receipt: { at: START } };
      },
    });
    const ledger: OutboxLedger = {
      ...post.ledger,
      takeDeliveries: async (request) => {
        const rows = await post.ledger.takeDeliveries(request);
        taking.open();
        await handOut.opened;
        return rows;
      },
    };
    const outbox = post.outbox({ adapters: [adapter], ledger });
    await post.ledger.putDeliveries([message("a", chat("1"))], START);
    outbox.start();
    await taking.opened;

    let isStopped = false;
    const stopping = outbox.stop(10 * SECOND).then(() => {
      isStopped = true;
    });
    handOut.open();
    await sending.opened;
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));

    expect(isStopped).toBe(false);
    answer.open();
    await stopping;
    expect((await post.rows()).get("a")?.state).toBe("delivered");
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
