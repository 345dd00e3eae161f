// Rollouts as people steer them: begun, given more or less, stopped, finished, looked at, and taken away again.

import { Fault, nearestWord } from "../../kernel/errors.ts";
import { formatInstant } from "../../kernel/time.ts";
import { withoutAbsent } from "../../kernel/without-absent.ts";
import { sumVersions, type VersionSums } from "../../orchestrate/rollout/judge-version.ts";
import type { ExecutorRegistry } from "../../records/executor.ts";
import {
  DEFAULT_BOUNDS,
  type Rollout,
  type RolloutBounds,
  type RolloutState,
} from "../../records/rollout.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";
import { requireExecutor } from "./require-task.ts";

/** Attempts of an executor that are looked at, the newest: what it did before them says less than what it does now. */
export const JUDGED_ATTEMPTS = 2_000;

export interface RolloutDocument {
  executor: string;
  state: RolloutState;
  version: string;
  baseline: string;
  /** Of 100 tasks, so many go to the version while it is `running`. */
  traffic: number;
  bounds: RolloutBounds;
  startedAt: string;
  startedBy: string;
  changedAt: string;
  changedBy: string;
  /** Why it was stopped or rolled back. */
  reason: string | null;
  /** The version, then its baseline: attempts that ended since the rollout began. */
  attempts: VersionDocument[];
}

export interface VersionDocument extends Omit<VersionSums, "medianMs"> {
  /** Of those that succeeded. */
  medianMs: number | null;
}

export interface RolloutRequest {
  version: string;
  /** A whole number from 0 to 100. */
  traffic: number;
  /** Default: what is in use: an earlier rollout's outcome, else the newest other version. */
  baseline?: string | undefined;
  bounds?: { readonly [Key in keyof RolloutBounds]?: number | undefined } | undefined;
}

type RolloutUse = Pick<Context, "actor" | "ledger"> & { executors: ExecutorRegistry };

export async function listRollouts(context: RolloutUse): Promise<RolloutDocument[]> {
  const documents: RolloutDocument[] = [];
  for (const rollout of await context.ledger.rollouts()) documents.push(await documentOf(context, rollout));
  return documents;
}

/** Throws `input.not-found`. */
export async function showRollout(context: RolloutUse, executor: string): Promise<RolloutDocument> {
  return documentOf(context, await requireRollout(context, executor));
}

/**
 * Begins one, or gives the one under way another share. Throws `executor.unknown`, `input.not-found` for a version that is
 * not registered, `input.conflict` while another version is being rolled out.
 */
export async function startRollout(
  context: RolloutUse,
  executor: string,
  request: RolloutRequest,
): Promise<RolloutDocument> {
  const { ledger, actor } = context;
  const { version, traffic } = request;
  const known = await knownVersions(context, executor);
  for (const one of [version, request.baseline ?? version]) requireVersion(executor, one, known);
  const before = await findRollout(context, executor);
  const isUnderWay = before?.state === "running";
  if (isUnderWay && before.version !== version)
    throw new Fault("input.conflict", `${executor} ${before.version} is being rolled out already`, {
      hint: `End it first: nightshift executor rollout ${executor} --stop, or --finish.`,
    });
  const now = await ledger.now();
  const baseline = request.baseline ?? (isUnderWay ? before.baseline : inUse(before, version, known));
  if (baseline === undefined || baseline === version)
    throw new Fault("input.invalid", `${executor} has no version beside ${version}`, {
      hint: "Register the old version too, or name it with --baseline.",
    });
  const began = isUnderWay ? before : { startedAt: now, startedBy: actor };
  const bounds = { ...(isUnderWay ? before.bounds : DEFAULT_BOUNDS), ...withoutAbsent(request.bounds ?? {}) };
  const rollout: Rollout = {
    ...{ executor, version, baseline, traffic, bounds, state: "running", reason: undefined },
    ...{ startedAt: began.startedAt, startedBy: began.startedBy, changedAt: now, changedBy: actor },
    revision: (before?.revision ?? 0) + 1,
  };
  return change(context, rollout, isUnderWay ? "rollout-changed" : "rollout-started");
}

/**
 * Everything goes to the version (`finished`) or to its baseline (`stopped`). Throws `input.not-found`, `input.conflict`
 * where it has ended so already.
 */
