// Mirrors: a labelled copy of every result at one more place, for whoever watches over all jobs. Pure.
//
// I1. A place that got the result itself gets no copy of it.
// I2. A copy says that it is one, of which job, and where the result went.

import { Fault } from "../kernel/errors.ts";
import type { NewDelivery, TargetSelector } from "../records/delivery.ts";
import type { TargetDocument } from "../records/job.ts";
import type { AdapterTable } from "./adapter-table.ts";
import { type Message, type RowContext, routedRows } from "./outbox-rows.ts";
import { route } from "./route.ts";
import { displayTarget, parseTargets } from "./targets.ts";

/** `deliver.mirror` of the configuration. Throws `target.*`, and `config.invalid` for words that have no meaning here. */
export function parseMirror(documents: readonly TargetDocument[], platforms: AdapterTable): TargetSelector[] {
  const selectors = parseTargets(documents, platforms);
  const word = selectors.find(({ kind }) => kind === "all" || kind === "origin");
  if (!word) return selectors;
  throw new Fault(
    "config.invalid",
    `deliver.mirror cannot be "${word.kind}": a copy goes to places by name`,
    {
      hint: "Name the targets in deliver.mirror, for instance telegram:-1001.",
    },
  );
}

/** The copies of a result that became `results`. */
export function mirrorRows(
  message: Omit<Message, "selectors" | "kind"> & { title: string },
  results: readonly NewDelivery[],
  context: RowContext,
): NewDelivery[] {
  if (!context.mirror?.length || results.length === 0) return [];
  const reached = new Map(results.map(({ target }) => [target.text, displayTarget(target)]));
  const { targets, unresolved } = route(context.mirror, context.route);
  const others = { targets: targets.filter(({ text }) => !reached.has(text)), unresolved };
  const { title, ...copied } = message;
  const text = `[Copy: the result of ${title}, sent to ${[...reached.values()].join(", ")}]\n\n${message.text}`;
  return routedRows({ ...copied, kind: "mirror", text }, others, context);
}
