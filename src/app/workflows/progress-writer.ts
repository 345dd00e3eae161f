// What a live workflow has decided and not written yet: entries, rows, ends, cancels, messages; written together.
//
// I1. What makes, ends or cancels a row is written before anything else is done. Entries alone may wait FLUSH_MS for
//     company: they tell of attempts without effects, which a crash may repeat (law 4).

import type { Instant } from "../../kernel/time.ts";
import type { JournalEntry } from "../../orchestrate/graph/progress.ts";
import type { NewDelivery } from "../../records/delivery.ts";
import type { NewTask, ProgressRecord, TaskEnding } from "../../records/ledger/workflows.ts";
import type { Claim } from "../../records/run.ts";
import type { Context } from "../context.ts";
import { untilStored } from "../until-stored.ts";
import { formatEntry } from "./journal.ts";

const FLUSH_MS = 5;

export class ProgressWriter {
  readonly #context: Context;
  readonly #claim: Claim;
  readonly #giveUp: AbortSignal;
  #recorded: number;
  #entries: string[];
  #tasks: NewTask[] = [];
  #endings: TaskEnding[] = [];
  #cancels: { runId: string; by: string }[] = [];
  #deliveries: NewDelivery[] = [];
  #flushAt: Instant | undefined;

  /** `recorded` = how many entries the journal holds; `unwritten` = those of its beginning, for a run that just begins. */
  constructor(
    context: Context,
    {
      claim,
      recorded,
      unwritten,
      giveUp,
    }: { claim: Claim; recorded: number; unwritten: readonly string[]; giveUp: AbortSignal },
  ) {
    this.#context = context;
    this.#claim = claim;
    this.#giveUp = giveUp;
    this.#recorded = recorded;
    this.#entries = [...unwritten];
  }

  /** When waiting entries want to be written; undefined = none wait. */
  get flushAt(): Instant | undefined {
    return this.#flushAt;
  }

  entry(entry: JournalEntry): void {
    this.#entries.push(formatEntry(entry));
    this.#flushAt ??= this.#context.clock.now() + FLUSH_MS;
  }

  task(task: NewTask): void {
    this.#tasks.push(task);
  }

  ending(ending: TaskEnding): void {
    this.#endings.push(ending);
  }

  cancel(runId: string, by: string): void {
    this.#cancels.push({ runId, by });
  }

  deliver(deliveries: readonly NewDelivery[]): void {
    this.#deliveries.push(...deliveries);
  }

  /** I1. */
  get isDue(): boolean {
    if (this.#cancels.length + this.#endings.length + this.#deliveries.length > 0) return true;
    if (this.#tasks.some(({ state }) => state === undefined || state === "waiting")) return true;
    return this.#flushAt !== undefined && this.#context.clock.now() >= this.#flushAt;
  }

  /** Writes everything that waits, in one transaction. False = the claim is lost: nothing was written. */
  async flush(): Promise<boolean> {
    const record: ProgressRecord = {
      ...{ claim: this.#claim, now: this.#context.clock.now(), from: this.#recorded },
      ...{ entries: this.#entries, tasks: this.#tasks, endings: this.#endings },
      ...{ cancels: this.#cancels, deliveries: this.#deliveries },
    };
    const parts = [this.#entries, this.#tasks, this.#endings, this.#cancels, this.#deliveries];
    if (parts.every((part) => part.length === 0)) return true;
    this.#entries = [];
    this.#tasks = [];
    this.#endings = [];
    this.#cancels = [];
    this.#deliveries = [];
    this.#flushAt = undefined;
    const write = () => this.#context.ledger.recordProgress(record);
    const answer = await untilStored(this.#context, "record a workflow's progress", write, this.#giveUp);
    this.#recorded += record.entries.length;
    return answer === "recorded";
  }
}
