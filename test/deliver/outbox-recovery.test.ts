// What a crash, a stopped process or a locked store does to a message: on the real ledger, with a hand-driven clock.

import { describe, expect, test } from "vitest";
import { SECOND } from "../../src/kernel/time.ts";
import type { Adapter } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { openSqliteDatabase } from "../../src/store/sql/sqlite-driver.ts";
import { chat, chatAdapter, START } from "./fixtures.ts";
import { gate, message, openPost } from "./outbox-ledger.ts";

const never = new AbortController().signal;

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
    expect((await post.rows()).get("a")).toMatchObject({ state: "delivered", attempts: 2 });
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
