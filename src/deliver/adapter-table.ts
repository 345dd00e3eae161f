// The adapters by platform. Everything in this room looks an adapter up here and nowhere else.

import type { Adapter, Target } from "../records/delivery.ts";

/** One adapter per platform name. */
export type AdapterTable = ReadonlyMap<string, Adapter>;

/** A table of these adapters; a later one replaces an earlier one of the same platform. */
export function adapterTable(adapters: readonly Adapter[]): AdapterTable {
  return new Map(adapters.map((adapter) => [adapter.platform, adapter]));
}

/** What sends to this target: another home's outbox for `profile:…`, else its platform's adapter (O5). */
export function adapterFor(adapters: AdapterTable, target: Target): Adapter | undefined {
  return adapters.get(target.profile === undefined ? target.platform : "profile");
}

/** Why nothing can be sent to this target here, in one sentence; undefined when it can be tried. */
export function whyUnsendable(adapters: AdapterTable, target: Target): string | undefined {
  const adapter = adapterFor(adapters, target);
  if (!adapter) return `there is no adapter for "${target.platform}"`;
  return adapter.unusable() ?? adapter.refuses?.(target);
}
