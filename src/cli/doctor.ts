// `doctor`, `check-env`: findings, each with what to do; exit 1 on any.

import type { Diagnosis } from "../app/diagnosis.ts";
import { checkEnvironment, diagnose } from "../app/doctor.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { isSet } from "./options.ts";

export const doctor: RunCommand = async ({ io, open }) => report(io, await diagnose(await open()));

export const checkEnv: RunCommand = async ({ options, io, open }) => {
  const isAskingModels = isSet(options, "models");
  const diagnosis = await checkEnvironment(await open(), { isAskingModels, signal: io.signal });
  // Which models answer, and how fast, is what was asked, whatever else is found.
  if (isAskingModels && !diagnosis.isHealthy && !io.isJson)
    for (const line of diagnosis.checked.filter((one) => one.startsWith("model "))) io.out(`✓ ${line}`);
  return report(io, diagnosis);
};

function report(io: Io, diagnosis: Diagnosis): number {
  print(io, diagnosis, () => diagnosisText(diagnosis));
  return diagnosis.isHealthy ? EXIT.ok : EXIT.failed;
}

function diagnosisText({ isHealthy, findings, checked }: Diagnosis): string {
  if (isHealthy) return `All is well (looked at: ${checked.join(", ")}).`;
  return findings.map(({ what, todo }) => `✗ ${what}\n  → ${todo}`).join("\n");
}
