// Request bodies: bounded, of a declared type, and refused in the same words as a file.

import type * as z from "zod/mini";
import { Fault, messageOf } from "../kernel/errors.ts";
import { faultOfIssues, issuesOf } from "../records/document-issues.ts";
import { parseYamlDocument } from "../records/yaml-text.ts";
import type { MediaType, RouteBody } from "./route.ts";

/** 1 MB: a thousand jobs in one stream, and nothing that hurts. */
export const MAX_BODY_BYTES = 1_000_000;

/** Other names of the same type. */
const ALIASES: Readonly<Record<string, MediaType>> = {
  "application/json": "application/json",
  "application/yaml": "application/yaml",
  "application/x-yaml": "application/yaml",
  "text/yaml": "application/yaml",
};

export interface ReadBody {
  text: string;
  type: MediaType | undefined;
}

/** Throws `input.too-large`, `input.media-type`, `input.invalid` (missing, not UTF-8). */
export async function readBody(request: Request, accepted: RouteBody | undefined): Promise<ReadBody> {
  const bytes = await readBounded(request);
  if (bytes.length === 0) {
    if (!accepted?.isRequired) return { text: "", type: undefined };
    throw new Fault("input.invalid", "The body is missing.", {
      hint: `Send ${accepted.types.join(" or ")}.`,
    });
  }
  const declared = request.headers.get("content-type") ?? "";
  const type = ALIASES[declared.split(";")[0]?.trim().toLowerCase() ?? ""];
  if (accepted && (!type || !accepted.types.includes(type))) throw wrongType(declared, accepted);
  return { text: decode(bytes), type };
}

function wrongType(declared: string, accepted: RouteBody): Fault {
  const what = declared ? `A body of type ${declared} is not taken here.` : "The body has no Content-Type.";
  return new Fault("input.media-type", what, {
    hint: `Send Content-Type: ${accepted.types.join(" or ")}.`,
  });
}

/** The bytes as they came. Throws `input.too-large`. */
export async function readBounded(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): Fault {
  return new Fault("input.too-large", `The body is larger than ${MAX_BODY_BYTES} bytes.`, {
    hint: "Send it in parts.",
    details: { limit: MAX_BODY_BYTES },
  });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("input.invalid", "The body is not UTF-8.", { hint: "Send UTF-8." });
  }
}

/** Throws `input.invalid` for a text that is not JSON, `where` saying what it should have been. */
export function requireJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Fault("input.invalid", `The body is not JSON: ${messageOf(error)}.`, {
      hint: "Correct the JSON.",
      cause: error,
    });
  }
}

/** A JSON body in the form of `schema`; an empty one is `{}`. Throws `input.invalid` with every mistake and its place. */
export function parseBody<Schema extends z.ZodMiniType>(text: string, schema: Schema): z.infer<Schema> {
  const value = requireJson(text || "{}");
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error.issues, value, schema);
  const place = parseYamlDocument(text || "{}", "body");
  throw (
    faultOfIssues("input.invalid", issues, place) ??
    new Fault("input.invalid", "The body does not have the form this route takes.", {
      hint: "See /api/openapi.json.",
    })
  );
}
