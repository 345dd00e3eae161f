// One message → its outbox rows: routed, redacted, split, keyed. Pure.
//
// I1. A key is made of what the message is about, its kind, its target and its part (O1): the same message is put once.
// I2. Redaction comes before splitting, or a secret could hide on the seam.
// I3. A message that had to be cut is kept whole in `local`, and says where; so is a file that a target does not take.
// I4. The text comes first, each file is a row of its own behind it: a file that fails takes nothing from the text.

import { createHash } from "node:crypto";
import type { Redact } from "../kernel/redact.ts";
import type { DeliveryKind, NewDelivery, Target, TargetSelector } from "../records/delivery.ts";
import type { AlertLimits } from "../records/incident.ts";
import type { OutcomeMedia } from "../records/media.ts";
import { adapterFor } from "./adapter-table.ts";
import type { Frame } from "./frame.ts";
import { planMedia } from "./media-plan.ts";
import { LOCAL, type Route, type RouteContext, route, type Unresolved } from "./route.ts";
import { splitParts } from "./split.ts";

export interface Message {
  /** What it is about: a run's dedupeKey, or a digest's own. */
  subject: string;
  kind: DeliveryKind;
  runId: string | undefined;
  jobId: string | undefined;
  selectors: readonly TargetSelector[];
  text: string;
  /** Files that go out with it. */
  media?: OutcomeMedia | undefined;
  /** Stands around the text where people read it. */
  frame?: Frame | undefined;
}

export interface RowContext {
  route: RouteContext;
  /** Applied to every body (law 7). */
  redact: Redact;
  /** Where a labelled copy of every result goes. Default: nowhere. */
  mirror?: readonly TargetSelector[];
  /** Default: incidents.ts. */
  alerts?: AlertLimits;
  /** Around every result. Default: nothing. */
  frame?: Frame;
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
  const { kept = [], refused = [] } = message.media ?? {};
  // An empty message would be "delivered" as nothing: fail closed.
  if (text.trim() === "" && kept.length + refused.length === 0) return [];
  const live = targets.map((target) => liveRows(message, { target, text }, context));
  const isMissing = live.some(({ isCut, needsLocal }) => isCut || needsLocal);
  const needsWhole = isMissing && !targets.some(({ text: address }) => address === LOCAL.text);
  const whole = needsWhole ? liveRows(message, { target: LOCAL, text }, context).rows : [];
  return [
    ...live.flatMap(({ rows }) => rows),
    ...whole,
    ...unresolved.map((entry) => deadRow(message, entry, text || kept.map(({ name }) => name).join("\n"))),
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
): { rows: NewDelivery[]; isCut: boolean; needsLocal: boolean } {
  const adapter = adapterFor(context.route.adapters, target);
  if (!adapter) return { rows: [], isCut: false, needsLocal: false };
  const { sent, notes, needsLocal } = planMedia(adapter, target, message.media);
  const { header = "", footer = "" } =
    text.trim() === "" || adapter.isForPrograms ? {} : (message.frame ?? {});
  const pieces = [context.redact(header), text, context.redact(notes.join("\n")), context.redact(footer)];
  const said = pieces.filter((piece) => piece.trim() !== "").join("\n\n");
  const parts = splitParts(said, {
    maxLength: adapter.maxLength,
    lengthOf: adapter.lengthOf && ((body) => adapter.lengthOf?.(body) ?? body.length),
    cutNote: cutNote(message),
  });
  const isCut = parts.reduce((length, { slice }) => length + slice.length, 0) < said.length;
  const contents = [
    ...parts.map(({ body }) => ({ body })),
    ...sent.map((media) => ({ body: context.redact(media.caption ?? media.name), media })),
  ];
  const rows = contents.map(
    (content, part): NewDelivery => ({
      key: deliveryKey(message.subject, message.kind, target, part),
      runId: message.runId,
      jobId: message.jobId,
      kind: message.kind,
      target,
      part,
      ...content,
      repeatability: adapter.repeatability,
      state: "queued",
    }),
  );
  return { rows, isCut, needsLocal };
}

function cutNote({ runId }: Omit<Message, "selectors">): string {
  const look = runId === undefined ? "" : ` (nightshift run show ${runId})`;
  return `[cut: the whole text is kept on the node, in local${look}]`;
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
