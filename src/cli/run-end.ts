// How the end of a run is told and what exit code it means (U1): `job run --wait`, `agent`.

import type { RunDocument } from "../app/documents.ts";
import { EXIT } from "./errors.ts";
import { describeOutcome } from "./format.ts";

/** `isTold`: its output has been on the screen already. */
export function endText(run: RunDocument, { isTold = false }: { isTold?: boolean } = {}): string {
  const output = isTold ? "" : run.outcome?.output?.trimEnd();
  const line = `Run ${run.id}: ${endOf(run)}`;
  return output ? `${line}\n\n${output}` : line;
}

/** A workflow whose failures were all handled has an outcome like one that had none: its state says more. */
function endOf({ state, reason, outcome }: RunDocument): string {
  if (!outcome) return state;
  const said = describeOutcome(outcome);
  if (state !== "partiallySucceeded") return said;
  return said.replace(/^succeeded/, `partially succeeded${reason === null ? "" : ` (${reason})`}`);
}

export function exitOf(run: RunDocument): number {
  if (run.state === "succeeded" || run.state === "partiallySucceeded") return EXIT.ok;
  if (run.state === "unknown") return EXIT.unknown;
  return run.finishedAt !== null ? EXIT.failed : EXIT.waitRanOut;
}
