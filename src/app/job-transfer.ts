// Jobs in bulk: export, apply, import from Hermes. Each document stands for itself: one that is refused stops no other.

import { Fault, isFault, sayFault } from "../kernel/errors.ts";
import { readHermesJobs } from "../records/hermes-jobs.ts";
import type { JobDocument } from "../records/job.ts";
import { defaultJobId, formatJobDocument, parseJobDocument } from "../records/job-document.ts";
import { splitYamlDocuments } from "../records/yaml-stream.ts";
import type { Context } from "./context.ts";
import { findJob } from "./find-job.ts";
import { previewJobText, readJobText, replaceJobText } from "./job-editing.ts";
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
  const texts = splitYamlDocuments(input.text, input.file);
  // A file with one job may leave its id to its name, as in jobs/; a stream may not.
  const defaultId = texts.length === 1 && input.file !== "-" ? defaultJobId(input.file) : "";
  const results: TransferResult[] = [];
  for (const [index, text] of texts.entries()) {
    const file = index === 0 ? input.file : `${input.file}#${index + 1}`;
    results.push(await settle(file, () => applyOne(context, { ...input, text, file, defaultId })));
  }
  return results;
}

interface OneDocument {
  text: string;
  file: string;
  defaultId: string;
  isDryRun: boolean;
}

async function applyOne(context: Context, input: OneDocument): Promise<TransferResult> {
  const { document } = parseJobDocument(input.text, input);
  const { id } = document;
  if (id === "") {
    throw new Fault("job.invalid", `${input.file}: the document names no id`, {
      hint: "Write `id: NAME` into it.",
    });
  }
  return settle(id, async () => {
    const known = await context.ledger.job(id);
    if (!known || known.cursor.removedAt !== undefined) {
      const echo = await addJob(context, document, { isDryRun: input.isDryRun, text: input.text });
      return { id, action: "created", warnings: echo.warnings, error: null };
    }
    return changeOne(context, id, input);
  });
}

async function changeOne(context: Context, id: string, input: OneDocument): Promise<TransferResult> {
  const { view, digest } = await readJobText(context, id);
  const change = { text: input.text, digest };
  const echo = await (input.isDryRun ? previewJobText : replaceJobText)(context, view, change);
  const isSame = echo.version === view.definition.version;
  return { id, action: isSame ? "unchanged" : "changed", warnings: isSame ? [] : echo.warnings, error: null };
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
    return { id, action: "refused", warnings: [], error: sayFault(error) };
  }
}
