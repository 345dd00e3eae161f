// What is registered, as last read: for decisions inside of transactions, which cannot wait for a folder to be read.

import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Executor, ExecutorRegistry } from "../../records/executor.ts";
import { type ExecutorTable, readExecutors } from "../workflows/executor-table.ts";

export interface RegistrationsDeps {
  registry: ExecutorRegistry;
  log: Log;
  /** Called when what is known has been read anew. */
  onRead(): void;
}

export class Registrations {
  readonly #deps: RegistrationsDeps;
  #table: ExecutorTable | undefined;
  #reading: Promise<void> | undefined;
  /** Names that were not there at the last look: asked for again, they are not there. */
  readonly #sought = new Set<string>();

  constructor(deps: RegistrationsDeps) {
    this.#deps = deps;
  }

  get isRead(): boolean {
    return this.#table !== undefined;
  }

  /**
   * Every registration of a name, in order of preference; none for no name. Undefined = not known yet, and being read:
   * a node without tasks never reads them, and a name that was not there before may be a new file's.
   */
  named(name: string | undefined): readonly Executor[] | undefined {
    if (name === undefined) return [];
    const found = this.#table?.get(name);
    if (found) return found;
    if (this.#table && !this.#reading && this.#sought.has(name)) return [];
    this.#sought.add(name);
    void this.read();
    return undefined;
  }

  /** Reads them anew where they have been read before: files and config may have changed. Never rejects. */
  async reread(): Promise<void> {
    if (!this.#table) return;
    this.#sought.clear();
    await this.read();
  }

  /** Never rejects; what cannot be read leaves what was known. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { registry, log, onRead } = this.#deps;
    try {
      this.#table = await readExecutors(registry);
      onRead();
    } catch (error) {
      log.warn("executors-not-read", { error: messageOf(error) });
    }
  }
}
