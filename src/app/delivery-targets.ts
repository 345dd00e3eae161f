// Targets as people see them: which platforms are usable, one line sent now, a text as its platform would get it.

import { adapterFor, whyUnsendable } from "../deliver/adapter-table.ts";
import { type RowContext, rowsOf } from "../deliver/outbox-rows.ts";
import { requireRoute, route } from "../deliver/route.ts";
import { displayTarget } from "../deliver/targets.ts";
import { sendRow } from "../deliver/try-row.ts";
import { makeId } from "../kernel/ids.ts";
import { formatInstant } from "../kernel/time.ts";
import type { Delivery, NewDelivery, SendResult } from "../records/delivery.ts";
import type { Context } from "./context.ts";

export interface PlatformDocument {
  platform: string;
  isUsable: boolean;
  /** Why not, or null. */
  why: string | null;
  home: string | null;
  address: string | null;
  repeatability: string;
  /** In the platform's own unit; null = no limit. */
  maxLength: number | null;
}

/** Every platform of this version, usable ones first. */
export function listTargets(context: Context): PlatformDocument[] {
  const { homes } = context.routeFor(undefined);
  const documents = [...context.platforms.values()].map((adapter): PlatformDocument => {
    const home = homes.get(adapter.platform);
    const why = adapter.unusable() ?? (home && whyUnsendable(context.platforms, home));
    return {
      platform: adapter.platform,
      isUsable: why === undefined,
      why: why ?? null,
      home: home ? displayTarget(home) : null,
      address: adapter.hasNoAddress ? null : (adapter.addressForm ?? "<chat>[:<thread>]"),
      repeatability: adapter.repeatability,
      maxLength: Number.isFinite(adapter.maxLength) ? adapter.maxLength : null,
    };
  });
  return documents.sort(
    (a, b) => Number(b.isUsable) - Number(a.isUsable) || a.platform.localeCompare(b.platform),
  );
}

export interface TestDocument {
  target: string;
  result: SendResult["kind"];
  receipt: { id: string | null; status: number | null; at: string; note: string | null } | null;
  error: string | null;
}

/** Sends one line to each address the target leads to, past the outbox. Throws `target.*` for one that leads nowhere. */
export async function testTarget(
  context: Context,
  target: string,
  signal: AbortSignal,
): Promise<TestDocument[]> {
  const text = `Nightshift: a test of ${target}, sent ${formatInstant(context.clock.now())}. Nothing is wrong.`;
  const rows = rowsFor(context, target, text);
  const documents: TestDocument[] = [];
  for (const row of rows) {
    const result = await sendRow(
      {
        adapters: context.platforms,
        clock: context.clock,
        root: context.home.paths.root,
        redact: context.redact,
      },
      row,
      signal,
    );
    const receipt = result.kind === "delivered" ? result.receipt : undefined;
    documents.push({
      target: displayTarget(row.target),
      result: result.kind,
      receipt: receipt
        ? {
            id: receipt.id ?? null,
            status: receipt.status ?? null,
            at: formatInstant(receipt.at),
            note: receipt.note ?? null,
          }
        : null,
      error: "error" in result ? context.redact(result.error) : null,
    });
  }
  return documents;
}

export interface RenderDocument {
  target: string;
  part: number;
  body: string;
  /** What goes over the wire, where that is more than the body. */
  sent: unknown;
}

/** The rows a text would become, and what each adapter would make of them. Throws `target.*`. */
export function renderFor(context: Context, target: string, text: string): RenderDocument[] {
  return rowsFor(context, target, text).map((row) => {
    const { target: address, part, body } = row;
    const adapter = adapterFor(context.platforms, address);
    const request = { ...row, media: undefined, idempotencyKey: "0".repeat(40), attempt: 1 };
    return {
      target: displayTarget(address),
      part: part + 1,
      body,
      sent: adapter?.preview?.(request) ?? body,
    };
  });
}

function rowsFor(context: Context, target: string, text: string): Delivery[] {
  const rows: RowContext = context.rowsFor(undefined);
  const selectors = context.parseTargets([target]);
  requireRoute(selectors, rows.route);
  const subject = `test/${makeId(context.clock.now(), context.random)}`;
  const message = { subject, kind: "result", runId: undefined, jobId: undefined, selectors, text } as const;
  const wanted = new Set(route(selectors, rows.route).targets.map((one) => one.text));
  return rowsOf(message, rows)
    .filter((row) => wanted.has(row.target.text))
    .map((row, index) => asRow(context, row, index));
}

function asRow(context: Context, row: NewDelivery, index: number): Delivery {
  const now = context.clock.now();
  return {
    ...row,
    id: makeId(now, context.random),
    state: "sending",
    attempts: 1,
    sequence: index + 1,
    createdAt: now,
    nextAttemptAt: now,
    finishedAt: undefined,
    receipt: undefined,
    error: undefined,
    owner: undefined,
    token: 1,
  };
}
