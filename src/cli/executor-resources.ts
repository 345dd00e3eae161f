// `executor resources`.

import {
  type AmountDocument,
  type MachineDocument,
  type ResourcesDocument,
  readResources,
} from "../app/resources/resource-documents.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";

export const resources: RunCommand = async ({ io, open }) => {
  const document = await readResources(await open());
  print(io, document, () => text(document));
  return EXIT.ok;
};

function text({ machines, waiting }: ResourcesDocument): string {
  const parts = machines.map(machineText);
  if (waiting.length > 0) {
    const rows = waiting.map((one) => [one.runId, one.unit ?? "–", one.executor ?? "–", one.lacks]);
    parts.push(table(["WAITING", "TASK", "EXECUTOR", "LACKS"], rows));
  }
  return parts.join("\n\n");
}

function machineText(machine: MachineDocument): string {
  const names = machine.nodes.map(({ name }) => name).join(", ") || "this machine, without a node";
  const labels = machine.labels.length > 0 ? `  labels: ${machine.labels.join(", ")}` : "";
  const amounts: [string, AmountDocument, string][] = [
    ["cores", machine.cpu, ""],
    ["memory MB", machine.memoryMb, String(machine.memoryMb.measuredFree)],
    ...machine.gpus.map((one): [string, AmountDocument, string] => [
      `GPU ${one.index} MB`,
      one,
      one.isExclusive ? `${one.measuredFree}, held alone` : String(one.measuredFree),
    ]),
  ];
  const rows = amounts.map(([name, { total, reserve, held, free }, measured]) => [
    name,
    ...[total, reserve, held, free].map((value) => String(Math.round(value * 100) / 100)),
    measured,
  ]);
  const lines = [
    `${names}${labels}`,
    table(["", "TOTAL", "RESERVE", "HELD", "FREE", "MEASURED FREE"], rows),
    ...(machine.gpuProblem === null ? [] : [`GPUs: ${machine.gpuProblem}`]),
  ];
  if (machine.held.length > 0) {
    const held = machine.held.map((one) => [
      one.runId,
      one.unit ?? "–",
      one.executor ?? "–",
      String(one.cpu),
      String(one.memoryMb),
      one.gpus.length === 0
        ? "–"
        : `${one.gpuMemoryMb || "all"} of ${one.gpus.map((card) => `GPU ${card}`).join(", ")}`,
    ]);
    lines.push(table(["HELD BY", "TASK", "EXECUTOR", "CORES", "MEMORY MB", "GPU MB"], held));
  }
  return lines.join("\n");
}
