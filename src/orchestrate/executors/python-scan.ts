// What a Python file offers, as python-worker.py's `scan` read it, without a line of it having run (@source seed 003 §3.3).
//
// I1. Explicit registrations come first; a function is one by itself only if its docstring says something of it.
// I2. What a registration binds is no param any more.

import type { JsonSchema } from "../../records/executor.ts";
import { type MetadataReading, readMetadata } from "./metadata.ts";

/** As `scan` prints it. */
export interface ScannedFile {
  path: string;
  error?: string;
  line?: number | null;
  functions?: Record<string, ScannedFunction>;
  registrations?: ScannedRegistration[];
  /** Running it does something: it is a script. */
  isScript?: boolean;
}

export interface ScannedFunction {
  line: number;
  docstring: string | null;
  docstringLine: number;
  input: JsonSchema | null;
  decorator: { name: string | null } | null;
}

export interface ScannedRegistration {
  line: number;
  name: unknown;
  function: string | null;
  bound: Record<string, unknown>;
  /** Bound to what only running it would tell. */
  unread: string[];
}

export interface PythonOffer {
  /** What a task calls. */
  name: string;
  /** What the worker looks up: a registered name or a function's. */
  function: string;
  line: number;
  metadata: MetadataReading;
  input: JsonSchema | undefined;
}

export interface PythonReading {
  offers: PythonOffer[];
  problems: { line: number; text: string }[];
}

/** Everything a file registers. */
export function readPythonFile({ functions = {}, registrations = [] }: ScannedFile): PythonReading {
  const reading: PythonReading = { offers: [], problems: [] };
  const taken = new Set<string>();
  for (const registration of registrations) {
    if (registration.function !== null) taken.add(registration.function);
    readRegistration(reading, registration, functions);
  }
  for (const [name, found] of Object.entries(functions)) {
    if (taken.has(name)) continue;
    const offer = offerOf(found.decorator?.name ?? name, name, found);
    if (!found.decorator && !offer.metadata.isPresent) continue;
    reading.offers.push(found.decorator ? { ...offer, function: offer.name } : offer);
    reading.problems.push(...offer.metadata.problems);
  }
  return reading;
}

/** One function by its name, for `module:` in config.yaml; what is not written in the file itself says nothing of itself. */
export function readPythonFunction(file: ScannedFile | undefined, name: string): PythonOffer {
  const registered = file?.registrations?.find((registration) => registration.name === name);
  const found = file?.functions?.[registered?.function ?? name];
  if (!found) return { name, function: name, line: 1, metadata: readMetadata([]), input: undefined };
  return registered
    ? { ...offerOf(name, name, found), input: unbound(inputOf(found), registered) }
    : offerOf(name, name, found);
}

function readRegistration(
  reading: PythonReading,
  registration: ScannedRegistration,
  functions: Record<string, ScannedFunction>,
): void {
  const { name, line } = registration;
  if (typeof name !== "string") {
    const text = "the name of register_executor is not written out; write it as a text";
    return void reading.problems.push({ line, text });
  }
  const found = functions[registration.function ?? ""];
  const offer = found
    ? offerOf(name, name, found)
    : { name, function: name, line, metadata: readMetadata([]), input: undefined };
  reading.offers.push({ ...offer, line, input: unbound(offer.input, registration) });
  reading.problems.push(...offer.metadata.problems);
}

function offerOf(name: string, functionName: string, found: ScannedFunction): PythonOffer {
  const lines = (found.docstring ?? "").split("\n");
  const metadata = readMetadata(lines.map((text, index) => ({ text, line: found.docstringLine + index })));
  return {
    name: metadata.metadata.name ?? name,
    function: functionName,
    line: found.line,
    metadata,
    input: metadata.input ?? inputOf(found),
  };
}

const inputOf = (found: ScannedFunction) => found.input ?? undefined;

/** (I2) */
function unbound(
  input: JsonSchema | undefined,
  { bound, unread }: ScannedRegistration,
): JsonSchema | undefined {
  if (!input) return undefined;
  const gone = new Set([...Object.keys(bound), ...unread]);
  const properties = Object.entries((input.properties ?? {}) as Record<string, unknown>);
  const required = Array.isArray(input.required) ? input.required.map(String) : [];
  return {
    ...input,
    properties: Object.fromEntries(properties.filter(([name]) => !gone.has(name))),
    required: required.filter((name) => !gone.has(name)),
  };
}
