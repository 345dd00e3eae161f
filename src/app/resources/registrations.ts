// What is registered, as last read: for decisions inside of transactions, which cannot wait for a folder to be read.

import { messageOf } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { ExecutorRegistry } from "../../records/executor.ts";
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

  constructor(deps: RegistrationsDeps) {
    this.#deps = deps;
  }

  /** Undefined = not read yet: a node without tasks never reads them. Asking for it starts that. */
  get table(): ExecutorTable | undefined {
    if (!this.#table) void this.read();
    return this.#table;
  }

  /** Reads them anew where they have been read before: files and config may have changed. Never rejects. */
  async reread(): Promise<void> {
    if (this.#table) await this.read();
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
