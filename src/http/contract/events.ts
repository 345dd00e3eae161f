// The form of what an event from outside has set off, on the wire.

import * as z from "zod/mini";
import type { FiredDocument } from "../../app/fire-event.ts";
import { instant } from "./runs.ts";

const text = () => z.string();

/** What `POST /hooks/<name>` answers. */
export const firedEventSchema = z.strictObject({
  event: z.strictObject({ id: text(), key: text(), receivedAt: instant() }),
  isNew: z.boolean(),
  runs: z.array(
    z.strictObject({
      jobId: z.nullable(text()),
      runId: text(),
      state: text(),
      reason: z.nullable(text()),
    }),
  ),
}) satisfies z.ZodMiniType<FiredDocument>;
