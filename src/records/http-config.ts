// `http:` in config.yaml: the address, who may schedule, and the webhooks that come in.

import * as z from "zod/mini";
import { secretReference, text, triggerName } from "./job-schema.ts";

/** How a webhook that comes in proves who sent it. */
export type HookSignature =
  /** Standard Webhooks. */
  | "standard"
  /** `X-Hub-Signature-256` and `X-GitHub-Delivery`. */
  | "github"
  /** HMAC-SHA256 of the body in a header; `keyHeader` names the one that tells events apart. Default: hex, no prefix. */
  | {
      header: string;
      prefix?: string | undefined;
      encoding?: "hex" | "base64" | undefined;
      keyHeader?: string | undefined;
    };

export interface Hook {
  /** A reference; resolved when used. */
  secret: string;
  signature: HookSignature;
}

export interface HttpConfig {
  port: number;
  bind: string;
  allowRunsToSchedule: boolean;
  /** Webhooks that come in, by the name in their path. */
  hooks: Readonly<Record<string, Hook>>;
  /** Other machines that may have tasks done here, by name, beside whoever holds the home's token (S5). */
  nodes: Readonly<Record<string, NodeAccess>>;
}

export interface NodeAccess {
  /** A reference; resolved when used. */
  token: string;
  /** What it may call. Undefined = everything but `shell_exec`. */
  executors: readonly string[] | undefined;
}

const hookSignature = () =>
  z.union([
    z.enum(["standard", "github"]),
    z.strictObject({
      header: text(),
      prefix: z.optional(z.string()),
      encoding: z.optional(z.enum(["hex", "base64"])),
      keyHeader: z.optional(text()),
    }),
  ]);

const hook = () => z.strictObject({ secret: secretReference(), signature: z.optional(hookSignature()) });

const nodeAccess = () => z.strictObject({ token: secretReference(), executors: z.optional(z.array(text())) });

/** What a person may write. */
export const httpSchema = () =>
  z.strictObject({
    port: z.optional(z.int().check(z.gte(0), z.lte(65_535))),
    bind: z.optional(text()),
    allowRunsToSchedule: z.optional(z.boolean()),
    hooks: z.optional(z.record(triggerName, hook())),
    nodes: z.optional(z.record(triggerName, nodeAccess())),
  });

/** With every default filled in. */
export function httpOf(input: z.infer<ReturnType<typeof httpSchema>> | undefined): HttpConfig {
  const {
    port = 4747,
    bind = "127.0.0.1",
    allowRunsToSchedule = false,
    hooks = {},
    nodes = {},
  } = input ?? {};
  const named = Object.entries(hooks).map(([name, { secret, signature = "standard" }]) => [
    name,
    { secret, signature },
  ]);
  const others = Object.entries(nodes).map(([name, { token, executors }]) => [name, { token, executors }]);
  return {
    ...{ port, bind, allowRunsToSchedule },
    hooks: Object.fromEntries(named),
    nodes: Object.fromEntries(others),
  };
}
