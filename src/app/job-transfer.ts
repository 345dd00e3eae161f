// Jobs in bulk: export, apply, import from Hermes. Each document stands for itself: one that is refused stops no other.

import { isFault, messageOf } from "../kernel/errors.ts";
import { readHermesJobs } from "../records/hermes-jobs.ts";
import type { JobDocument } from "../records/job.ts";
import { formatJobDocument, parseJobDocument } from "../records/job-document.ts";
import { splitYamlDocuments } from "../records/yaml-stream.ts";
import type { Context } from "./context.ts";
import { findJob } from "./find-job.ts";
import { readJobText, replaceJobText } from "./job-editing.ts";
import { addJob } from "./jobs.ts";

/** The people's own texts, as they stand; several as one YAML stream. */
export async function exportJobs(
  context: Context,
  ids: readonly string[],
): Promise<{ id: string; text: string }[]> {
  const wanted = ids.length > 0 ? ids : (await context.ledger.jobs()).map((view) => view.definition.jobId);
  return Promise.all(
    wanted.map(async (id) => {
      const { definition } = await findJob(context, id);
      const entry = await context.source.read(definition.source);
      const text = entry?.text ?? formatJobDocument(JSON.parse(definition.document) as JobDocument);
      return { id: definition.jobId, text: withId(text, definition.jobId) };
    }),
  );
}

/** A text that leaves its id to its file's name would lose it on the way. */
function withId(text: string, id: string): string {
  const { hasExplicitId } = parseJobDocument(text, { file: id, defaultId: id });
  return hasExplicitId ? text : `id: ${id}\n${text}`;
}

export interface TransferResult {
  id: string;
  action: "created" | "changed" | "unchanged" | "refused";
  warnings: string[];
  error: string | null;
}

/** Creates or changes jobs from a YAML stream or a JSON document (or array). The texts keep their comments. */
export async function applyJobs(
  context: Context,
  input: { text: string; file: string; isDryRun: boolean },
): Promise<TransferResult[]> {
  const results: TransferResult[] = [];
  for (const [index, text] of splitYamlDocuments(input.text, input.file).entries()) {
    const file = index === 0 ? input.file : `${input.file}#${index + 1}`;
    results.push(await settle(`document ${index + 1}`, () => applyOne(context, { ...input, text, file })));
  }
  return results;
}

async function applyOne(
  context: Context,
  input: { text: string; file: string; isDryRun: boolean },
): Promise<TransferResult> {
  const { document } = parseJobDocument(input.text, { file: input.file, defaultId: "" });
  const { id } = document;
  const known = await context.ledger.job(id);
  if (!known || known.cursor.removedAt !== undefined) {
    const echo = await addJob(context, document, { isDryRun: input.isDryRun, text: input.text });
    return { id, action: "created", warnings: echo.warnings, error: null };
  }
  const { view, text, digest } = await readJobText(context, id);
  if (text === input.text) return { id, action: "unchanged", warnings: [], error: null };
  const echo = input.isDryRun ? undefined : await replaceJobText(context, view, { text: input.text, digest });
  return { id, action: "changed", warnings: echo?.warnings ?? [], error: null };
}

/** Takes over a Hermes jobs.json; what could not be carried stands in the warnings. Never fires a past one-shot. */
export async function importHermes(
  context: Context,
  input: { text: string; isDryRun: boolean },
): Promise<{ jobs: TransferResult[]; warnings: string[] }> {
  const now = await context.ledger.now();
  const read = readHermesJobs(input.text, { now, systemZone: context.zone });
  const jobs: TransferResult[] = [];
  for (const { document, paused, completed, warnings } of read.jobs) {
    const result = await settle(document.id, async () => {
      const echo = await addJob(context, document, {
        isDryRun: input.isDryRun,
        isImported: true,
        ...(paused !== undefined && { paused }),
        ...(completed !== undefined && { completed }),
      });
      return { id: document.id, action: "created", warnings: [...warnings, ...echo.warnings], error: null };
    });
    jobs.push(result.action === "refused" ? { ...result, warnings } : result);
  }
  return { jobs, warnings: read.warnings };
}

/** A refusal is a result among others; a bug or a broken store is not. */
async function settle(id: string, work: () => Promise<TransferResult>): Promise<TransferResult> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error) || error.code.startsWith("store.")) throw error;
    return { id, action: "refused", warnings: [], error: `${messageOf(error)} ${error.hint}` };
  }
}
