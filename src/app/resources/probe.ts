// One measurement of this machine: the operating system, its control groups, its GPUs, and what the config says of it.

import { availableParallelism, freemem, totalmem } from "node:os";
import { DEFAULT_PATH } from "../../execute/command-env.ts";
import type { MachineResources } from "../../records/resources.ts";
import type { Context } from "../context.ts";
import { type GroupFolders, readGroupLimits } from "./cgroups.ts";
import { type CardProbe, openCardProbe } from "./graphics-cards.ts";

export interface Probe {
  /** Never rejects, and takes seconds at most (graphics-cards.ts). */
  measure(): Promise<MachineResources>;
  /** Idempotent. */
  close(): void;
}

type ProbeContext = Pick<Context, "clock" | "config" | "env">;

const MB = 1_048_576;

export function openProbe(
  context: ProbeContext,
  options: { folders?: GroupFolders; patienceMs?: number } = {},
): Probe {
  const { clock, env } = context;
  const { folders, patienceMs } = options;
  const path = env.PATH || DEFAULT_PATH;
  const cards: CardProbe = openCardProbe({ clock, path, ...(patienceMs !== undefined && { patienceMs }) });
  return {
    async measure() {
      const [limits, reading] = await Promise.all([readGroupLimits(folders), cards.read()]);
      const { reserve } = context.config.orchestrator;
      return {
        probedAt: clock.now(),
        cpu: Math.min(availableParallelism(), limits.cpu ?? Number.POSITIVE_INFINITY),
        ...memoryOf(limits.memory),
        cards: reading.cards,
        cardProblem: reading.problem,
        labels: labelsOf(context),
        reserve,
      };
    },
    close: () => cards.close(),
  };
}

function memoryOf(
  group: Awaited<ReturnType<typeof readGroupLimits>>["memory"],
): Pick<MachineResources, "memoryMb" | "memoryFreeMb"> {
  const limit = group?.limitBytes ?? Number.POSITIVE_INFINITY;
  const left = group?.leftBytes ?? Number.POSITIVE_INFINITY;
  return {
    memoryMb: Math.floor(Math.min(totalmem(), limit) / MB),
    // Node reads what Linux calls available: caches that are given back count as free.
    memoryFreeMb: Math.floor(Math.min(freemem(), left) / MB),
  };
}

/** `orchestrator.labels` and NIGHTSHIFT_LABELS, separated by commas. */
function labelsOf({ config, env }: ProbeContext): string[] {
  const own = (env.NIGHTSHIFT_LABELS ?? "").split(",").map((label) => label.trim());
  return [...new Set([...config.orchestrator.labels, ...own])].filter((label) => label !== "");
}
