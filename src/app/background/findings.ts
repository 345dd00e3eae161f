// What `doctor` cannot account for among background processes: nothing is orphaned silently (DESIGN §8).

import { readdir } from "node:fs/promises";
import { processesMarked } from "../../execute/process-table.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";
import { isUp } from "../nodes.ts";
import { isOfAnotherBoot, isOfThisHost, processesFolder } from "./places.ts";

export async function backgroundFindings(context: Context): Promise<Finding[]> {
  const { ledger } = context;
  const records = await ledger.backgrounds({});
  const known = new Set(records.map(({ id }) => id));
  const [now, nodes] = [await ledger.now(), await ledger.nodes()];
  const hosts = new Set(nodes.filter((node) => isUp(node, context, now)).map(({ hostId }) => hostId));
  return [
    ...records.flatMap((record) => ofRecord(context, record, hosts)),
    ...(await unknownLeft(context, known)),
  ];
}

function ofRecord(context: Context, record: BackgroundRecord, hosts: ReadonlySet<string>): Finding[] {
  const { id, command, state } = record;
  const name = `${id} (${command.slice(0, 80)})`;
  if (!isOfThisHost(context, record)) {
    if (state !== "running" || hosts.has(record.hostId) || isOfAnotherBoot(context, record)) return [];
    const what = `Background process ${name} runs on another host, where no node is up: nobody sees its end.`;
    return [{ code: "processUnseen", what, todo: "Start a node there." }];
  }
  if (state === "running") return [];
  const left = processesMarked(id);
  if (left.length === 0) return [];
  const how = state === "lost" ? "lost its supervisor" : "has ended";
  const what = `Background process ${name} ${how}, and left running: ${pidsOf(left)}.`;
  return [{ code: "processLeftover", what, todo: `If it should not: nightshift process kill ${id}.` }];
}

/** Their row is gone, or was never written. */
async function unknownLeft(context: Context, known: ReadonlySet<string>): Promise<Finding[]> {
  const names = await readdir(processesFolder(context)).catch(() => []);
  return names
    .filter((id) => !known.has(id))
    .flatMap((id) => {
      const left = processesMarked(id);
      if (left.length === 0) return [];
      const what = `Processes of ${id} run and the ledger does not know it: ${pidsOf(left)}.`;
      return [
        { code: "processUnknown", what, todo: `Look at them; end them with kill ${pidsOf(left, " ")}.` },
      ];
    });
}

const pidsOf = (left: readonly { pid: number }[], separator = ", ") =>
  left.map(({ pid }) => pid).join(separator);
