// `executor resources` and `GET /api/resources`: what each machine has, what is free, and which runs hold the rest.

import { formatInstant } from "../../kernel/time.ts";
import { type Held, roomOf } from "../../orchestrate/resources/room.ts";
import type { Run } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { unitOf } from "../run-names.ts";
import { type Machine, readMachines, whyNoMachine } from "./machines.ts";

export interface AmountDocument {
  total: number;
  /** Kept for the machine itself (`orchestrator.reserve`). */
  reserve: number;
  held: number;
  /** What a task may still ask for. */
  free: number;
}

export interface CardDocument extends AmountDocument {
  index: number;
  measuredFree: number;
  /** One run has it to itself. */
  isExclusive: boolean;
}

export interface HoldingDocument {
  runId: string;
  /** Which task of its workflow it is. */
  unit: string | null;
  executor: string | null;
  since: string;
  cpu: number;
  memoryMb: number;
  gpus: number[];
  gpuMemoryMb: number;
}

export interface MachineDocument {
  hostId: string;
  nodes: { id: string; name: string }[];
  measuredAt: string;
  cpu: AmountDocument;
  memoryMb: AmountDocument & { measuredFree: number };
  /** In MB. */
  gpus: CardDocument[];
  /** Why the GPUs could not be measured. */
  gpuProblem: string | null;
  labels: string[];
  held: HoldingDocument[];
}

export interface ResourcesDocument {
  machines: MachineDocument[];
  /** Tasks that wait for something of it. */
  waiting: { runId: string; unit: string | null; executor: string | null; lacks: string }[];
}

const MOST_RUNS = 1_000;

export async function readResources(context: Context): Promise<ResourcesDocument> {
  const [machines, waiting] = await Promise.all([
    readMachines(context),
    context.ledger.runs({ state: ["waiting"], limit: MOST_RUNS }),
  ]);
  const documents: MachineDocument[] = [];
  for (const machine of machines) documents.push(await machineDocument(context, machine));
  const lacking: ResourcesDocument["waiting"] = [];
  for (const run of waiting.filter(({ reason }) => reason === "resources")) {
    const lacks = (await whyNoMachine(context, run, machines)) ?? "nothing any more: the next pass starts it";
    lacking.push({ runId: run.id, ...nameOf(run), lacks });
  }
  return { machines: documents, waiting: lacking };
}

async function machineDocument(
  context: Context,
  { hostId, nodes, resources, held }: Machine,
): Promise<MachineDocument> {
  const room = roomOf({ machine: resources, held });
  const { reserve, cards } = resources;
  const sum = (of: (one: Held) => number) => held.reduce((total, one) => total + of(one), 0);
  const amount = (total: number, kept: number, free: number, of: (one: Held) => number): AmountDocument => ({
    ...{ total, reserve: kept, held: sum(of), free: Math.max(0, free) },
  });
  return {
    hostId,
    nodes: nodes.map(({ id, name }) => ({ id, name })),
    measuredAt: formatInstant(resources.probedAt),
    cpu: amount(resources.cpu, reserve.cpu, room.cpu.free, (one) => one.cpu),
    memoryMb: {
      ...amount(resources.memoryMb, reserve.memoryMb, room.memoryMb.free, (one) => one.memoryMb),
      measuredFree: resources.memoryFreeMb,
    },
    gpus: cards.map(({ totalMb, freeMb }, index) => ({
      index,
      ...amount(totalMb, reserve.gpuMemoryMb, room.cards[index]?.free ?? 0, (one) =>
        one.cards.includes(index) ? one.gpuMemoryMb : 0,
      ),
      measuredFree: freeMb,
      isExclusive: held.some((one) => one.cards.includes(index) && one.gpuMemoryMb === 0),
    })),
    gpuProblem: resources.cardProblem ?? null,
    labels: [...resources.labels],
    held: await Promise.all(held.map((one) => holdingDocument(context, one))),
  };
}

async function holdingDocument(context: Context, one: Held): Promise<HoldingDocument> {
  const run = await context.ledger.run(one.runId);
  const { runId, since, cpu, memoryMb, cards, gpuMemoryMb } = one;
  return {
    runId,
    ...(run && "id" in run ? nameOf(run) : { unit: null, executor: null }),
    since: formatInstant(since),
    ...{ cpu, memoryMb, gpus: [...cards], gpuMemoryMb },
  };
}

function nameOf(run: Run): { unit: string | null; executor: string | null } {
  return { unit: unitOf(run) ?? null, executor: run.admission?.executor ?? null };
}
