// `executor list | show | check`: what tasks can be done by, and what could not be registered.

import {
  checkExecutors,
  type ExecutorDocument,
  type ExecutorListDocument,
  listExecutors,
  type RemoteMachineDocument,
  showExecutor,
} from "../app/executors/executor-documents.ts";
import { formatDuration } from "../kernel/time.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { firstLine } from "./format.ts";
import { print, table } from "./io.ts";

export const list: RunCommand = async ({ io, open }) => {
  const found = await listExecutors(await open());
  if (!io.isJson) for (const problem of problemLines(found)) io.note(problem);
  print(io, found.executors, () => tableText(found.executors));
  return EXIT.ok;
};

export const show: RunCommand = async ({ args: [name = ""], io, open }) => {
  const documents = await showExecutor(await open(), name);
  print(io, documents, () => documents.map(showText).join("\n\n"));
  return EXIT.ok;
};

export const check: RunCommand = async ({ args: [file], io, open }) => {
  const found = await checkExecutors(await open(), { file, cwd: io.cwd });
  const { executors, problems, notes } = found;
  const isValid = problems.length === 0 && (file === undefined || executors.length > 0);
  print(io, { isValid, ...found }, () =>
    [
      ...executors.map(({ name, source }) => `✓ ${name} (${source})`),
      ...notes.map((note) => `note: ${note}`),
      ...problemLines(found),
      ...(executors.length === 0 && problems.length === 0 ? ["✗ it registers nothing"] : []),
    ].join("\n"),
  );
  return isValid ? EXIT.ok : EXIT.failed;
};

function problemLines({ problems }: ExecutorListDocument): string[] {
  return problems.map(({ source, error }) => `✗ ${source}: ${error}`);
}

function tableText(documents: readonly ExecutorDocument[]): string {
  const rows = documents.map((one) => [
    one.name,
    one.version,
    `${one.kind}${one.machines.length > 0 && one.machines.every(({ state }) => state === "offline") ? ", offline" : ""}`,
    limitsText(one) || "–",
    one.source,
    firstLine(one.description ?? ""),
  ]);
  return table(["NAME", "VERSION", "KIND", "LIMITS", "SOURCE", "WHAT"], rows);
}

function limitsText({ timeoutMs, retry, resources }: ExecutorDocument): string {
  const { cpu, memoryMb, gpu, gpuMemoryMb, labels } = resources;
  return [
    ...(timeoutMs === null ? [] : [timeoutMs === 0 ? "no timeout" : formatDuration(timeoutMs)]),
    ...(retry?.max ? [`retry ${retry.max}`] : []),
    ...(cpu > 0 ? [`${cpu} cpu`] : []),
    ...(memoryMb > 0 ? [`${memoryMb} MB`] : []),
    ...(gpu > 0 ? [`${gpu} gpu`] : []),
    ...(gpuMemoryMb > 0 ? [`${gpuMemoryMb} MB gpu`] : []),
    ...labels,
  ].join(", ");
}

function showText(document: ExecutorDocument): string {
  const { name, version, kind, source, description, effects, input, output } = document;
  const facts: [string, string][] = [
    ["kind", kind],
    ["source", source],
    ["limits", limitsText(document) || "those of the task, else of the orchestrator"],
    ["effects", effects],
  ];
  return [
    `${name} ${version}${description ? `: ${description}` : ""}`,
    ...facts.map(([label, value]) => `  ${label.padEnd(8)} ${value}`),
    ...schemaLines("params", input),
    ...schemaLines("result", output),
    ...document.machines.map(machineLine),
  ].join("\n");
}

function machineLine({
  url,
  node,
  state,
  since,
  reason,
  roundTripMs,
  skewMs,
  calls,
}: RemoteMachineDocument): string {
  const facts = [
    `${state} since ${since}`,
    ...(reason === null ? [] : [reason]),
    ...(roundTripMs === null ? [] : [`answered in ${Math.round(roundTripMs)} ms`]),
    ...(skewMs === null ? [] : [`its clock ${skewText(skewMs)}`]),
    ...(calls > 0 ? [`${calls} under way`] : []),
  ];
  return `  machine  ${url} (${node}): ${facts.join(", ")}`;
}

function skewText(skewMs: number): string {
  if (skewMs === 0) return "as ours";
  return `${Math.abs(skewMs)} ms ${skewMs > 0 ? "ahead" : "behind"}`;
}

function schemaLines(label: string, schema: Readonly<Record<string, unknown>> | null): string[] {
  if (schema === null) return [`  ${label.padEnd(8)} anything`];
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>);
  if (properties.length === 0) return [`  ${label.padEnd(8)} ${JSON.stringify(schema)}`];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return [
    `  ${label}`,
    ...properties.map(([key, property]) => `    ${paramText(key, property, required.includes(key))}`),
  ];
}

function paramText(key: string, property: Record<string, unknown>, isRequired: boolean): string {
  const type = [property.type].flat().filter(Boolean).join(" or ") || "any";
  const choice = Array.isArray(property.enum)
    ? ` one of ${property.enum.map((value) => JSON.stringify(value)).join(", ")}`
    : "";
  const fallback = property.default === undefined ? "" : ` = ${JSON.stringify(property.default)}`;
  const words = typeof property.description === "string" ? `  ${property.description}` : "";
  return `${key} ${type}${choice}${fallback}${isRequired ? "" : fallback ? "" : " (optional)"}${words}`;
}
