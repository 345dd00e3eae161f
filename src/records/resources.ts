// What a machine has, and what runs hold of it (DESIGN §12). Amounts are cores, MB and cards.

import type { Instant } from "../kernel/time.ts";
import type { Resources } from "./workflow.ts";

/** One GPU, by its place in the list of `nvidia-smi`. */
export interface Card {
  totalMb: number;
  /** As measured: what other programs use is not in it. */
  freeMb: number;
}

/** What the machine keeps for itself: a request must fit into what is free beyond it. */
export interface Reserve {
  cpu: number;
  memoryMb: number;
  /** Of each card. */
  gpuMemoryMb: number;
}

/** One measurement by one node. */
export interface MachineResources {
  /** By the node's own clock. */
  probedAt: Instant;
  /** Cores: those of the machine or of the node's cgroup, the fewer; may be a fraction. */
  cpu: number;
  /** Of the machine or of the node's cgroup, the smaller. */
  memoryMb: number;
  memoryFreeMb: number;
  cards: readonly Card[];
  /** Why the cards could not be measured this time, for people: then they count as full. */
  cardProblem?: string | undefined;
  labels: readonly string[];
  reserve: Reserve;
}

/** What a live run holds; written to its row by the pass that claims it, so that a crash leaks nothing. */
export interface Holding {
  /** The host (HostIdentity.hostId): nodes of one machine share what it has. */
  host: string;
  since: Instant;
  cpu: number;
  memoryMb: number;
  /** Places of the cards in the machine's list. */
  cards: readonly number[];
  /** Of each of these cards; 0 = the cards belong to this run alone. */
  gpuMemoryMb: number;
}

export const NO_RESOURCES: Resources = { cpu: 0, memoryMb: 0, gpu: 0, gpuMemoryMb: 0, labels: [] };

/** Whether anything is asked for at all. */
export function asksForAnything({ cpu, memoryMb, gpu, gpuMemoryMb, labels }: Resources): boolean {
  return cpu + memoryMb + gpu + gpuMemoryMb > 0 || labels.length > 0;
}

/** What an executor asks for with what its task says itself, which counts instead; labels add up. */
export function mergeResources(contract: Resources, own: Resources | undefined): Resources {
  if (!own) return contract;
  return {
    cpu: own.cpu || contract.cpu,
    memoryMb: own.memoryMb || contract.memoryMb,
    gpu: own.gpu || contract.gpu,
    gpuMemoryMb: own.gpuMemoryMb || contract.gpuMemoryMb,
    labels: [...new Set([...contract.labels, ...own.labels])],
  };
}

/** What a machine has in all, as one request may ask for it: a request must fit beside the reserve. */
export function capacityOf({ cpu, memoryMb, cards, labels, reserve }: MachineResources): Resources {
  const largest = Math.max(0, ...cards.map(({ totalMb }) => totalMb));
  return {
    cpu: Math.max(0, cpu - reserve.cpu),
    memoryMb: Math.max(0, memoryMb - reserve.memoryMb),
    gpu: cards.length,
    gpuMemoryMb: Math.max(0, largest - reserve.gpuMemoryMb),
    labels,
  };
}
