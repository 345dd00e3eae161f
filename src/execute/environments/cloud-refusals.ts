// What services refuse, told alike.

import type { Refusal } from "./cloud-sandbox.ts";

const BY_STATUS: Readonly<Record<number, Refusal>> = {
  401: "auth",
  402: "quota",
  403: "forbidden",
  404: "missing",
  410: "missing",
  429: "quota",
};

/** What an HTTP status of 400 and more says. */
export function refusalOfStatus(status: number): Refusal {
  return BY_STATUS[status] ?? (status >= 500 ? "unreachable" : "refused");
}

/** What is asked for, or `otherwise` where the service knows it no more. */
export async function missingAs<Value, Other>(
  refusalOf: (error: unknown) => Refusal | undefined,
  asked: Promise<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  try {
    return await asked;
  } catch (error) {
    if (refusalOf(error) === "missing") return otherwise;
    throw error;
  }
}
