// `job export | apply | import-hermes`.

import {
  applyJobs,
  exportJobs as exportUseCase,
  importHermes as importUseCase,
  type TransferResult,
} from "../app/job-transfer.ts";
import { Fault } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";
import { isSet, listOption } from "./options.ts";
import { readInput } from "./read-input.ts";

export const exportJobs: RunCommand = async ({ args, io, open }) => {
  const ids = args.filter((id) => id !== undefined);
  const found = await exportUseCase(await open(), ids);
  print(io, found, () => found.map(({ text }) => text.trimEnd()).join("\n---\n"));
  return EXIT.ok;
};

export const apply: RunCommand = async ({ options, io, open }) => {
  const files = listOption(options, "file");
  if (!files)
    throw new Fault("input.usage", "No file was named.", {
      hint: "Write -f FILE, or -f - for standard input.",
    });
  const texts = await Promise.all(files.map(async (file) => ({ file, text: await readInput(io, file) })));
  const context = await open();
  const results: TransferResult[] = [];
  for (const { file, text } of texts)
    results.push(...(await applyJobs(context, { text, file, isDryRun: isSet(options, "dryRun") })));
  print(io, results, () => resultsText(results));
  return results.some(({ action }) => action === "refused") ? EXIT.usage : EXIT.ok;
};

export const importHermes: RunCommand = async ({ args: [file = ""], options, io, open }) => {
  const text = await readInput(io, file);
  const report = await importUseCase(await open(), { text, isDryRun: isSet(options, "dryRun") });
  print(io, report, () =>
    [resultsText(report.jobs), ...report.warnings.map((warning) => `note: ${warning}`)].join("\n"),
  );
  return report.jobs.some(({ action }) => action === "refused") ? EXIT.usage : EXIT.ok;
};

function resultsText(results: readonly TransferResult[]): string {
  if (results.length === 0) return "No jobs in it.";
  return results
    .flatMap(({ id, action, warnings, error }) => [
      `${action.padEnd(9)} ${withError(id, error)}`,
      ...warnings.map((warning) => `          note: ${warning}`),
    ])
    .join("\n");
}

/** A text that cannot be read has no id: it is named by its file, as the error does already. */
function withError(id: string, error: string | null): string {
  if (error === null) return id;
  return error.startsWith(`${id}:`) ? error : `${id}: ${error}`;
}
