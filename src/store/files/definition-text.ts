// One definition's bytes as text, with the digest that identifies them; or why they cannot be that.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { messageOf } from "../../kernel/errors.ts";
import { codeOf } from "./atomic-write.ts";

/** A definition is written by a person: a larger file is something else. */
const MAX_BYTES = 1_000_000;

export type DefinitionText =
  | { kind: "text"; text: string; digest: string }
  | { kind: "missing" }
  | { kind: "unreadable"; error: string };

/** Reads a file as UTF-8. Never throws: what is wrong with it is an answer. The byte-order mark stays in the text. */
export async function readDefinition(path: string): Promise<DefinitionText> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { kind: "missing" };
    return { kind: "unreadable", error: messageOf(error) };
  }
  if (bytes.byteLength > MAX_BYTES)
    return { kind: "unreadable", error: `it is larger than ${MAX_BYTES} bytes` };
  if (bytes.includes(0)) return { kind: "unreadable", error: "it holds NUL bytes, so it is no text" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { kind: "text", text, digest: digestOf(bytes) };
  } catch {
    return { kind: "unreadable", error: "it is not UTF-8 text" };
  }
}

/** sha256 of the bytes, in hex. */
export function digestOf(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
