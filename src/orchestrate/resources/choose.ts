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
 * Registrations of the pinned version, else those of the preferred one; what another machine does has its own versions and
 * may always stand in. A version that is not registered any more is no reason not to run.
 */
export function eligible<One extends Registration>(
  registrations: readonly One[],
  version: string | undefined,
): readonly One[] {
  const local = registrations.filter(({ kind }) => kind !== "remote");
  const isKnown = version !== undefined && registrations.some((one) => one.version === version);
  const wanted = isKnown ? version : (local[0] ?? registrations[0])?.version;
  return registrations.filter((one) => one.version === wanted || (!isKnown && one.kind === "remote"));
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
