// Deliveries as people see them: list, show, retry, dismiss.

import { Fault } from "../kernel/errors.ts";
import type { DeliveryState } from "../records/delivery.ts";
import type { Context } from "./context.ts";
import { type DeliveryDocument, deliveryDocument } from "./documents.ts";

export interface DeliveryListInput {
  state?: readonly DeliveryState[];
  job?: string;
  run?: string;
  before?: string;
  /** Default 50. */
  limit?: number;
}

/** Newest first. */
export async function listDeliveries(
  context: Context,
  input: DeliveryListInput,
): Promise<DeliveryDocument[]> {
  const rows = await context.ledger.deliveries({
    ...(input.state && { state: input.state }),
    ...(input.job !== undefined && { jobId: input.job }),
    ...(input.run !== undefined && { runId: input.run }),
    ...(input.before !== undefined && { before: input.before }),
    limit: input.limit ?? 50,
  });
  return rows.map(deliveryDocument);
}

/** One row. Throws `input.not-found`. */
export async function showDelivery(context: Context, id: string): Promise<DeliveryDocument> {
  const delivery = await context.ledger.delivery(id);
  if (!delivery) throw noDelivery(id);
  return deliveryDocument(delivery);
}

/** Sends a dead or unknown row again, on a person's word. Throws `input.not-found`, `input.conflict`. */
export async function retryDelivery(context: Context, id: string): Promise<DeliveryDocument> {
  const delivery = await context.ledger.delivery(id);
  if (!delivery) throw noDelivery(id);
  const retried = await context.ledger.retryDelivery(delivery.id, await context.ledger.now());
  if (!retried) {
    throw new Fault(
      "input.conflict",
      `delivery ${delivery.id} is ${delivery.state}; only dead and unknown ones are sent again`,
      {
        hint: "See `nightshift delivery list --state dead,unknown`.",
      },
    );
  }
  return deliveryDocument(retried);
}

/** Lets a dead or unknown row rest, on a person's word. Throws `input.not-found`, `input.conflict`. */
export async function dismissDelivery(context: Context, id: string): Promise<DeliveryDocument> {
  const delivery = await context.ledger.delivery(id);
  if (!delivery) throw noDelivery(id);
  const now = await context.ledger.now();
  const was = delivery.error === undefined ? delivery.state : `${delivery.state}: ${delivery.error}`;
  const reason = `dismissed by ${context.actor} (${was})`.slice(0, 500);
  const dismissed = await context.ledger.dismissDelivery(delivery.id, { reason, now });
  if (dismissed) return deliveryDocument(dismissed);
  throw new Fault(
    "input.conflict",
    `delivery ${delivery.id} is ${delivery.state}; only dead and unknown ones are dismissed`,
    { hint: "See `nightshift delivery list --state dead,unknown`." },
  );
}

function noDelivery(id: string): Fault {
  return new Fault("input.not-found", `there is no delivery "${id}"`, {
    hint: "See `nightshift delivery list`.",
  });
}