export async function endRollout(
  context: RolloutUse,
  executor: string,
  state: "finished" | "stopped",
): Promise<RolloutDocument> {
  const before = await requireRollout(context, executor);
  if (before.state === state)
    throw new Fault("input.conflict", `the rollout of ${executor} is ${state} already`, {
      hint: `See \`nightshift executor rollout ${executor}\`.`,
    });
  const changedAt = await context.ledger.now();
  const reason = state === "stopped" ? `stopped by ${context.actor}` : undefined;
  const revision = before.revision + 1;
  const after = { ...before, revision, state, changedAt, changedBy: context.actor, reason };
  return change(context, after, `rollout-${state}`);
}

/** Nothing is pinned any more: the newest version does every task. Throws `input.not-found`. */
export async function removeRollout(context: RolloutUse, executor: string): Promise<RolloutDocument> {
  const before = await requireRollout(context, executor);
  const document = await documentOf(context, before);
  if (await context.ledger.removeRollout(before, context.actor, await context.ledger.now())) return document;
  throw changedMeanwhile(executor);
}

/** For `doctor`: versions that went back by themselves, until a person has said what becomes of them. */
export async function rolloutFindings({ ledger }: Pick<Context, "ledger">): Promise<Finding[]> {
  const back = (await ledger.rollouts()).filter(({ state }) => state === "rolledBack");
  return back.map(({ executor, version, baseline, reason, changedAt }) => ({
    code: "rolledBack",
    what: `${executor} ${version} was rolled back at ${formatInstant(changedAt)}: ${reason}. Every task goes to ${baseline}.`,
    todo: `Correct it and roll it out again, or leave it: nightshift executor rollout ${executor} --stop.`,
  }));
}

async function change(context: RolloutUse, rollout: Rollout, event: string): Promise<RolloutDocument> {
  if (!(await context.ledger.changeRollout(rollout, event))) throw changedMeanwhile(rollout.executor);
  return documentOf(context, rollout);
}

function changedMeanwhile(executor: string): Fault {
  return new Fault("input.conflict", `somebody else changed the rollout of ${executor} at the same time`, {
    hint: `See \`nightshift executor rollout ${executor}\`, and say it again.`,
  });
}

/** Newest first. What another machine does stands beside every version and is none. */
async function knownVersions({ executors }: RolloutUse, executor: string): Promise<string[]> {
  const registered = await requireExecutor(executors, executor);
  return [...new Set(registered.filter(({ kind }) => kind !== "remote").map(({ version }) => version))];
}

function requireVersion(executor: string, version: string, known: readonly string[]): void {
  if (known.includes(version)) return;
  const near = nearestWord(version, known);
  throw new Fault("input.not-found", `${executor} has no version "${version}"`, {
    hint: near ? `Did you mean "${near}"?` : `Registered are ${known.join(", ") || "none"}.`,
  });
}

/** What does every task at this moment. */
function inUse(before: Rollout | undefined, version: string, known: readonly string[]): string | undefined {
  const pinned = before && (before.state === "finished" ? before.version : before.baseline);
  const others = known.filter((one) => one !== version);
  return pinned !== undefined && others.includes(pinned) ? pinned : others[0];
}

async function findRollout({ ledger }: RolloutUse, executor: string): Promise<Rollout | undefined> {
  return (await ledger.rollouts()).find((one) => one.executor === executor);
}

async function requireRollout(context: RolloutUse, executor: string): Promise<Rollout> {
  const found = await findRollout(context, executor);
  if (found) return found;
  await requireExecutor(context.executors, executor);
  throw new Fault(
    "input.not-found",
    `there is no rollout of ${executor}: its newest version does every task`,
    {
      hint: `Begin one: nightshift executor rollout ${executor} --version VERSION --traffic 20.`,
    },
  );
}

async function documentOf({ ledger }: RolloutUse, rollout: Rollout): Promise<RolloutDocument> {
  const { executor, state, version, baseline, traffic, bounds, startedAt, startedBy, changedAt } = rollout;
  const attempts = await ledger.versionAttempts({ executor, since: startedAt, limit: JUDGED_ATTEMPTS });
  const sums = sumVersions(rollout, attempts);
  return {
    ...{ executor, state, version, baseline, traffic, bounds },
    startedAt: formatInstant(startedAt),
    startedBy,
    changedAt: formatInstant(changedAt),
    changedBy: rollout.changedBy,
    reason: rollout.reason ?? null,
    attempts: [sums.version, sums.baseline].map((one) => ({ ...one, medianMs: one.medianMs ?? null })),
  };
}
