// What a node does for background processes: notices ends, tells who is to be told, ends what nobody owns any more.
//
// I1. A process that outlived a node is adopted by looking at it: its row, its folder and its identity are all there is.
// I2. Every message is put in the transaction that marks it: two nodes, or one that dies here, put it once.
// I3. An owner's end ends what it started; the row of a run is asked, so that also a crash of the node leads here.
// I4. An end waits two seconds before it is told: who is waiting for it sees it first, and then nobody is told.

import { rowsOf } from "../../deliver/outbox-rows.ts";
import { matchLines } from "../../execute/background/match-lines.ts";
import { spooledBytes, spoolFrom, spoolTail, textOfBytes } from "../../execute/background/spool.ts";
import { endSupervised } from "../../execute/background/supervised.ts";
import { decideWatch, FRESH_WATCH, type WatchState } from "../../execute/background/watch-decision.ts";
import { messageOf } from "../../kernel/errors.ts";
import { MINUTE, SECOND } from "../../kernel/time.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import { isTerminal } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { Repeating } from "../repeating.ts";
import { forgetProcesses } from "./forget.ts";
import { type Excerpt, exitText, heartbeatText, NOTICE_CHARACTERS, watchText } from "./notice-text.ts";
import { observe, outputFolder } from "./observe.ts";
import { identityOf, isOfThisHost } from "./places.ts";

const TEND_MS = SECOND;
const TELL_AFTER_MS = 2 * SECOND;
const FORGET_EVERY_MS = MINUTE;
const GRACE_MS = 2 * SECOND;
/** Looked at in one turn; who prints faster is looked at in parts. */
const MOST_SCANNED = 1_000_000;
const LONGEST_LINE = 65_536;

/** What watching a process has come to; the row's `progress`. */
interface Progress {
  /** Bytes looked at when this was written. */
  offset: number;
  watch: WatchState;
  heartbeatAt: number;
  heartbeatBytes: number;
}

/** The loop of a node. */
export function tendingLoop(context: Context): Repeating {
  const tending = new BackgroundTending(context);
  return new Repeating({ ...context, what: "background", everyMs: TEND_MS, work: () => tending.tend() });
}

