// A home with a node and jobs that wait for events; and what became of the events.

import { onTestFinished } from "vitest";
import type { Context } from "../../../src/app/context.ts";
import { addJob } from "../../../src/app/jobs.ts";
import { startNode } from "../../../src/app/node.ts";
import type { NightshiftNode } from "../../../src/app/node-options.ts";
import type { OpenOptions } from "../../../src/app/open-context.ts";
import { waitForChange } from "../../../src/app/wait-for-change.ts";
import type { TriggerDocument } from "../../../src/records/trigger.ts";
import { testContext, writeScript } from "../../support/home.ts";

export interface TriggerHome {
  context: Context;
  node(): Promise<NightshiftNode>;
  /** A job whose output is the event that set it off. */
  job(id: string, on: TriggerDocument): Promise<void>;
  /** The events that its runs were told of, oldest first, as soon as there are so many. */
  told(job: string, count: number): Promise<Told[]>;
  said(event: string): Promise<Record<string, unknown>>;
}

interface Told {
  trigger: { kind: string; name: string };
  key: string;
  contentType: string | null;
  headers: Record<string, string>;
  data: unknown;
}

export async function triggerHome(options: Partial<OpenOptions> = {}): Promise<TriggerHome> {
  const lines: { event: string; fields: Record<string, unknown> }[] = [];
  let heard = () => {};
  const context = await testContext({
    ...options,
    logSink(_, event, fields) {
      lines.push({ event, fields });
      heard();
    },
  });
  await writeScript(context, "told.sh", '#!/bin/sh\ncat "$NIGHTSHIFT_EVENT_FILE"\n');
  const runs = async (jobId: string) =>
    (await context.ledger.runs({ jobId, limit: 100 })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    context,
    async node() {
      const node = await startNode({ context });
      onTestFinished(() => node.stop({ graceMs: 0 }));
      return node;
    },
    async job(id, on) {
      await addJob(context, { id, on: [on], run: { script: "told.sh" }, overlap: "allow", deliver: [] });
    },
    async told(job, count) {
      const signal = AbortSignal.timeout(10_000);
      for (;;) {
        const found = await runs(job);
        if (found.length >= count && found.every(({ finishedAt }) => finishedAt !== undefined))
          return found.map(({ outcome }) =>
            JSON.parse(outcome?.state === "succeeded" ? outcome.output : "{}"),
          );
        signal.throwIfAborted();
        await waitForChange(context, { atMostMs: 50, signal });
      }
    },
    async said(event) {
      for (;;) {
        const line = lines.find((one) => one.event === event);
        if (line) return line.fields;
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
  };
}
