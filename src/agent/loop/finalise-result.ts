// The last step of a tool call: what a tool gave back becomes bounded, redacted JSON text for the model. Pure.
//
// I1. Strings are redacted before they are quoted or cut, so that neither can hide a secret from its pattern; the whole is
//     redacted afterwards, since a key may lie in a list of lines.

import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import type { Redact } from "../../kernel/redact.ts";
import { mapRecord, redactJson } from "../../kernel/redact-value.ts";
import { boundResult } from "./bound-result.ts";

export interface FinalResult {
  /** JSON of an object with `error`. */
  text: string;
  /** Null = success. */
  error: string | null;
  isTruncated: boolean;
}

/** Bounds and redacts a tool's result. One that JSON cannot say is an error. */
export function finaliseResult(result: object, to: { characters: number; redact: Redact }): FinalResult {
  const plain = asJson(result);
  if (!plain) return errorResult("The tool gave back something that JSON cannot say.", to);
  const { error: given, ...rest } = mapRecord(plain, to.redact);
  const error = given === undefined || given === null ? null : sentenceOf(given);
  const bounded = boundResult({ error, ...rest }, to.characters);
  const text = redactJson(bounded.text, to.redact);
  return { text, error, isTruncated: bounded.isTruncated };
}

/** A result that is only an error. */
export function errorResult(sentence: string, to: { characters: number; redact: Redact }): FinalResult {
  const error = to.redact(sentence);
  return { ...boundResult({ error }, to.characters), error };
}

/** What a model is told of a tool that threw. */
export function sayThrown(name: string, error: unknown): string {
  return isFault(error) ? sayFault(error) : `${name} failed: ${messageOf(error)}`;
}

function sentenceOf(error: unknown): string {
  return typeof error === "string" ? error : JSON.stringify(error);
}

/** The result as JSON reads it back; undefined for cycles, big integers and what is no object. */
function asJson(result: object): object | undefined {
  try {
    const value: unknown = JSON.parse(JSON.stringify(result));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
