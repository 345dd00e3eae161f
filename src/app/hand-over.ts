// `profile:NAME/<target>`: the message goes into the outbox of another home, which resolves and sends it (O5).

import { readFile, stat } from "node:fs/promises";
import type { HandOver } from "../deliver/adapters/profile.ts";
import { routedRows } from "../deliver/outbox-rows.ts";
import { route } from "../deliver/route.ts";
import { parseTargets } from "../deliver/targets.ts";
import type { SendRequest, SentMedia } from "../records/delivery.ts";
import type { Media } from "../records/media.ts";
import { openMediaFiles } from "../store/files/media-files.ts";
import { profilePath } from "./choose-home.ts";
import type { Context } from "./context.ts";

/** Of a run's id, whose place a key takes here: its digits are a part of the same alphabet. */
const ID_LENGTH = 26;

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
      const media = request.media && (await bringFile(other, request, request.media));
      const message = {
        ...(media && { media: { kept: [media], refused: [] } }),
        subject: `handed/${request.idempotencyKey}`,
        kind: request.kind,
        runId: undefined,
        jobId: undefined,
        text: media ? "" : request.body,
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

/** Into the other home's keeping, under a name made of the key: a second hand-over replaces it. */
async function bringFile(
  other: Context,
  { idempotencyKey, body }: SendRequest,
  media: SentMedia,
): Promise<Media> {
  const files = openMediaFiles({ root: other.home.paths.root, maxBytes: Number.POSITIVE_INFINITY });
  const of = { runId: idempotencyKey.slice(0, ID_LENGTH), index: 0, redact: other.redact };
  return files.keep({ path: media.name, caption: body }, await readFile(media.path), of);
}
