// Whether a request fits beside what is held, and if not, the sentence that says what is missing (W5, peers.md §5.2, 8).
//
// I1. Pure. Fitting is `needed <= free`: the whole of what is free may be asked for; what shall stay free is the reserve.
// I2. Free is the smaller of two numbers: what is left of the total by reservations, and what was measured. A reservation
//     that is younger than `settleMs` at the measurement is taken off the measured number too: its program may not have
//     taken its share yet.
// I3. A card asked for with memory is shared, by memory; one asked for without belongs to its run alone.

import { SECOND } from "../../kernel/time.ts";
import type { Holding, MachineResources } from "../../records/resources.ts";
import type { Resources } from "../../records/workflow.ts";

/** What a run of this machine holds. */
export interface Held extends Omit<Holding, "host"> {
  runId: string;
}

export type Placing =
  /** On these cards. */
  | { fits: true; cards: readonly number[] }
  /** A sentence's end: `needs 8,192 MB of GPU memory, 8,100 free, 7,900 held by run X`. */
  | { fits: false; lacks: string };

/** What one amount comes to. */
interface Room {
  free: number;
  /** The rest is taken by what is not ours. */
  isMeasured: boolean;
}

/** A program is taken to have its memory after this time. @source SEMANTICS W5: one probe interval. */
const SETTLE_MS = 10 * SECOND;

export function placeRequest(
  needs: Resources,
  machine: MachineResources,
  { held, settleMs = SETTLE_MS }: { held: readonly Held[]; settleMs?: number },
): Placing {
  const missing = needs.labels.find((label) => !machine.labels.includes(label));
  if (missing !== undefined)
    return lacking(`needs the label "${missing}", this machine has ${listed(machine.labels)}`);
  const unseen = (one: Held) => one.since > machine.probedAt - settleMs;
  const cpu = needs.cpu > 0 ? cpuLack(needs.cpu, machine, held) : undefined;
  if (cpu !== undefined) return lacking(cpu);
  const memory = needs.memoryMb > 0 ? memoryLack(needs.memoryMb, { machine, held, unseen }) : undefined;
  if (memory !== undefined) return lacking(memory);
  return needs.gpu > 0 ? fitCards(needs, { machine, held, unseen }) : { fits: true, cards: [] };
}

/** What is left of each card, in MB. A card that somebody has to himself has nothing left. */
export function freeOfCards(
  machine: MachineResources,
  { held, settleMs = SETTLE_MS }: { held: readonly Held[]; settleMs?: number },
): number[] {
  const unseen = (one: Held) => one.since > machine.probedAt - settleMs;
  return machine.cards.map((_, card) => Math.max(0, cardRoom(card, { machine, held, unseen }).free));
}

interface Sight {
  machine: MachineResources;
  held: readonly Held[];
  unseen(one: Held): boolean;
}

function cpuLack(
  needed: number,
  { cpu, reserve }: MachineResources,
  held: readonly Held[],
): string | undefined {
  const free = cpu - reserve.cpu - sum(held.map((one) => one.cpu));
  if (needed <= free) return undefined;
  if (needed > cpu - reserve.cpu)
    return `needs ${amount(needed)} ${word(needed, "core")}, this machine has ${amount(cpu)}${beside(reserve.cpu)}`;
  return `needs ${amount(needed)} ${word(needed, "core")}, ${amount(free)} free${beside(reserve.cpu)}${heldBy(held, (one) => one.cpu)}`;
}

function memoryLack(needed: number, { machine, held, unseen }: Sight): string | undefined {
  const { memoryMb, memoryFreeMb, reserve } = machine;
  const of = (one: Held) => one.memoryMb;
  const room = smaller(
    memoryMb - reserve.memoryMb - sum(held.map(of)),
    memoryFreeMb - reserve.memoryMb - sum(held.filter(unseen).map(of)),
  );
  if (needed <= room.free) return undefined;
  if (needed > memoryMb - reserve.memoryMb)
    return `needs ${amount(needed)} MB of memory, this machine has ${amount(memoryMb)}${beside(reserve.memoryMb)}`;
  return `needs ${amount(needed)} MB of memory, ${tail(room, reserve.memoryMb, heldBy(held, of))}`;
}

