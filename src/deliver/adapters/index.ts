// The table of adapters: one line each. A new platform is one file here and one line below.

import type { Clock } from "../../kernel/time.ts";
import { type AdapterTable, adapterTable } from "../adapter-table.ts";
import { ADDRESS_ONLY_ADAPTERS } from "./address-only.ts";
import { type LocalOptions, makeLocalAdapter } from "./local.ts";
import { makeProfileAdapter, type ProfileOptions } from "./profile.ts";
import { makeStdoutAdapter, type StdoutOptions } from "./stdout.ts";
import { makeWebhookAdapter, type WebhookOptions } from "./webhook.ts";

export interface AdapterOptions {
  clock: Clock;
  local: Omit<LocalOptions, "clock">;
  /** Default: this process gives no standard output. */
  stdout?: Omit<StdoutOptions, "clock">;
  /** Default: no named webhooks, no secret, no private address. */
  webhook?: Omit<WebhookOptions, "clock">;
  /** Default: other homes are out of reach. */
  profile?: Omit<ProfileOptions, "clock">;
}

/** Every adapter of this version. Throws `config.invalid` for settings that could never work (a malformed secret). */
export function makeAdapters({ clock, ...options }: AdapterOptions): AdapterTable {
  return adapterTable([
    ...ADDRESS_ONLY_ADAPTERS,
    makeLocalAdapter({ clock, ...options.local }),
    makeStdoutAdapter({ clock, write: undefined, ...options.stdout }),
    makeWebhookAdapter({ clock, ...options.webhook }),
    makeProfileAdapter({ clock, handOver: undefined, ...options.profile }),
  ]);
}
