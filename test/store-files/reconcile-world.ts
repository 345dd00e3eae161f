// A home's folder and a ledger as values, for reconciling without either.

import { parseJobDocument } from "../../src/records/job-document.ts";
import type { SourceEntry } from "../../src/records/source.ts";
import { digestOf } from "../../src/store/files/definition-text.ts";
import {
  type EntryReading,
  type KnownJob,
  type ReconcileAction,
  type ReconcileInput,
  type ReconcileResult,
  reconcileJobFiles,
} from "../../src/store/files/reconcile.ts";

/** A folder and a ledger as values; `pass` reconciles, applies the actions as app/ does, and advances time. */
export class World {
  readonly files = new Map<string, string>();
  readonly unreadable = new Map<string, string>();
  readonly unsettled = new Set<string>();
  readonly known = new Map<string, KnownJob>();
  isReadable = true;
  now = Date.parse("2026-11-29T12:00:00Z");
  monotonicMs = 0;
  pastIds: string[] = [];
  result: ReconcileResult | undefined;
  reads = 0;

  put(name: string, text = `run: ${name}.sh\n`): this {
    this.files.set(`jobs/${name}.yaml`, text);
    return this;
  }
  remove(...names: string[]): this {
    for (const name of names) this.files.delete(`jobs/${name}.yaml`);
    return this;
  }
  after(ms: number): this {
    this.now += ms;
    this.monotonicMs += ms;
    return this;
  }
  input(): ReconcileInput {
    const entries = [...this.files].map(
      ([source, text]): SourceEntry => ({
        source,
        defaultId: source.slice(5, -5),
        digest: digestOf(text),
        text,
      }),
    );
    return {
      listing: {
        isReadable: this.isReadable,
        entries: this.isReadable
          ? entries.filter(({ source }) => !this.unsettled.has(source) && !this.unreadable.has(source))
          : [],
        unreadable: [...this.unreadable].map(([source, error]) => ({
          source,
          defaultId: source.slice(5, -5),
          error,
        })),
        unsettled: [...this.unsettled],
        settlesAt: this.unsettled.size > 0 ? this.now + 700 : undefined,
      },
      known: this.known,
      previous: this.result,
      now: this.now,
      monotonicMs: this.monotonicMs,
      read: (entry, defaultId): EntryReading => {
        this.reads++;
        try {
          return { kind: "valid", ...parseJobDocument(entry.text, { file: entry.source, defaultId }) };
        } catch (error) {
          return { kind: "invalid", error: (error as Error).message };
        }
      },
      isPastUnknown: ({ document }) => this.pastIds.includes(document.id),
    };
  }
  /** One pass; returns the actions as short words. */
  pass(): string[] {
    this.result = reconcileJobFiles(this.input());
    for (const action of this.result.actions) this.apply(action);
    return this.result.actions.map(wordOf);
  }
  apply(action: ReconcileAction): void {
    const job = this.known.get(action.jobId);
    const update = (changes: Partial<KnownJob>) =>
      job && this.known.set(action.jobId, { ...job, ...changes });
    if (action.kind === "define") {
      const { jobId, source, entry } = action;
      const version = (job?.version ?? 0) + 1;
      this.known.set(jobId, {
        jobId,
        source,
        digest: entry.digest,
        version,
        isRemoved: false,
        heldReason: job?.heldReason,
      });
    } else if (action.kind === "move") update({ source: action.source });
    else if (action.kind === "hold" && action.isKnown) update({ heldReason: action.reason });
    else if (action.kind === "unhold") update({ heldReason: undefined });
    else if (action.kind === "remove") update({ isRemoved: true, heldReason: undefined });
  }
}

function wordOf(action: ReconcileAction): string {
  if (action.kind === "define") return `define ${action.jobId} ${action.was}`;
  if (action.kind === "move") return `move ${action.jobId} ${action.from} → ${action.source}`;
  if (action.kind === "hold")
    return `hold ${action.jobId}${action.isKnown ? "" : " (unknown)"}: ${action.reason.split(":")[0]}`;
  return `${action.kind} ${action.jobId}`;
}
