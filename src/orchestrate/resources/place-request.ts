// Whether a request fits beside what is held, and if not, the sentence that says what is missing (W5, peers.md §5.2, 8).
//
// I1. Pure. Fitting is `needed <= free`: the whole of what is free may be asked for; what shall stay free is the reserve.
// I2. A card asked for with memory is shared, by memory; one asked for without belongs to its run alone.

import type { Resources } from "../../records/workflow.ts";
import { type CardRoom, type Held, type MachineRoom, type Room, roomOf, type Sight } from "./room.ts";

export type Placing =
  /** On these cards. */
  | { fits: true; cards: readonly number[] }
  /** A sentence's end: `needs 8,192 MB of GPU memory, 8,100 free, 7,900 held by run X`. */
  | { fits: false; lacks: string };

export function placeRequest(needs: Resources, sight: Sight): Placing {
  const { labels } = sight.machine;
  const missing = needs.labels.find((label) => !labels.includes(label));
  if (missing !== undefined)
    return lacking(`needs the label "${missing}", this machine has ${listed(labels)}`);
  const room = roomOf(sight);
  const lack = cpuLack(needs.cpu, sight, room) ?? memoryLack(needs.memoryMb, sight, room);
  if (lack !== undefined) return lacking(lack);
  return needs.gpu > 0 ? placeOnCards(needs, sight, room) : { fits: true, cards: [] };
}

function cpuLack(needed: number, { machine, held }: Sight, room: MachineRoom): string | undefined {
  const { cpu, reserve } = machine;
  if (needed === 0 || needed <= room.cpu.free) return undefined;
  const needs = `needs ${amount(needed)} ${word(needed, "core")}`;
  if (needed > cpu - reserve.cpu) return `${needs}, this machine has ${amount(cpu)}${beside(reserve.cpu)}`;
  return `${needs}, ${tail(
    room.cpu,
    reserve.cpu,
    heldBy(held, (one) => one.cpu),
  )}`;
}

function memoryLack(needed: number, { machine, held }: Sight, room: MachineRoom): string | undefined {
  const { memoryMb, reserve } = machine;
  if (needed === 0 || needed <= room.memoryMb.free) return undefined;
  const needs = `needs ${amount(needed)} MB of memory`;
  if (needed > memoryMb - reserve.memoryMb)
    return `${needs}, this machine has ${amount(memoryMb)}${beside(reserve.memoryMb)}`;
  return `${needs}, ${tail(
    room.memoryMb,
    reserve.memoryMb,
    heldBy(held, (one) => one.memoryMb),
  )}`;
}

function placeOnCards({ gpu, gpuMemoryMb }: Resources, sight: Sight, room: MachineRoom): Placing {
  const { machine, held } = sight;
  if (machine.cardProblem !== undefined)
    return lacking(`needs a GPU, and the GPUs cannot be measured: ${machine.cardProblem}`);
  const count = machine.cards.length;
  if (gpu > count)
    return lacking(`needs ${gpu} ${word(gpu, "GPU")}, this machine has ${count === 0 ? "none" : count}`);
  const cards = room.cards.map((card, index) => ({ ...card, index }));
  const fitting = cards.filter(({ isUsed, free }) => (gpuMemoryMb === 0 ? !isUsed : free >= gpuMemoryMb));
  // The fullest that still fits: what needs much finds room on the others.
  const best = fitting.sort((a, b) => a.free - b.free || a.index - b.index).slice(0, gpu);
  if (best.length === gpu) return { fits: true, cards: best.map(({ index }) => index) };
  if (gpuMemoryMb === 0) {
    const holders = heldBy(held, (one) => one.cards.length);
    return lacking(`needs ${gpu} ${word(gpu, "GPU")} of its own, ${fitting.length} free${holders}`);
  }
  return lacking(cardMemoryLack({ gpu, gpuMemoryMb }, sight, { cards, fitting: fitting.length }));
}

function cardMemoryLack(
  { gpu, gpuMemoryMb }: Pick<Resources, "gpu" | "gpuMemoryMb">,
  { machine, held }: Sight,
  { cards, fitting }: { cards: readonly (CardRoom & { index: number })[]; fitting: number },
): string {
  const reserve = machine.reserve.gpuMemoryMb;
  const needs = `needs ${gpu > 1 ? `${gpu} GPUs with ` : ""}${amount(gpuMemoryMb)} MB of GPU memory${gpu > 1 ? " each" : ""}`;
  const able = cards.filter(({ totalMb }) => totalMb - reserve >= gpuMemoryMb);
  if (able.length < gpu) {
    if (gpu > 1) return `${needs}, ${able.length} of this machine's are that large`;
    const largest = Math.max(...cards.map(({ totalMb }) => totalMb));
    return `${needs}, this machine's largest has ${amount(largest)}${beside(reserve)}`;
  }
  if (gpu > 1)
    return `${needs}, ${fitting} ${fitting === 1 ? "has" : "have"} them free${heldBy(held, ofCard)}`;
  const [best] = [...able].sort((a, b) => b.free - a.free);
  const here = held.filter((one) => best !== undefined && one.cards.includes(best.index));
  const isAlone = here.some((one) => one.gpuMemoryMb === 0);
  const holders = isAlone ? `, the GPU is held by run ${here[0]?.runId}` : heldBy(here, ofCard);
  return `${needs}, ${tail(best ?? { free: 0, isMeasured: false }, reserve, holders)}`;
}

const ofCard = (one: Held) => one.gpuMemoryMb;

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
  const named = holders.slice(0, NAMED).map((one) => `, ${amount(of(one))} held by run ${one.runId}`);
  const more = holders.length - named.length;
  return named.join("") + (more > 0 ? `, and more by ${more} other ${word(more, "run")}` : "");
}

/** `8,192`, `1.5`. */
function amount(value: number): string {
  return (Math.round(value * 100) / 100).toLocaleString("en-US");
}

const word = (count: number, one: string) => (count === 1 ? one : `${one}s`);

const listed = (labels: readonly string[]) =>
  labels.length === 0 ? "no labels" : labels.map((label) => `"${label}"`).join(", ");

const lacking = (lacks: string): Placing => ({ fits: false, lacks });
