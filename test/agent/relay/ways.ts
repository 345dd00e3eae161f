// The ways a call can go to a model: bare, watched, watched by something broken, recorded, played from a tape.

import { open } from "node:fs/promises";
import { openCassette } from "../../../src/agent/relay/open-cassette.ts";
import { recordCassette } from "../../../src/agent/relay/record-cassette.ts";
import { makeRelay, type Relay, type RelayDeps } from "../../../src/agent/relay/relay.ts";
import type { CallModel, ModelCallRecord } from "../../../src/records/model.ts";
import type { manualClock } from "../../support/clock.ts";

type TestClock = ReturnType<typeof manualClock>;

export interface Watched extends Relay {
  records: ModelCallRecord[];
  reports: unknown[];
}

/** A relay over `inner` whose sink keeps records, or does what `sink` says. */
export function watch(inner: CallModel, clock: TestClock, sink?: RelayDeps["sink"]): Watched {
  const records: ModelCallRecord[] = [];
  const reports: unknown[] = [];
  let ids = 0;
  const relay = makeRelay(inner, {
    runId: "run-1",
    rootId: "root-1",
    clock,
    newId: () => `call-${++ids}`,
    sink: sink ?? ((record) => void records.push(record)),
    report: (error) => reports.push(error),
  });
  return { ...relay, records, reports };
}

/** A recorder that keeps its tape in memory. */
export function tape(inner: CallModel, clock: TestClock, write?: (line: string) => void | Promise<void>) {
  const lines: string[] = [];
  const reports: unknown[] = [];
  const recorder = recordCassette(inner, {
    runId: "run-1",
    clock,
    redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    write: write ?? ((line) => void lines.push(line)),
    report: (error) => reports.push(error),
  });
  return { ...recorder, lines, reports, text: () => lines.join("") };
}

export const play = (text: string, more: Partial<Parameters<typeof openCassette>[1]> = {}) =>
  openCassette(text, { redact: (line) => line.replaceAll("hunter2", "[redacted]"), ...more });

/** Writes to a device that is always full: the kernel's own ENOSPC. */
export async function writeToFullDisk(text: string): Promise<void> {
  const file = await open("/dev/full", "w");
  try {
    await file.write(text);
  } finally {
    await file.close();
  }
}
