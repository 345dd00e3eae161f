// From a fault's code to a status, and the error document. Nothing else in this surface maps errors.

import { type FaultCode, isFault, type Place } from "../kernel/errors.ts";

/** The same document as the CLI's `--json` prints. */
export interface ErrorDocument {
  error: {
    code: string;
    message: string;
    hint: string;
    place: Place | null;
    details: Record<string, unknown> | null;
  };
}

/** 400 what cannot be read · 422 what was read and is refused · 409 what collides · 5xx what is ours. */
const STATUS: Readonly<Record<FaultCode, number>> = {
  "input.usage": 400,
  "input.invalid": 400,
  "input.not-found": 404,
  "input.ambiguous": 409,
  "input.conflict": 409,
  "input.refused": 422,
  "input.too-large": 413,
  "input.media-type": 415,
  "input.method": 405,
  "job.invalid": 422,
  "job.yaml": 400,
  "job.unreadable": 422,
  "workflow.invalid": 422,
  "executor.invalid": 422,
  "executor.unknown": 422,
  "executor.params": 422,
  "schedule.unreadable": 422,
  "schedule.never-fires": 422,
  "schedule.past": 422,
  "schedule.zone": 422,
  "target.unknown": 422,
  "target.no-origin": 422,
  "target.refused": 422,
  "script.path": 422,
  "script.missing": 422,
  "config.invalid": 500,
  "home.unusable": 500,
  "store.busy": 503,
  "store.unavailable": 503,
  "store.newer": 500,
  "store.corrupt": 500,
  "store.full": 507,
  "store.network-file-system": 500,
  "environment.broken": 500,
  "environment.unusable": 422,
  "environment.file-missing": 404,
  "environment.file-refused": 422,
  "process.unknown": 404,
  "model.unknown": 422,
  "model.key-missing": 422,
  "model.host-refused": 422,
  "model.unpriced": 422,
  "model.unreachable": 502,
  "budget.spent": 422,
  "prompt.blocked": 422,
  "skill.missing": 422,
  "skill.invalid": 422,
  "tool.unknown": 422,
  "mcp.unreachable": 502,
  "cassette.missing": 404,
  "cassette.differs": 409,
  "platform.unsupported": 500,
  "auth.refused": 401,
  "auth.forbidden": 403,
};

/** A conflict that the caller had guarded with `If-Match` is a failed precondition. */
export function statusOf(error: unknown, { hasPrecondition }: { hasPrecondition: boolean }): number {
  if (!isFault(error)) return 500;
  return error.code === "input.conflict" && hasPrecondition ? 412 : STATUS[error.code];
}

/** What went wrong, for people and programs. Of a bug only that it is one: its message may hold anything. */
export function errorDocument(error: unknown): ErrorDocument {
  if (!isFault(error)) {
    const message = "Something went wrong inside Nightshift.";
    return {
      error: { code: "bug", message, hint: "See `nightshift logs`.", place: null, details: null },
    };
  }
  const { code, message, hint, place, details } = error;
  return { error: { code, message, hint, place: place ?? null, details: details ?? null } };
}
