// The form of machines' resources on the wire.

import * as z from "zod/mini";
import type { ResourcesDocument } from "../../app/resources/resource-documents.ts";
import { instant } from "./runs.ts";

const text = () => z.string();
const textOrNull = () => z.nullable(text());
const amounts = { total: z.number(), reserve: z.number(), held: z.number(), free: z.number() };

export const resourcesSchema = z.strictObject({
  machines: z.array(
    z.strictObject({
      hostId: text(),
      nodes: z.array(z.strictObject({ id: text(), name: text() })),
      measuredAt: instant(),
      cpu: z.strictObject(amounts),
      memoryMb: z.strictObject({ ...amounts, measuredFree: z.number() }),
      gpus: z.array(
        z.strictObject({ ...amounts, index: z.int(), measuredFree: z.number(), isExclusive: z.boolean() }),
      ),
      gpuProblem: textOrNull(),
      labels: z.array(text()),
      held: z.array(
        z.strictObject({
          runId: text(),
          unit: textOrNull(),
          executor: textOrNull(),
          since: instant(),
          cpu: z.number(),
          memoryMb: z.number(),
          gpus: z.array(z.int()),
          gpuMemoryMb: z.number(),
        }),
      ),
    }),
  ),
  waiting: z.array(
    z.strictObject({ runId: text(), unit: textOrNull(), executor: textOrNull(), lacks: text() }),
  ),
}) satisfies z.ZodMiniType<ResourcesDocument>;
