// The form of incidents on the wire.

import * as z from "zod/mini";
import type { IncidentDocument } from "../../app/incidents.ts";
import { INCIDENT_STATES } from "../../records/incident.ts";
import { instant } from "./runs.ts";

const text = () => z.string();

export const incidentSchema = z.strictObject({
  id: text(),
  jobId: text(),
  state: z.enum(INCIDENT_STATES),
  cause: text(),
  error: text(),
  openings: z.int(),
  failures: z.int(),
  firstAt: instant(),
  openedAt: instant(),
  lastAt: instant(),
  lastRunId: text(),
  told: z.nullable(text()),
  toldAt: z.nullable(instant()),
  tellAt: z.nullable(instant()),
  acknowledgedBy: z.nullable(text()),
  acknowledgedAt: z.nullable(instant()),
  note: z.nullable(text()),
  resolvedAt: z.nullable(instant()),
  resolvedBy: z.nullable(text()),
}) satisfies z.ZodMiniType<IncidentDocument>;