function fitCards({ gpu, gpuMemoryMb }: Resources, sight: Sight): Placing {
  const { machine, held } = sight;
  if (machine.cardProblem !== undefined)
    return lacking(`needs a GPU, and the GPUs cannot be measured: ${machine.cardProblem}`);
  if (gpu > machine.cards.length)
    return lacking(
      `needs ${gpu} ${word(gpu, "GPU")}, this machine has ${machine.cards.length === 0 ? "none" : machine.cards.length}`,
    );
  const cards = machine.cards.map((card, index) => ({
    ...{ index, totalMb: card.totalMb, room: cardRoom(index, sight) },
    isUsed: held.some((one) => one.cards.includes(index)),
  }));
  const fitting = cards.filter(({ isUsed, room }) =>
    gpuMemoryMb === 0 ? !isUsed : room.free >= gpuMemoryMb,
  );
  // The fullest that still fits: what needs much finds room on the others.
  const best = fitting.sort((a, b) => a.room.free - b.room.free || a.index - b.index).slice(0, gpu);
  if (best.length === gpu) return { fits: true, cards: best.map(({ index }) => index) };
  if (gpuMemoryMb === 0) {
    const holders = heldBy(held, (one) => one.cards.length);
    return lacking(`needs ${gpu} ${word(gpu, "GPU")} of its own, ${fitting.length} free${holders}`);
  }
  return lacking(memoryOfCards({ gpu, gpuMemoryMb }, { sight, cards, count: fitting.length }));
}

function memoryOfCards(
  { gpu, gpuMemoryMb }: Pick<Resources, "gpu" | "gpuMemoryMb">,
  {
    sight: { machine, held },
    cards,
    count,
  }: { sight: Sight; cards: readonly { index: number; totalMb: number; room: Room }[]; count: number },
): string {
  const reserve = machine.reserve.gpuMemoryMb;
  const needs = `needs ${gpu > 1 ? `${gpu} GPUs with ` : ""}${amount(gpuMemoryMb)} MB of GPU memory`;
  const able = cards.filter(({ totalMb }) => totalMb - reserve >= gpuMemoryMb);
  if (able.length < gpu) {
    const largest = Math.max(...cards.map(({ totalMb }) => totalMb));
    const only = gpu > 1 ? `${able.length} of this machine's are that large` : `this machine's largest has`;
    return `${needs}, ${only}${gpu > 1 ? "" : ` ${amount(largest)}${beside(reserve)}`}`;
  }
  if (gpu > 1)
    return `${needs} each, ${count} ${count === 1 ? "has" : "have"} them free${heldBy(held, ofCard)}`;
  const [best] = [...able].sort((a, b) => b.room.free - a.room.free);
  const here = held.filter((one) => best !== undefined && one.cards.includes(best.index));
  const isAlone = here.some((one) => one.gpuMemoryMb === 0);
  const holders = isAlone ? `, the GPU is held by run ${here[0]?.runId}` : heldBy(here, ofCard);
  return `${needs}, ${tail(best?.room ?? { free: 0, isMeasured: false }, reserve, holders)}`;
}

const ofCard = (one: Held) => one.gpuMemoryMb;

function cardRoom(index: number, { machine, held, unseen }: Sight): Room {
  const card = machine.cards[index];
  const here = held.filter(({ cards }) => cards.includes(index));
  if (!card || machine.cardProblem !== undefined || here.some((one) => one.gpuMemoryMb === 0))
    return { free: 0, isMeasured: false };
  const reserve = machine.reserve.gpuMemoryMb;
  return smaller(
    card.totalMb - reserve - sum(here.map(ofCard)),
    card.freeMb - reserve - sum(here.filter(unseen).map(ofCard)),
  );
}

/** (I2) */
function smaller(byReservation: number, byMeasurement: number): Room {
  const isMeasured = byMeasurement < byReservation;
  return { free: isMeasured ? byMeasurement : byReservation, isMeasured };
}

function tail({ free, isMeasured }: Room, reserve: number, holders: string): string {
  const others = isMeasured ? ", other programs use the rest" : "";
  return `${amount(Math.max(0, free))} free${beside(reserve)}${holders}${others}`;
}

const beside = (reserve: number) => (reserve > 0 ? ` beside a reserve of ${amount(reserve)}` : "");

/** How many holders are named. */
const NAMED = 3;

/** `, 7,900 held by run X`: who holds most first. */
function heldBy(held: readonly Held[], of: (one: Held) => number): string {
  const holders = held.filter((one) => of(one) > 0).sort((a, b) => of(b) - of(a));
  const named = holders.slice(0, NAMED).map((one) => `${amount(of(one))} held by run ${one.runId}`);
  const more = holders.length - named.length;
  return [
    ...named.map((one) => `, ${one}`),
    ...(more > 0 ? [`, and more by ${more} other ${word(more, "run")}`] : []),
  ].join("");
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** `8,192`, `1.5`. */
function amount(value: number): string {
  return (Math.round(value * 100) / 100).toLocaleString("en-US");
}

const word = (count: number, one: string) => (count === 1 ? one : `${one}s`);

const listed = (labels: readonly string[]) =>
  labels.length === 0 ? "no labels" : labels.map((label) => `"${label}"`).join(", ");

const lacking = (lacks: string): Placing => ({ fits: false, lacks });
