// What kind of refusal an error of Modal's SDK is: gRPC's own errors by their code, the SDK's by their class.

import type { Refusal } from "./cloud-sandbox.ts";

/** gRPC's codes. @source grpc/grpc doc/statuscodes.md */
const BY_STATUS: Readonly<Record<number, Refusal>> = {
  3: "refused",
  4: "unreachable",
  5: "missing",
  7: "forbidden",
  8: "quota",
  9: "refused",
  12: "refused",
  13: "unreachable",
  14: "unreachable",
  16: "auth",
};

const BY_NAME: Readonly<Record<string, Refusal>> = {
  NotFoundError: "missing",
  ResourceExhaustedError: "quota",
  InvalidError: "refused",
  ConflictError: "missing",
  AlreadyExistsError: "refused",
  ExecutionError: "refused",
  TimeoutError: "unreachable",
  ClientClosedError: "unreachable",
};

/** By its code where it has one, else by its class. Undefined = no error of Modal or its SDK. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = "code" in error && "path" in error ? error.code : undefined;
  if (typeof status === "number") return BY_STATUS[status] ?? "unreachable";
  return BY_NAME[error.name];
}
