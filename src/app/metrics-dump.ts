// `metrics dump`: how large the store is, table by table, and what the nodes' processes hold in memory.

import { formatInstant } from "../kernel/time.ts";
import type { NodeMemory } from "../records/node.ts";
import type { Context } from "./context.ts";
import { isUp } from "./nodes.ts";

export interface MetricsDumpDocument {
  now: string;
  store: {
    engine: "sqlite" | "postgres";
    totalBytes: number;
    /** The largest first. Bytes with indexes; null where the engine cannot say. */
    tables: { table: string; rows: number; bytes: number | null }[];
  };
  /** Those that are up. */
  nodes: {
    id: string;
    name: string;
    /** As it last said; null = not yet: it says so half a minute after its start. */
    memory: (Omit<NodeMemory, "at"> & { at: string }) | null;
  }[];
}

/** Reads the whole store: for the command line's own process. */
export async function dumpMetrics(context: Context): Promise<MetricsDumpDocument> {
  const { ledger } = context;
  const now = await ledger.now();
  const [nodes, { totalBytes, tables }] = await Promise.all([ledger.nodes(), ledger.storeSizes()]);
  return {
    now: formatInstant(now),
    store: {
      engine: ledger.engine,
      totalBytes,
      tables: tables
        .map(({ table, rows, bytes }) => ({ table, rows, bytes: bytes ?? null }))
        .toSorted((a, b) => (b.bytes ?? b.rows) - (a.bytes ?? a.rows)),
    },
    nodes: nodes
      .filter((node) => isUp(node, context, now))
      .map(({ id, name, memory }) => ({
        ...{ id, name },
        memory: memory ? { ...memory, at: formatInstant(memory.at) } : null,
      })),
  };
}
