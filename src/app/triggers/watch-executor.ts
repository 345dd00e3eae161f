// An executor that is asked again and again what there is (W7): each thing that it tells of is an event.
//
// I1. A question is a run like any other, one an interval whoever asks: all nodes put the same key. What it costs, how long
//     it took and why it failed stand in the ledger.
// I2. Every node tells the events of an answer, also of the last one before its own start: their keys make them one.
// I3. Nothing is asked for intervals that have passed: what there is now is what counts.

import { createHash } from "node:crypto";
import { isFault, messageOf } from "../../kernel/errors.ts";
import type { Run } from "../../records/run.ts";
import type { JobTrigger } from "../../records/trigger.ts";
import type { Context } from "../context.ts";
import { fireEvent } from "../fire-event.ts";
import { untilStored } from "../until-stored.ts";
import { waitForEnd } from "../wait-for-end.ts";
import { submitTask } from "../workflows/submit.ts";

export type ExecutorTrigger = Extract<JobTrigger, { executor: string }>;

/** Among so many of the newest runs the last answer is looked for at a start. */
const LOOKED_BACK = 500;

export class ExecutorWatch {
  readonly #context: Context;
  readonly #trigger: ExecutorTrigger;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(context: Context, trigger: ExecutorTrigger) {
    this.#context = context;
    this.#trigger = trigger;
  }

  /** Idempotent, as is `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    await this.#turn(async () => {
      const last = await this.#lastAnswer();
      if (last) await this.#tell(last);
    });
    while (!signal.aborted) {
      await this.#turn(async () => {
        const answer = await this.#ask();
        if (answer) await this.#tell(answer);
        if (answer && answer.state !== "succeeded")
          this.#context.log.warn("executor-watch-failed", {
            ...{ trigger: this.#trigger.name, runId: answer.id, state: answer.state },
          });
      });
      await this.#untilNext().catch(() => {});
    }
  }

  /** Never rejects: the next interval is another try. */
  async #turn(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const { name } = this.#trigger;
      this.#context.log.warn("executor-not-watched", { trigger: name, error: messageOf(error) });
    }
  }

  /** (I1) Undefined when the node stops before the answer. */
  async #ask(): Promise<Run | undefined> {
    const { executor, params, everyMs } = this.#trigger;
    const context = this.#context;
    const now = await context.ledger.now();
    const task = {
      executor,
      params: { ...params },
      deliver: [],
      dedupeKey: this.#key(Math.floor(now / everyMs)),
    };
    const { id } = await submitTask({ context, executors: context.executors }, task);
    await context.ledger.wakeOthers();
    return waitForEnd(context, id, { atMostMs: Number.POSITIVE_INFINITY, signal: this.#stop.signal });
  }

  async #untilNext(): Promise<void> {
    const { everyMs } = this.#trigger;
    const { clock, ledger } = this.#context;
    await clock.sleep(everyMs - ((await ledger.now()) % everyMs), this.#stop.signal);
  }

  /** (I2) */
  async #lastAnswer(): Promise<Run | undefined> {
    const runs = await this.#context.ledger.runs({ rootsOnly: true, limit: LOOKED_BACK });
    const prefix = this.#key("");
    return runs.find(({ dedupeKey, state }) => dedupeKey.startsWith(prefix) && state === "succeeded");
  }

  async #tell({ outcome }: Run): Promise<void> {
    if (outcome?.state !== "succeeded") return;
    const { kind, name } = this.#trigger;
    for (const { key, data } of eventsIn(outcome.result)) {
      const event = { trigger: { kind, name }, key, data, contentType: "application/json" };
      try {
        await untilStored(
          this.#context,
          "record an event",
          () => fireEvent(this.#context, event),
          this.#stop.signal,
        );
      } catch (error) {
        if (!isFault(error) || error.retry === "later") throw error;
        this.#context.log.warn("event-not-told", { trigger: name, key, error: error.message });
      }
    }
  }

  #key(interval: number | ""): string {
    return `watch/${this.#trigger.name}/${interval}`;
  }
}

/**
 * What an answer tells of: each item of a list, or the answer itself; nothing, `false`, `null` and an empty list tell of
 * nothing. An event's key is its own `key`, else its content: the same content is the same event then.
 */
export function eventsIn(result: unknown): { key: string; data: string }[] {
  const items = Array.isArray(result) ? result : [result];
  return items
    .filter((item) => item !== undefined && item !== null && item !== false)
    .map((item) => {
      const data = JSON.stringify(item);
      const own = typeof item === "object" && "key" in item ? item.key : undefined;
      const isNamed = (typeof own === "string" && own !== "") || typeof own === "number";
      return {
        data,
        key: isNamed ? String(own) : `content:${createHash("sha256").update(data).digest("hex")}`,
      };
    });
}
