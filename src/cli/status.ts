// `status`, `node list`.

import { listNodes } from "../app/nodes.ts";
import { readStatus, type StatusDocument } from "../app/status.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { instant } from "./format.ts";
import { print, table } from "./io.ts";

export const status: RunCommand = async ({ io, open }) => {
  const found = await readStatus(await open());
  print(io, found, () => statusText(found));
  return EXIT.ok;
};

function statusText(found: StatusDocument): string {
  const counts = (of: Readonly<Partial<Record<string, number>>>) =>
    Object.entries(of)
      .filter(([, count]) => count)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ") || "none";
  const lines = [
    `home        ${found.home}`,
    `store       ${found.store}`,
    ...(found.nodes.length === 0 ? ["node        none is up: nightshift up"] : []),
    ...found.nodes.map(
      (node) =>
        `node        ${node.name} ${node.state}, ${node.liveRuns}/${node.maxParallelRuns} runs, last pass ${instant(node.lastPassAt)}${node.url ? `, ${node.url}` : ""}`,
    ),
    `jobs        ${counts(found.jobs)}`,
    `runs        ${counts(found.runs)}`,
    `deliveries  ${counts(found.deliveries)}`,
    ...found.upcoming.map(({ jobId, slot }) => `next        ${slot} ${jobId}`),
    ...found.overdue.map(({ jobId, dueAt }) => `overdue     ${jobId} since ${dueAt}`),
    ...found.attention.map(({ jobId, state, reason }) => `${state.padEnd(11)} ${jobId}: ${reason ?? ""}`),
    ...found.unusedFiles.map(({ source, why }) => `not used    ${source}: ${why}`),
  ];
  return lines.join("\n");
}

export const nodeList: RunCommand = async ({ io, open }) => {
  const nodes = await listNodes(await open());
  const rows = nodes.map((node) => [
    node.id,
    node.name,
    node.state,
    `${node.liveRuns}/${node.maxParallelRuns}`,
    instant(node.startedAt),
    instant(node.lastPassAt),
    node.url ?? "–",
  ]);
  print(io, nodes, () =>
    rows.length === 0
      ? "No node has run here yet."
      : table(["NODE", "NAME", "STATE", "RUNS", "STARTED", "LAST PASS", "URL"], rows),
  );
  return EXIT.ok;
};
