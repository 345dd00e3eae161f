// Everything that executors/ registers, file by file; a file that cannot be read is a problem and stops no other.
//
// I1. A file that has not changed is not read again: a module is imported once for each of its states.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Fault, isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { executorOfDefinition } from "../../orchestrate/executors/from-definition.ts";
import { type MetadataReading, readMetadata } from "../../orchestrate/executors/metadata.ts";
import {
  type PythonOffer,
  readPythonFile,
  type ScannedFile,
} from "../../orchestrate/executors/python-scan.ts";
import { leadingComment } from "../../orchestrate/executors/script-comment.ts";
import type { Executor, ExecutorProblem } from "../../records/executor.ts";
import { promiseOf } from "../../records/executor-config.ts";
import { EXECUTOR_NAME, NOT_A_NAME } from "../../records/executor-name.ts";
import { type FolderFile, listFolder, nameOf, roleOf, stateOf } from "./folder-files.ts";
import { loadModule } from "./load-module.ts";
import { makeExecutor } from "./make-executor.ts";
import { definitionsIn } from "./module-exports.ts";
import { pythonExecutor } from "./python-executor.ts";
import type { Room } from "./room.ts";
import type { ScanAnswer } from "./scan-python.ts";
import { ANY_PLACE, scriptAttempt } from "./script-attempt.ts";

export interface FileReading {
  state: string;
  executors: Executor[];
  problems: ExecutorProblem[];
  notes: string[];
}

/** By file name. */
export type FolderReading = ReadonlyMap<string, FileReading>;

/** A file younger than this may be half written; what was known of it counts meanwhile (D2). */
const SETTLED_MS = 1_000;

/** Reads what has changed since `before`. */
export async function readFolder(room: Room, before: FolderReading): Promise<FolderReading> {
  const { executorsFolder } = room.context.home.paths;
  const now = room.context.clock.now();
  const after = new Map<string, FileReading>();
  const changed: FolderFile[] = [];
  for (const file of listFolder(executorsFolder)) {
    const known = before.get(file.name);
    const isUnsettled = known !== undefined && now - file.changedAt < SETTLED_MS && now >= file.changedAt;
    if (known && (known.state === file.state || isUnsettled)) after.set(file.name, known);
    else changed.push(file);
  }
  const python = changed.filter((file) => isReadable(file) && roleOf(file) === "python");
  const scanned = await room.scan({
    files: python.map(({ path }) => path),
    modules: [],
  });
  for (const file of changed) after.set(file.name, await readFile(room, file, scanned));
  return new Map([...after].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** One file as if it lay in executors/. Throws Fault `input.not-found`. */
export async function readOneFile(room: Room, path: string): Promise<FileReading> {
  const found = stateOf(path);
  if (!found) throw new Fault("input.not-found", `there is no file ${path}`, { hint: "Correct its path." });
  const file = { name: basename(path), path, ...found };
  const isPython = roleOf(file) === "python";
  const scanned = await room.scan({ files: isPython ? [path] : [], modules: [] });
  return readFile(room, file, scanned);
}

function isReadable({ path }: FolderFile): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

type Scanned = ScanAnswer | string;

async function readFile(room: Room, file: FolderFile, scanned: Scanned): Promise<FileReading> {
  const reading: FileReading = { state: file.state, executors: [], problems: [], notes: [] };
  const source = `executors/${file.name}`;
  try {
    const role = roleOf(file);
    if (role === "module") await readModule(room, file, reading);
    else if (role === "python") readPython(room, { file, scanned }, reading);
    else if (role === "script") readScript(room, file, reading);
    else
      reading.problems.push({
        source,
        error: "nothing says what runs it; begin it with a line such as #!/bin/sh, or move it elsewhere",
      });
  } catch (error) {
    reading.problems.push({ source, error: isFault(error) ? sayFault(error) : messageOf(error) });
  }
  return reading;
}

async function readModule({ context }: Room, file: FolderFile, reading: FileReading): Promise<void> {
  const source = `executors/${file.name}`;
  const exports = await loadModule(file.path, { state: file.state, home: context.home.paths.root });
  const definitions = definitionsIn(exports);
  if (definitions.length === 0)
    reading.problems.push({
      source,
      error: "it exports no executor; export default defineExecutor({…}), or let its name begin with _",
    });
  for (const definition of definitions) {
    try {
      reading.executors.push(await executorOfDefinition(definition, { source, notes: reading.notes }));
    } catch (error) {
      reading.problems.push({ source, error: isFault(error) ? sayFault(error) : messageOf(error) });
    }
  }
}

function readPython(
  room: Room,
  { file, scanned }: { file: FolderFile; scanned: Scanned },
  reading: FileReading,
): void {
  const source = `executors/${file.name}`;
  const found =
    typeof scanned === "string" ? undefined : scanned.files.find(({ path }) => path === file.path);
  if (!found || found.error !== undefined) {
    const where = found?.line ? `${source}:${found.line}` : source;
    reading.problems.push({ source: where, error: found?.error ?? String(scanned) });
    return;
  }
  const { offers, problems } = readPythonFile(found);
  for (const { line, text } of problems) reading.problems.push({ source: `${source}:${line}`, error: text });
  if (offers.length === 0 && found.isScript) readScript(room, file, reading);
  for (const offer of offers) addPython(room, { file: found, offer, source }, reading);
}

function addPython(
  room: Room,
  { file, offer, source }: { file: ScannedFile; offer: PythonOffer; source: string },
  reading: FileReading,
): void {
  if (offer.metadata.problems.length > 0) return;
  if (!EXECUTOR_NAME.test(offer.name)) {
    reading.problems.push({ source: `${source}:${offer.line}`, error: `"${offer.name}" ${NOT_A_NAME}` });
    return;
  }
  const { executorsFolder } = room.context.home.paths;
  reading.executors.push(
    pythonExecutor(room, {
      name: offer.name,
      source,
      ...promiseOf(offer.name, offer.metadata.metadata, reading.notes),
      description: offer.metadata.description,
      input: offer.input,
      target: { module: nameOf(file.path), path: file.path, folders: [executorsFolder] },
      function: offer.function,
    }),
  );
}

function readScript(room: Room, file: FolderFile, reading: FileReading): void {
  const source = `executors/${file.name}`;
  const said = scriptMetadata(file.path);
  for (const { line, text } of said.problems)
    reading.problems.push({ source: `${source}:${line}`, error: text });
  // Read whole or not at all: without its retries or its limits it would be another executor.
  if (said.problems.length > 0) return;
  const name = said.metadata.name ?? nameOf(file.name);
  if (!EXECUTOR_NAME.test(name)) {
    reading.problems.push({ source, error: `"${name}" ${NOT_A_NAME}` });
    return;
  }
  const promise = promiseOf(name, said.metadata, reading.notes);
  reading.executors.push(
    makeExecutor(
      { name, kind: "script", source, ...promise, description: said.description, input: said.input },
      scriptAttempt(room, {
        folder: room.context.home.paths.executorsFolder,
        script: file.name,
        args: [],
        pass: said.metadata.pass ?? "both",
        input: said.input,
        place: { ...ANY_PLACE, effects: promise.effects ?? "external" },
      }),
    ),
  );
}

/** @internal What a script's leading comment says of it. */
export function scriptMetadata(path: string): MetadataReading {
  return readMetadata(leadingComment(readFileSync(path, "utf8")));
}

/** The absolute path of a file of the folder, or undefined when there is none. */
export function inFolder(folder: string, name: string): string | undefined {
  return listFolder(folder).some((file) => file.name === name) ? join(folder, name) : undefined;
}
