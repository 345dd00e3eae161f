// Which registration of a name does a task, by what is free when it is claimed (DESIGN §12). Pure.

import type { Executor } from "../../records/executor.ts";
import { mergeResources, NO_RESOURCES } from "../../records/resources.ts";
import type { Resources } from "../../records/workflow.ts";
import { placeRequest } from "./place-request.ts";
import type { Sight } from "./room.ts";

/** As much of a registration as decides. */
export type Registration = Pick<Executor, "name" | "version" | "kind" | "source"> & {
  contract: Pick<Executor["contract"], "resources">;
};

export interface Wish {
  /** The version that the task is pinned to; undefined = the preferred one. */
  version: string | undefined;
  /** What the task asks for beyond its executor. */
  resources: Resources | undefined;
}

export type Choice<One extends Registration> =
  | { registration: One; needs: Resources; cards: readonly number[] }
  | { lacks: string };

/** The first registration in order of preference that fits; else what the preferred one lacks. Undefined = none is known. */
export function chooseRegistration<One extends Registration>(
  registrations: readonly One[],
  wish: Wish,
  sight: Sight,
): Choice<One> | undefined {
  let lacks: string | undefined;
  for (const registration of eligible(registrations, wish.version)) {
    const needs = needsOf(registration, wish.resources);
    const answer = placeRequest(needs, sight);
    if (answer.fits) return { registration, needs, cards: answer.cards };
    lacks ??= answer.lacks;
  }
  return lacks === undefined ? undefined : { lacks };
}

/**
 * Registrations of the pinned version (none, where it is not registered any more: another one must not be run in its
 * place), else those of the preferred version; then what another machine does may stand in as well.
 */
export function eligible<One extends Registration>(
  registrations: readonly One[],
  version: string | undefined,
): readonly One[] {
  if (version !== undefined) return registrations.filter((one) => one.version === version);
  const preferred = registrations.find(({ kind }) => kind !== "remote") ?? registrations[0];
  return registrations.filter(({ version: of, kind }) => of === preferred?.version || kind === "remote");
}

/** The registration that a pass chose for a run, where it is still there; else the preferred one of its version. */
export function registrationOf<One extends Registration>(
  registrations: readonly One[],
  chosen: { version?: string | undefined; registration?: string | undefined } = {},
): One | undefined {
  const { version, registration } = chosen;
  const found =
    registration === undefined
      ? undefined
      : registrations.find((one) => registrationKey(one) === registration);
  return found ?? eligible(registrations, version)[0];
}

/** What a task takes of this machine. What another machine does takes nothing here: that machine is asked for it. */
export function needsOf(registration: Registration, own: Resources | undefined): Resources {
  return registration.kind === "remote" ? NO_RESOURCES : mergeResources(registration.contract.resources, own);
}

/** Tells the registrations of one name apart. */
export function registrationKey({ version, kind, source, contract }: Registration): string {
  const { cpu, memoryMb, gpu, gpuMemoryMb, labels } = contract.resources;
  return JSON.stringify([version, kind, source, cpu, memoryMb, gpu, gpuMemoryMb, labels]);
}
