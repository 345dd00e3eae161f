// What `nvidia-smi` says of this machine's GPUs.
//
// I1. Never waits for it longer than its time: one that hangs (a card that is stuck) is a finding by itself, and no second
//     one is started beside it.

import { type ChildProcess, spawn } from "node:child_process";
import { findCommand } from "../../execute/find-command.ts";
import { type Clock, formatDuration, SECOND } from "../../kernel/time.ts";
import type { Card } from "../../records/resources.ts";

export interface CardReading {
  cards: readonly Card[];
  /** Why they could not be measured. */
  problem?: string;
}

export interface CardProbe {
  /** No cards where there is no `nvidia-smi`. Never rejects. */
  read(): Promise<CardReading>;
  /** Ends what hangs. Idempotent. */
  close(): void;
}

/** @source seed 003 §3.2 */
const ARGS = ["--query-gpu=memory.total,memory.free", "--format=csv,noheader,nounits"];
const PATIENCE_MS = 5 * SECOND;
const MOST_CHARACTERS = 64_000;

export interface CardProbeOptions {
  clock: Clock;
  /** Where the program is looked for. */
  path: string;
  /** How long it may take. Default 5 s. */
  patienceMs?: number;
}

export function openCardProbe({ clock, path, patienceMs = PATIENCE_MS }: CardProbeOptions): CardProbe {
  let hanging: ChildProcess | undefined;
  let known: readonly Card[] = [];
  let reading: Promise<CardReading> | undefined;
  const late = `nvidia-smi does not answer within ${formatDuration(patienceMs)}`;
  const ask = async (): Promise<CardReading> => {
    // What a stuck card had counts still: only how much of it is free is not known.
    if (hanging) return { cards: known, problem: late };
    const found = await findCommand("nvidia-smi", path);
    if (found.kind !== "found")
      return found.kind === "missing" ? { cards: [] } : { cards: known, problem: found.message };
    const child = spawn(found.path, ARGS, { env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"] });
    hanging = child;
    const ended = endOf(child).finally(() => {
      hanging = undefined;
    });
    const text = await within(ended, { clock, patienceMs });
    if (text === undefined) {
      // It may not heed even this, where the driver holds it.
      child.kill("SIGKILL");
      child.unref();
      return { cards: known, problem: late };
    }
    const cards = typeof text === "string" ? parseCards(text) : text;
    if ("problem" in cards) return { cards: known, problem: cards.problem };
    known = cards.cards;
    return cards;
  };
  return {
    read() {
      reading ??= ask().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    close() {
      hanging?.kill("SIGKILL");
    },
  };
}

/** What it printed, or what is wrong. Never rejects. */
function endOf(child: ChildProcess): Promise<string | { problem: string }> {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      if (texts[name].length < MOST_CHARACTERS) texts[name] += text;
    });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ problem: `nvidia-smi: ${error.message}` }));
    child.once("close", (code, signal) => {
      const said = (texts.stderr.trim() || texts.stdout.trim()).split("\n")[0] ?? "";
      if (code === 0) resolve(texts.stdout);
      else resolve({ problem: `nvidia-smi ended with ${code ?? signal}${said && `: ${said}`}` });
    });
  });
}

async function within<Value>(
  work: Promise<Value>,
  { clock, patienceMs }: { clock: Clock; patienceMs: number },
): Promise<Value | undefined> {
  const timer = new AbortController();
  const late = clock.sleep(patienceMs, timer.signal).catch(() => {});
  try {
    return await Promise.race([work, late.then(() => undefined)]);
  } finally {
    timer.abort();
  }
}

/** A line for each card: `16384, 15109`. */
export function parseCards(text: string): CardReading | { problem: string } {
  const cards: Card[] = [];
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "" || /^no devices/i.test(line)) continue;
    const match = /^(\d+)\s*,\s*(\d+)$/.exec(line);
    if (!match) return { problem: `nvidia-smi says "${line.slice(0, 100)}"` };
    cards.push({ totalMb: Number(match[1]), freeMb: Number(match[2]) });
  }
  return { cards };
}
