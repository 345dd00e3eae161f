// `profile:NAME/<target>`: hands a message over to another home's outbox, which resolves and sends it (O5).

import { messageOf } from "../../kernel/errors.ts";
import type { Clock } from "../../kernel/time.ts";
import type { Adapter, SendRequest } from "../../records/delivery.ts";

/** Puts the message into that home's outbox under a key made of `idempotencyKey`; `noProfile` = there is no such home. */
export type HandOver = (
  handed: { profile: string; target: string; request: SendRequest },
  signal: AbortSignal,
) => Promise<"put" | "noProfile">;

export interface ProfileOptions {
  clock: Clock;
  handOver: HandOver | undefined;
}

export function makeProfileAdapter({ clock, handOver }: ProfileOptions): Adapter {
  return {
    platform: "profile",
    repeatability: "idempotent",
    maxLength: Number.POSITIVE_INFINITY,
    isForPrograms: true,
    addressForm: "NAME/<target>",
    mediaLimits: () => ({ maxBytes: Number.POSITIVE_INFINITY }),
    parseAddress: () => undefined,
    unusable: () => (handOver ? undefined : "this node cannot reach other homes"),
    async send(request, signal) {
      const { profile, text } = request.target;
      if (!handOver || profile === undefined)
        return { kind: "refused", error: "no other home to hand over to" };
      try {
        const target = text.slice(`profile:${profile}/`.length);
        const answer = await handOver({ profile, target, request }, signal);
        if (answer === "noProfile") return { kind: "refused", error: `there is no profile "${profile}"` };
        return { kind: "delivered", receipt: { at: clock.now(), note: `handed over to ${profile}` } };
      } catch (error) {
        return { kind: "retry", error: messageOf(error) };
      }
    },
  };
}
