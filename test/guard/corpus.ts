// The frozen corpora, written before the rules, and their fixed split: rules were tuned on `tuned` only.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ScanMode } from "../../src/agent/guard/rule.ts";

export interface Sample {
  id: string;
  text: string;
  mode: ScanMode;
  class: string;
}

/** Every line of a corpus, in the file's order. */
export function readCorpus(name: "attacks" | "harmless"): Sample[] {
  const text = readFileSync(join(import.meta.dirname, `${name}.jsonl`), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line): Sample => JSON.parse(line));
}

/** Seven in ten, by a hash of the id alone: moving or adding lines moves no other line. */
export function isTuned({ id }: Pick<Sample, "id">): boolean {
  return Number.parseInt(createHash("sha256").update(id).digest("hex").slice(0, 8), 16) % 10 < 7;
}