export class BackgroundTending {
  readonly #context: Context;
  /** Bytes looked at since, where nothing was found: not worth a write. */
  readonly #looked = new Map<string, number>();
  #forgotAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: Context) {
    this.#context = context;
  }

  /** One turn. What goes wrong with one process does not keep the others waiting. */
  async tend(): Promise<void> {
    const { ledger, clock } = this.#context;
    // One question a turn: an idle node has hardly anything else to do.
    const all = await ledger.backgrounds({ state: ["running", "exited", "lost"] });
    for (const record of all)
      if (record.state === "running") await this.#guarded(record, () => this.#tendRunning(record));
    const ended = all.filter((record) => record.state !== "running" && isTold(record));
    const now = ended.length > 0 ? await ledger.now() : 0;
    for (const record of ended)
      if (now - (record.endedAt ?? now) >= TELL_AFTER_MS)
        await this.#guarded(record, () => this.#tellExit(record));
    if (clock.monotonicMs() - this.#forgotAtMs < FORGET_EVERY_MS) return;
    this.#forgotAtMs = clock.monotonicMs();
    await forgetProcesses(this.#context);
  }

  async #guarded(record: BackgroundRecord, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#context.log.warn("process-not-tended", { id: record.id, error: messageOf(error) });
    }
  }

  async #tendRunning(known: BackgroundRecord): Promise<void> {
    const record = await observe(this.#context, known);
    if (record.state !== "running") {
      this.#looked.delete(record.id);
      this.#context.log.info("process-ended", {
        id: record.id,
        state: record.state,
        exitCode: record.exitCode,
      });
      return;
    }
    if (!isOfThisHost(this.#context, record)) return;
    if (!record.persist && record.isSupervised && (await this.#hasLostOwner(record)))
      return this.#endOwnerless(record);
    if (record.notify?.watch || record.notify?.heartbeatMs !== undefined) await this.#tellNews(record);
  }

  /** A run by its row; a session by the process of ours that held it. The home is always there. */
  async #hasLostOwner({
    ownerRunId,
    session,
    holderPid,
    holderStartTime,
  }: BackgroundRecord): Promise<boolean> {
    if (ownerRunId !== undefined) {
      const run = await this.#context.ledger.run(ownerRunId);
      return run === undefined || (!("ambiguous" in run) && isTerminal(run.state));
    }
    if (!session.startsWith("mcp:")) return false;
    return !this.#context.isAlive({ pid: holderPid, startTime: holderStartTime });
  }

  async #endOwnerless(record: BackgroundRecord): Promise<void> {
    const { ledger, log } = this.#context;
    await ledger.requestBackgroundKill(record.id, await ledger.now());
    const identity = identityOf(record);
    const ended = await endSupervised(this.#context, { id: record.id, identity, graceMs: GRACE_MS });
    log.info("process-ended", { id: record.id, why: "its owner has ended", ...ended });
    await observe(this.#context, (await this.#again(record)) ?? record);
  }

  async #again({ id }: BackgroundRecord): Promise<BackgroundRecord | undefined> {
    const found = await this.#context.ledger.background(id);
    return found && !("ambiguous" in found) ? found : undefined;
  }

  async #tellExit(record: BackgroundRecord): Promise<void> {
    const untold = progressOf(record).watch.suppressed;
    const tail = await this.#excerpt(record, 0);
    const text = exitText(record, tail, untold);
    await this.#put(record, {
      kind: "exit",
      subject: `process/${record.id}`,
      text,
      data: { tail: tail.text },
    });
  }

  async #tellNews(record: BackgroundRecord): Promise<void> {
    const before = progressOf(record);
    const watched = await this.#watch(record, before);
    const { heartbeatMs } = record.notify ?? {};
    const now = await this.#context.ledger.now();
    const progress = { ...before, ...watched.progress };
    if (watched.text !== undefined) return this.#putNews(record, { progress, text: watched.text });
    const isDue = heartbeatMs !== undefined && now - before.heartbeatAt >= heartbeatMs;
    if (isDue && record.outputBytes > before.heartbeatBytes) {
      const tail = await this.#excerpt(record, before.heartbeatBytes);
      const beat = { ...progress, heartbeatAt: now, heartbeatBytes: record.outputBytes };
      const text = heartbeatText(record, tail, now - record.startedAt);
      return this.#putNews(record, { progress: beat, text });
    }
    if (progress.watch !== before.watch) await this.#putNews(record, { progress, text: undefined });
  }

  async #watch(
    record: BackgroundRecord,
    before: Progress,
  ): Promise<{ progress: Partial<Progress>; text: string | undefined }> {
    const patterns = record.notify?.watch;
    if (!patterns || before.watch.offWhy !== undefined) return { progress: {}, text: undefined };
    const { lines, offset } = await this.#newLines(record, before.offset);
    this.#looked.set(record.id, offset);
    const matched = matchLines(patterns, lines);
    const now = await this.#context.ledger.now();
    if (matched === "tooSlow") {
      const watch: WatchState = { ...before.watch, offWhy: "pattern" };
      const event = { number: before.watch.events, lines: [], suppressed: before.watch.suppressed };
      return { progress: { offset, watch }, text: watchText(record, { ...event, offWhy: "pattern" }) };
    }
    const { state, event } = decideWatch(before.watch, { matched, now });
    return { progress: { offset, watch: state }, text: event && watchText(record, event) };
  }

  /** Whole lines only; one without an end is taken in pieces. */
  async #newLines(record: BackgroundRecord, written: number): Promise<{ lines: string[]; offset: number }> {
    const folder = outputFolder(this.#context, record);
    const from = Math.max(written, this.#looked.get(record.id) ?? 0);
    const { bytes, from: start } = await spoolFrom(folder, from, MOST_SCANNED);
    const newline = bytes.lastIndexOf(10);
    const end = newline >= 0 ? newline + 1 : bytes.length >= LONGEST_LINE ? bytes.length : 0;
    const text = textOfBytes(bytes.subarray(0, end));
    return { lines: text.split("\n").filter((line) => line !== ""), offset: start + end };
  }

  async #excerpt(record: BackgroundRecord, since: number): Promise<Excerpt> {
    const folder = outputFolder(this.#context, record);
    const fresh = (await spooledBytes(folder)) - since;
    const { bytes, isWhole } = await spoolTail(folder, Math.min(4 * NOTICE_CHARACTERS, Math.max(0, fresh)));
    const text = this.#context.redact(textOfBytes(bytes));
    const short = text.slice(-NOTICE_CHARACTERS).replace(/^[\uDC00-\uDFFF]/, "");
    return { text: short, isCut: short.length < text.length || (!isWhole && since === 0) };
  }

  async #putNews(
    record: BackgroundRecord,
    { progress, text }: { progress: Progress; text: string | undefined },
  ): Promise<void> {
    const to = JSON.stringify(progress);
    const subject = `process/${record.id}/${progress.watch.events}/${progress.heartbeatBytes}`;
    await this.#put(record, {
      kind: "news",
      subject,
      text,
      data: {},
      progress: { from: record.progress, to },
    });
  }

  async #put(
    record: BackgroundRecord,
    message: {
      kind: "exit" | "news";
      subject: string;
      /** undefined = only the progress is written. */
      text: string | undefined;
      data: Record<string, unknown>;
      progress?: { from: string | undefined; to: string };
    },
  ): Promise<void> {
    const { ledger } = this.#context;
    const { kind, subject, text, data, progress } = message;
    const to = record.notify?.to;
    const at = await ledger.now();
    const selectors =
      text !== undefined && to?.kind === "targets" ? this.#context.parseTargets(to.targets) : [];
    const deliveries = rowsOf(
      { subject, kind: "result", runId: undefined, jobId: undefined, selectors, text: text ?? "" },
      this.#context.rowsFor(undefined),
    );
    const facts = {
      processId: record.id,
      state: record.state,
      exitCode: record.exitCode ?? null,
      text,
      ...data,
    };
    const event = text !== undefined && to?.kind === "run" ? { runId: to.runId, data: facts } : undefined;
    await ledger.noticeBackground({
      ...{ id: record.id, at, kind, deliveries },
      ...(progress && { progress }),
      ...(event && { event }),
    });
  }
}

/** Whether its end is still to be told: asked for, or what watching was turned into. */
export function isTold(record: BackgroundRecord): boolean {
  if (!record.notify || record.consumedAt !== undefined || record.noticedAt !== undefined) return false;
  return record.notify.onExit || progressOf(record).watch.offWhy !== undefined;
}

/** Ours, or fresh: a row's progress is written by this file alone. */
function progressOf({ progress, startedAt }: BackgroundRecord): Progress {
  const fresh = { offset: 0, watch: FRESH_WATCH, heartbeatAt: startedAt, heartbeatBytes: 0 };
  return progress === undefined ? fresh : { ...fresh, ...(JSON.parse(progress) as Partial<Progress>) };
}
