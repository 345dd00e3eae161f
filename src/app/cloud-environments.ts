// Sandboxes that nodes left at cloud services: whom to ask for them, and their end.
//
// I1. Only services that this home uses are asked: named in config.yaml or by a job, with their SDK and keys here.
// I2. Nothing here throws: a service that does not answer in time has none, and that is in the log.

import { cloudService, isCloud } from "../execute/environments/cloud-services.ts";
import { missingProgram } from "../execute/environments/programs.ts";
import type { ReapedSandbox } from "../execute/environments/reap-sandboxes.ts";
import { messageOf } from "../kernel/errors.ts";
import { SECOND } from "../kernel/time.ts";
import { ACCOUNT_KEYS, type CloudSpec } from "../records/cloud-specs.ts";
import { type EnvironmentInput, parseEnvironmentSpec } from "../records/environment-spec.ts";
import type { Job } from "../records/job.ts";
import { checkDepsOf } from "./check-deps.ts";
import type { Context } from "./context.ts";

const ANSWER_MS = 30 * SECOND;

/** What is needed to ask them. */
export type Clouds = Pick<Context, "env" | "clock" | "variable" | "log" | "config" | "ledger" | "parseJob">;

/** Ends the sandboxes of nodes of this machine that died; answers their names. */
export async function reapClouds(home: Clouds): Promise<string[]> {
  const { reapSandboxes } = await import("../execute/environments/reap-sandboxes.ts");
  const reaped = await atEach(home, (service) => reapSandboxes(service));
  return reaped.map(({ name }) => name);
}

/** Ends the sandboxes of runs that were taken over. */
export async function endCloudsOf(home: Clouds, runIds: readonly string[]): Promise<ReapedSandbox[]> {
  if (runIds.length === 0) return [];
  const { endSandboxesOf } = await import("../execute/environments/reap-sandboxes.ts");
  const ids = new Set(runIds);
  return atEach(home, (service) => endSandboxesOf(service, ids));
}

/** Whether its run may have made a sandbox: not where the job certainly names another place. */
export function mayHaveSandbox(home: Pick<Context, "config">, job: Job | undefined): boolean {
  try {
    return job === undefined || isCloud(parseEnvironmentSpec(job.environment, home.config.environments));
  } catch {
    return true;
  }
}

type Work = (service: Awaited<ReturnType<typeof cloudService>>) => Promise<ReapedSandbox[]>;

async function atEach(home: Clouds, work: Work): Promise<ReapedSandbox[]> {
  const specs = await accountsOf(home);
  return (await Promise.all(specs.map((spec) => atOne(home, spec, work)))).flat();
}

/** I2. */
async function atOne(home: Clouds, spec: CloudSpec, work: Work): Promise<ReapedSandbox[]> {
  const { clock, log } = home;
  const timer = new AbortController();
  try {
    const service = await cloudService(checkDepsOf(home), spec);
    try {
      const late = clock.sleep(ANSWER_MS, timer.signal).then(() => {
        throw new Error(`no answer within ${ANSWER_MS} ms`);
      });
      return await Promise.race([work(service), late]);
    } finally {
      service.close();
    }
  } catch (error) {
    log.warn("sandboxes-not-asked-for", { backend: spec.backend, error: messageOf(error) });
    return [];
  } finally {
    timer.abort(new Error("answered"));
  }
}

/** I1. One for each account. */
async function accountsOf(home: Clouds): Promise<CloudSpec[]> {
  const { config, ledger } = home;
  const inputs: EnvironmentInput[] = Object.keys(config.environments);
  for (const { definition, cursor } of await ledger.jobs())
    if (cursor.removedAt === undefined) inputs.push(environmentNamed(home, definition));
  const accounts = new Map<string, CloudSpec>();
  for (const input of inputs) {
    const spec = cloudSpecOf(home, input);
    if (spec && !missingProgram(spec, "")) accounts.set(accountKey(spec), spec);
  }
  return [...accounts.values()];
}

function environmentNamed(
  { parseJob }: Clouds,
  definition: Parameters<Context["parseJob"]>[0],
): EnvironmentInput {
  try {
    return parseJob(definition).environment;
  } catch {
    return "local";
  }
}

function cloudSpecOf({ config }: Clouds, input: EnvironmentInput): CloudSpec | undefined {
  try {
    const spec = parseEnvironmentSpec(input, config.environments);
    return isCloud(spec) ? spec : undefined;
  } catch {
    return undefined;
  }
}

/** What of a spec says whose sandboxes they are. */
function accountKey(spec: CloudSpec): string {
  const given = Object.entries(spec).filter(([key]) => (ACCOUNT_KEYS as readonly string[]).includes(key));
  return JSON.stringify([spec.backend, given.sort()]);
}
