// One try of one row: choose the adapter, send within the time a lease allows, and never guess about a cut (O3).
//
// I1. An adapter that throws, or hangs beyond its abort, has told us nothing: what it may have sent counts as unknown.
// I2. Redaction is the last step before an adapter: a secret that became one since the row was made does not leave.
// I3. A file that its platform refuses, or that is gone, is named instead of sent: nothing arrived, so nothing is doubled.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { linkAbort, whenAborted } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Redact } from "../kernel/redact.ts";
import { type Clock, SECOND } from "../kernel/time.ts";
import type { Adapter, Delivery, SendRequest, SendResult } from "../records/delivery.ts";
import { MEDIA_LEASE_FACTOR } from "../records/ledger/outbox.ts";
import { formatBytes, type Media } from "../records/media.ts";
import { type AdapterTable, adapterFor, whyUnsendable } from "./adapter-table.ts";
import { keyDigest } from "./outbox-rows.ts";

/** Shorter than the lease, so that a closing follows while the row is still ours. */
export const SEND_TIMEOUT_MS = 40 * SECOND;

/** A file takes its time; its row's lease is as much longer (records/ledger/outbox.ts). */
const MEDIA_TIMEOUT_MS = SEND_TIMEOUT_MS * MEDIA_LEASE_FACTOR;

export interface TryDeps {
  adapters: AdapterTable;
  clock: Clock;
  /** The home's folder, which files are named from. */
  root: string;
  redact: Redact;
}

/** Sends a row that was never sent under this token. Never throws. */
export async function sendRow(deps: TryDeps, row: Delivery, signal: AbortSignal): Promise<SendResult> {
  const adapter = adapterFor(deps.adapters, row.target);
  const why = whyUnsendable(deps.adapters, row.target);
  if (!adapter || why !== undefined) return { kind: "refused", error: `notConfigured: ${why}` };
  const result = row.media
    ? await sendMedia(deps, adapter, { row, media: row.media }, signal)
    : await send(deps, adapter, requestOf(deps, row), signal);
  if (result.kind !== "unknown" || row.repeatability !== "probe") return result;
  return (await probeRow(deps, adapter, row, signal)) ?? result;
}

function send(
  { clock }: TryDeps,
  adapter: Adapter,
  request: SendRequest,
  signal: AbortSignal,
): Promise<SendResult> {
  return bounded({ clock, isMedia: request.media !== undefined }, signal, (limited) =>
    adapter.send(request, limited),
  );
}

/** (I3) A file that is refused is named instead. */
async function sendMedia(
  deps: TryDeps,
  adapter: Adapter,
  { row, media }: { row: Delivery; media: Media },
  signal: AbortSignal,
): Promise<SendResult> {
  const request = requestOf(deps, row);
  const path = join(deps.root, media.file);
  const why = await whyNotThere(path, media);
  const result: SendResult =
    why === undefined
      ? await send(deps, adapter, { ...request, media: { ...media, path } }, signal)
      : { kind: "refused", error: why };
  if (result.kind !== "refused") return result;
  const body = `Not sent: ${media.name} (${formatBytes(media.bytes)}): ${result.error}. It is kept on the node: ${media.file}.`;
  const named = await send(deps, adapter, { ...request, body: deps.redact(body) }, signal);
  if (named.kind !== "delivered") return named.kind === "refused" ? result : named;
  const note = [`the file was refused (${result.error}): named instead`, named.receipt.note];
  return { ...named, receipt: { ...named.receipt, note: note.filter(Boolean).join("; ") } };
}

async function whyNotThere(path: string, { bytes }: Media): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return "the file is gone";
  return found.size === bytes ? undefined : "the file has changed since";
}

/** Decides a row whose sender died between request and receipt (O3): send again, ask, or say `unknown`. Never throws. */
export async function recoverRow(deps: TryDeps, row: Delivery, signal: AbortSignal): Promise<SendResult> {
  const lost: SendResult = {
    kind: "unknown",
    error: "the sender ended between request and receipt; it may have arrived",
  };
  switch (row.repeatability) {
    case "idempotent":
      return sendRow(deps, row, signal);
    case "blind":
      return lost;
    case "probe": {
      const adapter = adapterFor(deps.adapters, row.target);
      const answer = adapter && (await probeRow(deps, adapter, row, signal));
      return answer ?? lost;
    }
  }
}

/** Asks the platform: `delivered` with its receipt, `retry` when it is absent, undefined when it cannot tell. */
async function probeRow(
  deps: TryDeps,
  adapter: Adapter,
  row: Delivery,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  const { probe } = adapter;
  if (!probe || signal.aborted) return undefined;
  let answer: Awaited<ReturnType<typeof probe>>;
  await bounded({ clock: deps.clock, isMedia: false }, signal, async (limited) => {
    answer = await probe.call(adapter, requestOf(deps, row), limited);
    return { kind: "unknown", error: "" };
  });
  if (answer === undefined) return undefined;
  if (answer === "absent") return { kind: "retry", error: "an earlier try did not arrive", afterMs: 0 };
  return { kind: "delivered", receipt: answer };
}

async function bounded(
  { clock, isMedia }: { clock: Clock; isMedia: boolean },
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<SendResult>,
): Promise<SendResult> {
  const limit = linkAbort(signal);
  const timer = new AbortController();
  const timeoutMs = isMedia ? MEDIA_TIMEOUT_MS : SEND_TIMEOUT_MS;
  const timing = clock.sleep(timeoutMs, timer.signal).then(
    () => limit.abort(new Error("the adapter took too long")),
    () => {},
  );
  const aborted = whenAborted(limit.signal);
  const cut = aborted.promise.then(
    (): SendResult => ({ kind: "unknown", error: messageOf(limit.signal.reason) }),
  );
  try {
    const sending = send(limit.signal);
    // An adapter that heeds its signal has the better answer ("nothing was sent"): it gets a turn to give it.
    return await Promise.race([sending, cut.then((answer) => Promise.race([sending, lastWord(answer)]))]);
  } catch (error) {
    return { kind: "unknown", error: messageOf(error) };
  } finally {
    aborted.release();
    timer.abort();
    limit.release();
    await timing;
  }
}

/** `answer`, a few turns of the event loop later. */
async function lastWord(answer: SendResult): Promise<SendResult> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return answer;
}

function requestOf({ redact }: TryDeps, row: Delivery): SendRequest {
  return {
    target: row.target,
    body: redact(row.body),
    idempotencyKey: keyDigest(row.key),
    kind: row.kind,
    jobId: row.jobId,
    runId: row.runId,
    createdAt: row.createdAt,
    attempt: row.attempts,
  };
}
