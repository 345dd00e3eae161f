// `delivery list | show | retry | dismiss`.

import { dismissDelivery, listDeliveries, retryDelivery, showDelivery } from "../app/deliveries.ts";
import type { DeliveryDocument } from "../app/documents.ts";
import { DELIVERY_STATES } from "../records/delivery.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { firstLine } from "./format.ts";
import { print, table } from "./io.ts";
import { idOption, numberOption, textOption, wordsOption } from "./options.ts";

export const list: RunCommand = async ({ options, io, open }) => {
  const limit = numberOption(options, "limit", { min: 1, max: 1_000 });
  const state = wordsOption(options, "state", DELIVERY_STATES);
  const before = idOption(options, "before");
  const run = textOption(options, "run");
  const job = textOption(options, "job");
  const context = await open();
  const rows = await listDeliveries(context, {
    ...(state && { state }),
    ...(job !== undefined && { job: (await context.findJob(job)).definition.jobId }),
    ...(run !== undefined && { run }),
    ...(before !== undefined && { before }),
    ...(limit !== undefined && { limit }),
  });
  print(io, rows, () => (rows.length === 0 ? "No deliveries." : table(HEADER, rows.map(row))));
  return EXIT.ok;
};

const HEADER = ["DELIVERY", "KIND", "JOB", "TARGET", "STATE", "TRIES", "TEXT"];

function row(delivery: DeliveryDocument): string[] {
  const state = delivery.error ? `${delivery.state} (${firstLine(delivery.error)})` : delivery.state;
  return [
    delivery.id,
    delivery.kind,
    delivery.jobId ?? "–",
    delivery.target,
    state,
    String(delivery.attempts),
    firstLine(delivery.body),
  ];
}

export const show: RunCommand = async ({ args: [id = ""], io, open }) => {
  const delivery = await showDelivery(await open(), id);
  print(io, delivery, () => deliveryText(delivery));
  return delivery.state === "unknown" ? EXIT.unknown : EXIT.ok;
};

function deliveryText(delivery: DeliveryDocument): string {
  const { receipt } = delivery;
  const lines: [string, string | null][] = [
    ["delivery", delivery.id],
    ["kind", delivery.kind],
    ["target", delivery.target],
    [
      "file",
      delivery.media && `${delivery.media.name}, ${delivery.media.bytes} bytes, ${delivery.media.file}`,
    ],
    ["state", delivery.state],
    ["tries", String(delivery.attempts)],
    ["job", delivery.jobId],
    ["run", delivery.runId],
    ["created", delivery.createdAt],
    ["next try", delivery.nextAttemptAt],
    ["finished", delivery.finishedAt],
    [
      "receipt",
      receipt && [receipt.id, receipt.status, receipt.note].filter((part) => part !== null).join(" "),
    ],
    ["error", delivery.error],
  ];
  const known = lines.filter((line): line is [string, string] => line[1] !== null && line[1] !== "");
  return [...known.map(([name, value]) => `${name.padEnd(9)} ${value}`), "", delivery.body].join("\n");
}

export const retry: RunCommand = async ({ args: [id = ""], io, open }) => {
  const delivery = await retryDelivery(await open(), id);
  print(io, delivery, () => `Delivery ${delivery.id} is queued again for ${delivery.target}.`);
  return EXIT.ok;
};

export const dismiss: RunCommand = async ({ args: [id = ""], io, open }) => {
  const delivery = await dismissDelivery(await open(), id);
  print(io, delivery, () => `Delivery ${delivery.id} is dismissed.`);
  return EXIT.ok;
};
