// What a served node keeps for other machines: leases of their tasks, and an eye on its GPUs.

import { DEFAULT_PATH } from "../../execute/command-env.ts";
import { messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import type { Context } from "../context.ts";
import { openCardProbe } from "../resources/graphics-cards.ts";
import { RemoteLeases } from "./remote-leases.ts";
import type { HealthDeps } from "./serve-health.ts";
import type { Door } from "./serve-task.ts";

/** A card that answers slower than this is stuck. */
const CARD_PATIENCE_MS = 2 * SECOND;

/** Until `signal` aborts. Tasks that a node before left open have their leases from now on. */
export function openDoor(context: Context, signal: AbortSignal): Door & HealthDeps {
  const { clock, env, log } = context;
  const leases = new RemoteLeases(context);
  const cards = openCardProbe({ clock, path: env.PATH || DEFAULT_PATH, patienceMs: CARD_PATIENCE_MS });
  leases.adopt().catch((error) => log.warn("remote-leases-not-read", { error: messageOf(error) }));
  signal.addEventListener(
    "abort",
    () => {
      void leases.stop();
      cards.close();
    },
    { once: true },
  );
  return { context, leases, cards };
}
