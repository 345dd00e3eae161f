// `incident list | show | ack`.

import { acknowledgeIncident, type IncidentDocument, listIncidents, showIncident } from "../app/incidents.ts";
import { INCIDENT_STATES } from "../records/incident.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { firstLine } from "./format.ts";
import { print, table } from "./io.ts";
import { isSet, numberOption, textOption, wordsOption } from "./options.ts";

export const list: RunCommand = async ({ options, io, open }) => {
  const limit = numberOption(options, "limit", { min: 1, max: 1_000 });
  const state = isSet(options, "all") ? INCIDENT_STATES : wordsOption(options, "state", INCIDENT_STATES);
  const before = textOption(options, "before");
  const job = textOption(options, "job");
  const context = await open();
  const rows = await listIncidents(context, {
    ...(state && { state }),
    ...(job !== undefined && { job: (await context.findJob(job)).definition.jobId }),
    ...(before !== undefined && { before }),
    ...(limit !== undefined && { limit }),
  });
  print(io, rows, () => (rows.length === 0 ? "No incidents." : table(HEADER, rows.map(row))));
  return EXIT.ok;
};

const HEADER = ["INCIDENT", "STATE", "FAILURES", "SINCE", "LAST", "ERROR"];

function row({ id, state, failures, openedAt, lastAt, error }: IncidentDocument): string[] {
  return [id, state, String(failures), openedAt, lastAt, firstLine(error)];
}

export const show: RunCommand = async ({ args: [id = ""], io, open }) => {
  const incident = await showIncident(await open(), id);
  print(io, incident, () => incidentText(incident));
  return EXIT.ok;
};

function incidentText(incident: IncidentDocument): string {
  const { acknowledgedBy, acknowledgedAt, note, resolvedAt, resolvedBy } = incident;
  const acknowledged = acknowledgedBy && `${acknowledgedAt} by ${acknowledgedBy}${note ? `: ${note}` : ""}`;
  const lines: [string, string | null][] = [
    ["incident", incident.id],
    ["job", incident.jobId],
    ["state", incident.state],
    ["error", incident.error],
    ["failures", `${incident.failures} since ${incident.openedAt}, the last at ${incident.lastAt}`],
    ["opened", `${incident.openings} times since ${incident.firstAt}`],
    ["last run", incident.lastRunId],
    ["told", incident.told && `${incident.told} at ${incident.toldAt}`],
    ["held back", incident.tellAt && `until ${incident.tellAt}`],
    ["known", acknowledged],
    ["resolved", resolvedAt && `${resolvedAt} by ${resolvedBy}`],
    ["cause", incident.cause],
  ];
  return lines
    .filter((line): line is [string, string] => line[1] !== null && line[1] !== "")
    .map(([name, value]) => `${name.padEnd(9)} ${value}`)
    .join("\n");
}

export const ack: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const incident = await acknowledgeIncident(await open(), id, { note: textOption(options, "note") });
  print(io, incident, () => `Incident ${incident.id} is acknowledged: no more alerts until it is over.`);
  return EXIT.ok;
};
