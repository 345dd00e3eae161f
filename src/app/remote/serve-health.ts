// `GET /health`: whether this node can do tasks for others, and one executor in particular (W5).

import { formatInstant, SECOND } from "../../kernel/time.ts";
import { eligible } from "../../orchestrate/resources/choose.ts";
import type { Context } from "../context.ts";
import { readHealth } from "../health.ts";
import type { CardProbe } from "../resources/graphics-cards.ts";
import { isAllowed } from "./serve-task.ts";

export interface ServedHealthDocument {
  /** `ok`, or why not: as `/healthz` says it, `unknownExecutor`, `gpuUnavailable`, `noProgress`. */
  status: string;
  /** More words for people. */
  reason: string | null;
  now: string;
}

/** What is said to whoever shows a token. */
export interface ServedExecutorDocument {
  name: string;
  version: string;
  kind: string;
  timeoutMs: number | null;
  effects: string;
}

export interface HealthDeps {
  context: Context;
  /** Of this machine, shared by all who ask. */
  cards: CardProbe;
}

/** A task that was told to end and has not, so long after, makes no progress. */
const NO_PROGRESS_MS = 10 * SECOND;
const MOST_RUNS = 1_000;

/** Never throws: what is wrong is the answer. */
export async function readServedHealth(
  { context, cards }: HealthDeps,
  { nodeId, executor }: { nodeId: string; executor: string | undefined },
): Promise<ServedHealthDocument> {
  const now = formatInstant(context.clock.now());
  const { status } = await readHealth(context, nodeId);
  const isAsked = status === "ok" && executor !== undefined;
  const found = isAsked ? await whyUnwell({ context, cards }, executor) : undefined;
  return { status: found?.status ?? status, reason: found?.reason ?? null, now };
}

/** What a caller may call here; undefined = the home's own token: everything. */
export async function servedExecutors(
  { executors }: Pick<Context, "executors">,
  access: { executors: readonly string[] | undefined } | undefined,
): Promise<ServedExecutorDocument[]> {
  const all = await executors.list();
  return all
    .filter(({ name, kind }) => kind !== "remote" && (!access || isAllowed(name, access.executors)))
    .map(({ name, version, kind, contract }) => ({
      ...{ name, version, kind, timeoutMs: contract.timeoutMs ?? null, effects: contract.effects },
    }));
}

async function whyUnwell(
  { context, cards }: HealthDeps,
  name: string,
): Promise<{ status: string; reason: string } | undefined> {
  const served = (await context.executors.named(name)).filter(({ kind }) => kind !== "remote");
  if (served.length === 0)
    return { status: "unknownExecutor", reason: `no executor "${name}" is served here` };
  const candidates = eligible(served, undefined);
  const isForCards = candidates.every(({ contract }) => contract.resources.gpu > 0);
  const problem = isForCards ? (await cards.read()).problem : undefined;
  if (problem !== undefined) return { status: "gpuUnavailable", reason: problem };
  const stuck = await stuckRun(context, name);
  return stuck === undefined
    ? undefined
    : { status: "noProgress", reason: `run ${stuck} was told to end and has not` };
}

async function stuckRun({ ledger }: Context, executor: string): Promise<string | undefined> {
  const [now, runs] = await Promise.all([
    ledger.now(),
    ledger.runs({ state: ["cancelling"], limit: MOST_RUNS }),
  ]);
  return runs.find(
    ({ admission, cancelRequestedAt }) =>
      admission?.executor === executor && now - (cancelRequestedAt ?? now) > NO_PROGRESS_MS,
  )?.id;
}
