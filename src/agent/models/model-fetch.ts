// How a model's address is asked: without following redirects, for a key goes along.

import { Fault } from "../../kernel/errors.ts";

export type Fetch = typeof globalThis.fetch;

/**
 * A fetch that refuses redirects (Fault `model.host-refused`, naming the other host) and tells of each answer's head.
 * Everything else is `fetch`'s.
 */
export function modelFetch(fetch: Fetch, onHead: (status: number) => void): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    onHead(response.status);
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    throw redirected(String(input instanceof Request ? input.url : input), response.headers.get("location"));
  };
}

function redirected(from: string, location: string | null): Fault {
  const asked = new URL(from);
  const target = location !== null && URL.canParse(location, from) ? new URL(location, from) : undefined;
  const where = target ? `to ${target.host}` : "elsewhere";
  return new Fault("model.host-refused", `${asked.host} redirects ${where}; a key is not sent along`, {
    hint: "Write the final address as the model's `baseUrl`.",
  });
}
