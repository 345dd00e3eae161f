// What a service's refusal means for a person, and what to do about it.
//
// I1. The service's own sentence is passed on, cut to one line; an error's other contents (headers, requests) never are.

import { Fault, messageOf } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import type { CloudService, Refusal } from "./cloud-sandbox.ts";

const KEYS: Readonly<Record<CloudSpec["backend"], string>> = {
  modal: "MODAL_TOKEN_ID and MODAL_TOKEN_SECRET",
  daytona: "DAYTONA_API_KEY",
  vercel: "VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID",
};

const LONGEST = 300;

interface Refused {
  service: Pick<CloudService, "refusalOf">;
  spec: CloudSpec;
  label: string;
  error: unknown;
  /** What could not be done, in words. */
  doing: string;
  code?: "environment.unusable" | "environment.broken";
}

/** The fault for an error of the SDK; a bug stays what it is. */
export function cloudFault({ service, spec, label, error, doing, code }: Refused): Error {
  const refusal = service.refusalOf(error);
  if (!refusal) return error instanceof Error ? error : new Error(String(error));
  const { hint, retry } = meaning(refusal, spec);
  return new Fault(code ?? "environment.unusable", `${label}: ${doing}: ${said(error)}`, { hint, retry });
}

function meaning(refusal: Refusal, spec: CloudSpec): { hint: string; retry: "never" | "later" } {
  switch (refusal) {
    case "auth":
      return { hint: `Check ${KEYS[spec.backend]}: the service does not take them.`, retry: "never" };
    case "forbidden":
      return { hint: "Check what the key may do, and the account's plan and limits.", retry: "never" };
    case "quota":
      return {
        hint: "Wait, end other sandboxes of the account, or raise its limits at the service.",
        retry: "later",
      };
    case "missing":
      return { hint: "Correct the image, the runtime or the name.", retry: "never" };
    case "refused":
      return {
        hint: "Correct the environment as the service says, or raise the account's limits.",
        retry: "never",
      };
    case "unreachable":
      return { hint: "Look at the network, at the service's status page, and at apiUrl.", retry: "later" };
  }
}

function said(error: unknown): string {
  const [line = ""] = messageOf(error).trim().split("\n");
  return (line || "no reason given").slice(0, LONGEST);
}
