// The real ledger on a real SQLite file, and an outbox on it whose steps a test can wait for.

import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { adapterTable } from "../../src/deliver/adapter-table.ts";
import { Outbox, type OutboxDeps } from "../../src/deliver/outbox.ts";
import { makeLog } from "../../src/kernel/log.ts";
import type { Adapter, Delivery, NewDelivery, Target } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { openLedger } from "../../src/store/sql/open-ledger.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { seededRandom } from "../support/random.ts";
import { tempFolder } from "../support/temp.ts";
import { redact, START } from "./fixtures.ts";

export interface Post {
  ledger: OutboxLedger;
  file: string;
  clock: ManualClock;
  /** Rows by key. */
  rows(): Promise<Map<string, Delivery>>;
  /** An outbox of this node; stopped when the test ends. */
  outbox(deps: Partial<Omit<OutboxDeps, "adapters">> & { adapters: readonly Adapter[] }): Outbox;
  /** Resolves at the next log line of this name (`delivery-delivered`, …), counted from the last call's hit. */
  next(event: string): Promise<void>;
}

export async function openPost(): Promise<Post> {
  const clock = manualClock(START);
  const random = seededRandom(7);
  const file = join(await tempFolder(), "ledger.db");
  const host = { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" };
  const ledger = await openLedger({ url: `sqlite:${file}`, clock, random, host });
  onTestFinished(() => ledger.close());
  const seen = new Map<string, number>();
  const waiting: { event: string; resolve: () => void }[] = [];
  const log = makeLog((_level, event) => {
    const at = waiting.findIndex((waiter) => waiter.event === event);
    if (at >= 0) waiting.splice(at, 1)[0]?.resolve();
    else seen.set(event, (seen.get(event) ?? 0) + 1);
  }, "debug");

  return {
    ledger,
    file,
    clock,
    async rows() {
      const rows = await ledger.deliveries({ limit: 1_000 });
      return new Map(rows.map((row) => [row.key, row]));
    },
    outbox({ adapters, ...deps }) {
      const table = adapterTable(adapters);
      const outbox = new Outbox({
        ledger,
        clock,
        random,
        log,
        nodeId: "node-1",
        root: dirname(file),
        redact,
        ...deps,
        adapters: table,
      });
      onTestFinished(async () => {
        const stopping = outbox.stop(0);
        await clock.advance(60_000);
        await stopping;
      });
      return outbox;
    },
    next(event) {
      const count = seen.get(event) ?? 0;
      if (count > 0) {
        seen.set(event, count - 1);
        return Promise.resolve();
      }
      return new Promise((resolve) => void waiting.push({ event, resolve }));
    },
  };
}

/** A message for the outbox; the key is its name. */
export function message(key: string, target: Target, changes: Partial<NewDelivery> = {}): NewDelivery {
  return {
    key,
    runId: undefined,
    jobId: "disk-watch",
    kind: "result",
    target,
    part: 0,
    body: key,
    repeatability: "blind",
    state: "queued",
    ...changes,
  };
}

/** A promise and its resolver. */
export function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
