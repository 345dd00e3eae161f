// The machines of a ledger, as their nodes measured them, with what live runs hold of each; and why a task fits on none.

import { chooseRegistration } from "../../orchestrate/resources/choose.ts";
import { placeRequest } from "../../orchestrate/resources/place-request.ts";
import type { Held } from "../../orchestrate/resources/room.ts";
import type { NodeRecord } from "../../records/node.ts";
import { capacityOf, type MachineResources } from "../../records/resources.ts";
import { LIVE_STATES, type Run } from "../../records/run.ts";
import type { Resources } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import { isUp, takesWork } from "../nodes.ts";
import { heldBy } from "./held.ts";
import { openProbe } from "./probe.ts";

export interface Machine {
  hostId: string;
  /** Those that are up, oldest first; none for a machine that only asks. */
  nodes: readonly NodeRecord[];
  resources: MachineResources;
  held: readonly Held[];
}

/** Beyond it a list is cut: more live tasks than any machine has cores. */
const MOST_RUNS = 1_000;

/** One for each host with a node that is up; this machine, measured now, also where no node of it is. */
export async function readMachines(context: Context): Promise<Machine[]> {
  const now = await context.ledger.now();
  const [nodes, runs] = await Promise.all([
    context.ledger.nodes(),
    context.ledger.runs({ state: LIVE_STATES, limit: MOST_RUNS }),
  ]);
  const up = nodes.filter((node) => takesWork(node) && isUp(node, context, now));
  const own = await measureOnce(context);
  const hosts = new Map<string, NodeRecord[]>([[context.host.hostId, []]]);
  for (const node of [...up].reverse()) hosts.set(node.hostId, [...(hosts.get(node.hostId) ?? []), node]);
  return [...hosts].flatMap(([hostId, nodes]) => {
    const resources = hostId === context.host.hostId ? own : newestOf(nodes);
    return resources ? [{ hostId, nodes, resources, held: heldBy(runs, hostId) }] : [];
  });
}

/**
 * What each machine has in all, for requests that none could ever meet (W5): those with a node, and where none is up this
 * one. None on a shared database without a node: whose machines will do it, nobody knows.
 */
export async function readCapacities(context: Context): Promise<Resources[]> {
  const machines = await readMachines(context);
  const withNodes = machines.filter(({ nodes }) => nodes.length > 0);
  if (withNodes.length === 0 && context.ledger.engine === "postgres") return [];
  return (withNodes.length > 0 ? withNodes : machines).map(({ resources }) => capacityOf(resources));
}

/** What a waiting task lacks on each machine, as a sentence's end; undefined = one of them can take it. */
export async function whyNoMachine(
  context: Pick<Context, "executors">,
  { admission }: Pick<Run, "admission">,
  machines: readonly Machine[],
): Promise<string | undefined> {
  const { executor, version, resources } = admission ?? {};
  const registered = executor === undefined ? [] : await context.executors.named(executor);
  const lacks: string[] = [];
  for (const { resources: machine, held, nodes } of machines) {
    const sight = { machine, held };
    const answer =
      registered.length > 0
        ? chooseRegistration(registered, { version, resources }, sight)
        : resources && placeRequest(resources, sight);
    if (!answer || !("lacks" in answer)) return undefined;
    lacks.push(machines.length > 1 ? `${nodes[0]?.name ?? "here"}: ${answer.lacks}` : answer.lacks);
  }
  return lacks.join("; ");
}

async function measureOnce(context: Context): Promise<MachineResources> {
  const probe = openProbe(context);
  try {
    return await probe.measure();
  } finally {
    probe.close();
  }
}

function newestOf(nodes: readonly NodeRecord[]): MachineResources | undefined {
  const measured = nodes.flatMap(({ resources }) => resources ?? []);
  return measured.sort((a, b) => b.probedAt - a.probedAt)[0];
}
