// `run audit`: exit 1 when a slot is missing, doubled or ran early (L9).

import { type AuditDocument, type AuditFindingDocument, readAudit } from "../app/audit.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { instantOption, textOption } from "./options.ts";

export const audit: RunCommand = async ({ options, io, open }) => {
  const context = await open();
  const since = instantOption(options, "since", context.clock.now());
  const job = textOption(options, "job");
  const found = await readAudit(context, {
    ...(since !== undefined && { since }),
    ...(job !== undefined && { jobId: (await context.findJob(job)).definition.jobId }),
  });
  print(io, found, () => auditText(found));
  return found.isClean ? EXIT.ok : EXIT.failed;
};

function auditText(audit: AuditDocument): string {
  const atLeast = audit.isAtLeast ? "at least " : "";
  const lines = [
    `${atLeast}${audit.due} slots were due, ${audit.accounted} are accounted for, ${audit.pending} pending.`,
    ...audit.missing.map((finding) => `missing  ${findingText(finding)}`),
    ...audit.doubled.map((finding) => `doubled  ${findingText(finding)}`),
    ...audit.early.map((finding) => `early    ${findingText(finding)}`),
    ...audit.shifted.map(
      (one) =>
        `shifted  ${one.jobId} ${one.slot} was recorded at ${one.recordedAt}: the time-zone database has changed`,
    ),
    audit.isClean ? "Every due slot is accounted for, once." : "The ledger does not add up.",
  ];
  return lines.join("\n");
}

function findingText({ jobId, first, last, count, runIds }: AuditFindingDocument): string {
  const slots = count === 1 ? first : `${first} … ${last} (${count} slots)`;
  return `${jobId} ${slots}${runIds.length > 0 ? ` in ${runIds.join(", ")}` : ""}`;
}
