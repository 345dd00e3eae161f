// What is free on a machine beside what is held (peers.md §5.2, 8). Pure.
//
// I1. Free is the smaller of two numbers: what is left of the total by reservations, and what was measured. A reservation
//     that is younger than `settleMs` at the measurement is taken off the measured number too: its program may not have
//     taken its share yet.
// I2. Cores are shared by reservation alone: how busy they are says nothing of what is promised.

import { SECOND } from "../../kernel/time.ts";
import type { Holding, MachineResources } from "../../records/resources.ts";

/** What a run of this machine holds. */
export interface Held extends Omit<Holding, "host"> {
  runId: string;
}

export interface Sight {
  machine: MachineResources;
  held: readonly Held[];
  /** A program is taken to have its memory after this time. Default 10 s, the seed's probe interval. */
  settleMs?: number;
}

/** What one amount comes to; may be negative where more is held than there is. */
export interface Room {
  free: number;
  /** What is not ours takes the rest. */
  isMeasured: boolean;
}

const SETTLE_MS = 10 * SECOND;

export interface MachineRoom {
  cpu: Room;
  memoryMb: Room;
  /** By the machine's list. A card that somebody has to himself has no memory left. */
  cards: readonly CardRoom[];
}

export interface CardRoom extends Room {
  totalMb: number;
  /** Somebody holds some of it. */
  isUsed: boolean;
}

export function roomOf({ machine, held, settleMs = SETTLE_MS }: Sight): MachineRoom {
  const { cpu, memoryMb, memoryFreeMb, reserve, probedAt } = machine;
  const unseen = held.filter(({ since }) => since > probedAt - settleMs);
  return {
    cpu: { free: cpu - reserve.cpu - sum(held, (one) => one.cpu), isMeasured: false },
    memoryMb: smaller(
      memoryMb - reserve.memoryMb - sum(held, (one) => one.memoryMb),
      memoryFreeMb - reserve.memoryMb - sum(unseen, (one) => one.memoryMb),
    ),
    cards: machine.cards.map((_, index) => cardRoom(index, { machine, held, unseen })),
  };
}

function cardRoom(
  index: number,
  { machine, held, unseen }: { machine: MachineResources; held: readonly Held[]; unseen: readonly Held[] },
): CardRoom {
  const { totalMb, freeMb } = machine.cards[index] ?? { totalMb: 0, freeMb: 0 };
  const on = (all: readonly Held[]) => all.filter(({ cards }) => cards.includes(index));
  const here = on(held);
  const facts = { totalMb, isUsed: here.length > 0 };
  if (machine.cardProblem !== undefined || here.some((one) => one.gpuMemoryMb === 0))
    return { ...facts, free: 0, isMeasured: false };
  const reserve = machine.reserve.gpuMemoryMb;
  return {
    ...facts,
    ...smaller(
      totalMb - reserve - sum(here, (one) => one.gpuMemoryMb),
      freeMb - reserve - sum(on(unseen), (one) => one.gpuMemoryMb),
    ),
  };
}

/** (I1) */
function smaller(byReservation: number, byMeasurement: number): Room {
  const isMeasured = byMeasurement < byReservation;
  return { free: isMeasured ? byMeasurement : byReservation, isMeasured };
}

function sum(held: readonly Held[], of: (one: Held) => number): number {
  return held.reduce((total, one) => total + of(one), 0);
}
