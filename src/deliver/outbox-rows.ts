// One message → its outbox rows: routed, redacted, split, keyed. Pure.
//
// I1. A key is made of what the message is about, its kind, its target and its part (O1): the same message is put once.
// I2. Redaction comes before splitting, or a secret could hide on the seam.

import { createHash } from "node:crypto";
import type { Redact } from "../kernel/redact.ts";
import type { DeliveryKind, NewDelivery, Target, TargetSelector } from "../records/delivery.ts";
import { adapterFor } from "./adapter-table.ts";
import { type Route, type RouteContext, route, type Unresolved } from "./route.ts";
import { splitMessage } from "./split.ts";

export interface Message {
  /** What it is about: a run's dedupeKey, or a digest's own. */
  subject: string;
  kind: DeliveryKind;
  runId: string | undefined;
  jobId: string | undefined;
  selectors: readonly TargetSelector[];
  text: string;
}

export interface RowContext {
  route: RouteContext;
  /** Applied to every body (law 7). */
  redact: Redact;
}

/** The rows of a message, in sending order; unresolved targets become rows that are dead from birth, with the reason (O4). */
export function rowsOf(message: Message, context: RowContext): NewDelivery[] {
  return routedRows(message, route(message.selectors, context.route), context);
}

/** The rows of a message whose route is known already (digests group by target before they write). */
export function routedRows(
  message: Omit<Message, "selectors">,
  { targets, unresolved }: Route,
  context: RowContext,
): NewDelivery[] {
  const text = context.redact(message.text);
  // An empty message would be "delivered" as nothing: fail closed.
  if (text.trim() === "") return [];
  return [
    ...targets.flatMap((target) => liveRows(message, { target, text }, context)),
    ...unresolved.map((entry) => deadRow(message, entry, text)),
  ];
}

/** The unique key of one part (O1). */
export function deliveryKey(subject: string, kind: DeliveryKind, target: Target, part: number): string {
  return `${subject}|${kind}|${target.text}|${part}`;
}

/** What a platform sees as idempotency key: stable over tries, free of names and addresses. */
export function keyDigest(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 40);
}

function liveRows(
  message: Omit<Message, "selectors">,
  { target, text }: { target: Target; text: string },
  context: RowContext,
): NewDelivery[] {
  const adapter = adapterFor(context.route.adapters, target);
  if (!adapter) return [];
  return splitMessage(text, { maxLength: adapter.maxLength }).map((body, part) => ({
    key: deliveryKey(message.subject, message.kind, target, part),
    runId: message.runId,
    jobId: message.jobId,
    kind: message.kind,
    target,
    part,
    body,
    repeatability: adapter.repeatability,
    state: "queued",
  }));
}

function deadRow(
  message: Omit<Message, "selectors">,
  { target, reason, message: why }: Unresolved,
  body: string,
): NewDelivery {
  return {
    key: deliveryKey(message.subject, message.kind, target, 0),
    runId: message.runId,
    jobId: message.jobId,
    kind: message.kind,
    target,
    part: 0,
    body,
    repeatability: "blind",
    state: "dead",
    error: `${reason}: ${why}`,
  };
}
