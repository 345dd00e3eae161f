// A node's look at the machines of its remote executors: which executors are down, said to workflows and to its own row.

import { messageOf } from "../../kernel/errors.ts";
import type { Context } from "../context.ts";
import { homeExecutorsOf } from "../executors/lazy-executors.ts";
import type { RemoteMachines } from "./remote-machines.ts";

export interface RemoteWatchDeps {
  context: Pick<Context, "config" | "executors" | "ledger" | "log">;
  nodeId: string;
  /** An executor has gone down or come back. */
  onChange(): void;
}

const NONE: ReadonlySet<string> = new Set();

export class RemoteWatch {
  readonly #deps: RemoteWatchDeps;
  #machines: RemoteMachines | undefined;
  #unsubscribe = () => {};
  #offline = NONE;
  #looking: Promise<void> | undefined;
  #telling: Promise<void> | undefined;
  #isStarted = false;
  #isStopped = false;

  constructor(deps: RemoteWatchDeps) {
    this.#deps = deps;
  }

  /** Names whose every registration is on machines that are down. */
  get offline(): ReadonlySet<string> {
    return this.#offline;
  }

  /** Idempotent; nothing happens where no machine is configured. */
  start(): void {
    this.#isStarted = true;
    if (this.#deps.context.config.remoteExecutors.length > 0) this.look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#looking;
    this.#unsubscribe();
    await this.#machines?.stop();
    await this.#telling;
  }

  /** The config may name others now. Returns at once. */
  look(): void {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  async #look(): Promise<void> {
    const { context } = this.#deps;
    try {
      const machines = await homeExecutorsOf(context).remotes();
      if (this.#isStopped) return;
      if (!this.#machines) {
        this.#machines = machines;
        this.#unsubscribe = machines.onChange(() => void this.#onChange());
      }
      if (this.#isStarted) machines.start();
      await this.#onChange();
    } catch (error) {
      context.log.warn("remote-executors-not-read", { error: messageOf(error) });
    }
  }

  async #onChange(): Promise<void> {
    const offline = await this.#offlineNames();
    const isNews =
      offline.size !== this.#offline.size || [...offline].some((name) => !this.#offline.has(name));
    this.#offline = offline;
    if (isNews) this.#deps.onChange();
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = undefined;
    });
  }

  async #offlineNames(): Promise<ReadonlySet<string>> {
    const { executors } = this.#deps.context;
    const down = new Set<string>();
    for (const { executor, state } of this.#machines?.standings() ?? []) {
      if (state !== "offline" || down.has(executor) || !this.#machines?.isOffline(executor)) continue;
      const registered = await executors.named(executor);
      if (registered.every(({ kind }) => kind === "remote")) down.add(executor);
    }
    return down;
  }

  /** For those who are no node: `executor list`, `doctor`. */
  async #tell(): Promise<void> {
    const { context, nodeId } = this.#deps;
    try {
      await context.ledger.updateNode(nodeId, { remotes: this.#machines?.standings() ?? [] });
    } catch (error) {
      context.log.debug("remotes-not-told", { error: messageOf(error) });
    }
  }
}
