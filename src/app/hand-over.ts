// `profile:NAME/<target>`: the message goes into the outbox of another home, which resolves and sends it (O5).

import { stat } from "node:fs/promises";
import type { HandOver } from "../deliver/adapters/profile.ts";
import { routedRows } from "../deliver/outbox-rows.ts";
import { route } from "../deliver/route.ts";
import { parseTargets } from "../deliver/targets.ts";
import { profilePath } from "./choose-home.ts";
import type { Context } from "./context.ts";

/** Opens the other home only for the moment of the hand-over. Its own node sends; the key makes a second hand-over harmless. */
export function handOverFrom(home: string, openHome: (path: string) => Promise<Context>): HandOver {
  return async ({ profile, target, request }) => {
    const path = profilePath(home, profile);
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) return "noProfile";
    const other = await openHome(path);
    try {
      const routed = route(parseTargets([target], other.platforms), other.routeFor(undefined));
      const message = {
        subject: `handed/${request.idempotencyKey}`,
        kind: request.kind,
        runId: undefined,
        jobId: undefined,
        text: request.body,
      };
      await other.ledger.putDeliveries(
        routedRows(message, routed, other.rowsFor(undefined)),
        request.createdAt,
      );
      return "put";
    } finally {
      await other.close();
    }
  };
}
