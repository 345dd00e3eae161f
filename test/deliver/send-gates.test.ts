// Rates and breakers: first the gate alone, then an outbox behind it on a real ledger.

import { describe, expect, test } from "vitest";
import { passingOf, SendGates } from "../../src/deliver/send-gates.ts";
import { HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { Adapter, SendResult } from "../../src/records/delivery.ts";
import { chat, chatAdapter, START } from "./fixtures.ts";
import { message, openPost } from "./outbox-ledger.ts";

const down: SendResult = { kind: "retry", error: "ECONNREFUSED" };
const delivered: SendResult = { kind: "delivered", receipt: { at: START } };

describe("a gate", () => {
  test("lets a platform's burst through, then one for each refilled token", () => {
    const gates = new SendGates();
    const passing = { platform: "chat", bucket: "chat:1", rate: { tokens: 3, perMs: 3 * SECOND } };
    const enter = (nowMs: number) => gates.enter(passing, nowMs).kind;

    expect([0, 0, 0, 0].map(enter)).toEqual(["pass", "pass", "pass", "wait"]);
    expect(gates.enter(passing, 0)).toMatchObject({ afterMs: 1_000 });
    expect([999, 1_000, 1_001].map(enter)).toEqual(["wait", "pass", "wait"]);
    expect([HOUR, HOUR, HOUR, HOUR].map(enter)).toEqual(["pass", "pass", "pass", "wait"]);
  });

  test("one chat's burst takes nothing from another chat; a shared rate is one for all", () => {
    const rate = { tokens: 1, perMs: SECOND };
    const of = (id: string, adapter: Adapter) => passingOf(adapter, chat(id))!;
    const own = new SendGates();
    const shared = new SendGates();
    const kinds = (gates: SendGates, adapter: Adapter) =>
      ["1", "1", "2"].map((id) => gates.enter(of(id, adapter), 0).kind);

    expect(kinds(own, chatAdapter({ rate }))).toEqual(["pass", "wait", "pass"]);
    expect(kinds(shared, chatAdapter({ rate: { ...rate, isShared: true } }))).toEqual([
      "pass",
      "wait",
      "wait",
    ]);
  });

  test("opens after five failures in a row, lets one try through when its rest is over, and closes on an answer", () => {
    const gates = new SendGates();
    const passing = { platform: "chat", bucket: "chat:1", rate: undefined };
    for (let failure = 0; failure < 4; failure++) gates.note(passing, down, 0);
    expect(gates.enter(passing, 0).kind).toBe("pass");
    gates.note(passing, down, 0);

    expect(gates.enter(passing, 1)).toMatchObject({ kind: "wait", why: "chat is down: ECONNREFUSED" });
    expect(gates.enter(passing, 30 * SECOND).kind).toBe("pass");
    expect(gates.enter(passing, 30 * SECOND).kind).toBe("wait");
    gates.note(passing, delivered, 31 * SECOND);
    expect(gates.enter(passing, 31 * SECOND).kind).toBe("pass");
  });

  test("rests twice as long after a try that found nobody, and no longer for failures that came back together", () => {
    const gates = new SendGates();
    const passing = { platform: "chat", bucket: "chat:1", rate: undefined };
    const enter = (nowMs: number) => gates.enter(passing, nowMs).kind;
    for (let failure = 0; failure < 16; failure++) gates.note(passing, down, 0);

    expect([29 * SECOND, 30 * SECOND].map(enter)).toEqual(["wait", "pass"]);
    gates.note(passing, down, 31 * SECOND);
    expect([89 * SECOND, 90 * SECOND].map(enter)).toEqual(["wait", "pass"]);
  });

  test("an answer that asks to wait, and a refusal, are signs of life", () => {
    for (const sign of [
      { kind: "retry", error: "429", afterMs: 1 },
      { kind: "refused", error: "403" },
    ] as const) {
      const gates = new SendGates();
      const passing = { platform: "chat", bucket: "chat:1", rate: undefined };
      expect(gates.enter(passing, 0).kind).toBe("pass");
      for (let failure = 0; failure < 9; failure++) gates.note(passing, failure % 4 === 3 ? sign : down, 0);
      expect(gates.enter(passing, 0).kind).toBe("pass");
    }
  });
});

describe("an outbox behind gates", () => {
  test("more messages than a platform takes at once are sent as it takes them, and waiting is no try", async () => {
    const post = await openPost();
    const adapter = chatAdapter({ rate: { tokens: 1, perMs: MINUTE } });
    const outbox = post.outbox({ adapters: [adapter] });
    await post.ledger.putDeliveries([message("a", chat("1")), message("b", chat("1"))], START);
    outbox.start();
    await post.next("delivery-delivered");
    await post.next("delivery-retry");

    const waiting = [...(await post.rows()).values()].find(({ state }) => state === "queued");
    expect(waiting).toMatchObject({ attempts: 0, nextAttemptAt: START + MINUTE });
    expect(adapter.sent).toHaveLength(1);

    await post.clock.whenSleeping();
    await post.clock.advance(MINUTE + SECOND);
    await post.next("delivery-delivered");
    expect(adapter.sent).toHaveLength(2);
  });

  test("a platform that is down is left alone: the sixth message is not tried, and no try is counted for it", async () => {
    const post = await openPost();
    const adapter = chatAdapter({ send: () => Promise.resolve(down) });
    const outbox = post.outbox({ adapters: [adapter] });
    for (let number = 1; number <= 6; number++) {
      await post.ledger.putDeliveries([message(`m${number}`, chat(String(number)))], START);
      await outbox.drain(new AbortController().signal);
    }

    const rows = await post.rows();
    expect(rows.get("m5")).toMatchObject({ state: "queued", attempts: 1, error: "ECONNREFUSED" });
    expect(rows.get("m6")).toMatchObject({
      state: "queued",
      attempts: 0,
      error: "chat is down: ECONNREFUSED",
    });
  });

  test("what a dead sender left in doubt says nothing of its platform: the next message is sent", async () => {
    const post = await openPost();
    const adapter = chatAdapter();
    const rows = Array.from({ length: 6 }, (_, number) => message(`m${number}`, chat(String(number))));
    await post.ledger.putDeliveries(rows, START);
    await post.ledger.takeDeliveries({ nodeId: "dead", now: START, leaseMs: MINUTE, limit: 6 });
    await post.ledger.putDeliveries([message("new", chat("7"))], START);

    const outbox = post.outbox({ adapters: [adapter], deadNodes: () => ["dead"] });
    await outbox.drain(new AbortController().signal);

    const ended = await post.rows();
    for (const { key } of rows) expect(ended.get(key)).toMatchObject({ state: "unknown" });
    expect(ended.get("new")).toMatchObject({ state: "delivered" });
  });
});
