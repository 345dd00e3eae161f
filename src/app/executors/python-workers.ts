// The warm Python workers of a node: one call at a time each, as many of a module as are wanted at once.
//
// I1. A worker serves one module in the form it had when the worker started: after a change new calls get new workers,
//     and old ones end with the call they are at.
// I2. One that nobody wants for a minute ends. None outlives `close`.

import type { ScriptDeps } from "../../execute/run-script.ts";
import { messageOf } from "../../kernel/errors.ts";
import { MINUTE } from "../../kernel/time.ts";
import { type PythonModule, pythonWorkerFile } from "../../orchestrate/executors/python-protocol.ts";
import { type PythonWorker, startPythonWorker } from "./python-worker.ts";

const IDLE_MS = MINUTE;
/** An idle worker has nothing to tidy up. */
const IDLE_GRACE_MS = 0;

export interface PythonPlace {
  /** A command or an absolute path. */
  python: string;
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** A worker for one call; `giveBack` when it is over. */
export interface TakenWorker {
  worker: PythonWorker;
  giveBack(): void;
}

interface Idle {
  worker: PythonWorker;
  /** Ends the wait for its end. */
  keep: AbortController;
}

export class PythonWorkers {
  readonly #idle = new Map<string, Idle[]>();
  readonly #all = new Set<PythonWorker>();
  readonly #place: () => PythonPlace;
  readonly #commands: () => ScriptDeps;
  readonly #idleMs: number;
  /** What is fresh: a module's key → workers of other keys of that module are stale. */
  readonly #fresh = new Map<string, string>();

  constructor(options: { place(): PythonPlace; commands(): ScriptDeps; idleMs?: number }) {
    this.#place = options.place;
    this.#commands = options.commands;
    this.#idleMs = options.idleMs ?? IDLE_MS;
  }

  get size(): number {
    return this.#all.size;
  }

  /**
   * A worker of this module in this form (`state`: a digest of the code it would load). Warm if one is free. The text says
   * why none could be started.
   */
  async take(module: PythonModule, state: string): Promise<TakenWorker | string> {
    const name = module.path ?? module.module;
    const key = `${name}@${state}`;
    this.#forgetOthers(name, key);
    for (let idle = this.#idle.get(key)?.pop(); idle; idle = this.#idle.get(key)?.pop()) {
      idle.keep.abort();
      if (!idle.worker.hasEnded()) return this.#taken(idle.worker, { name, key });
    }
    let worker: PythonWorker | string;
    try {
      worker = await startPythonWorker(this.#commands(), {
        ...this.#place(),
        file: pythonWorkerFile(),
        module,
      });
    } catch (error) {
      return messageOf(error);
    }
    if (typeof worker === "string") return worker;
    const started = worker;
    this.#all.add(started);
    void started.ended.then(() => this.#all.delete(started));
    return this.#taken(started, { name, key });
  }

  /** Ends every worker; a call that is under way ends with it. What is taken later is started anew. Idempotent. */
  async close(): Promise<void> {
    for (const list of this.#idle.values()) for (const { keep } of list) keep.abort();
    this.#idle.clear();
    await Promise.all([...this.#all].map((worker) => worker.end(IDLE_GRACE_MS)));
  }

  #taken(worker: PythonWorker, { name, key }: { name: string; key: string }): TakenWorker {
    let isBack = false;
    return {
      worker,
      giveBack: () => {
        if (isBack) return;
        isBack = true;
        if (worker.hasEnded()) return;
        if (this.#fresh.get(name) !== key) void worker.end(IDLE_GRACE_MS);
        else this.#keepIdle(key, worker);
      },
    };
  }

  #keepIdle(key: string, worker: PythonWorker): void {
    const idle: Idle = { worker, keep: new AbortController() };
    const list = this.#idle.get(key) ?? [];
    list.push(idle);
    this.#idle.set(key, list);
    this.#commands()
      .clock.sleep(this.#idleMs, idle.keep.signal)
      .then(
        () => {
          const at = list.indexOf(idle);
          if (at < 0) return;
          list.splice(at, 1);
          void worker.end(IDLE_GRACE_MS);
        },
        () => {},
      );
  }

  /** (I1) */
  #forgetOthers(name: string, key: string): void {
    const before = this.#fresh.get(name);
    if (before === key) return;
    this.#fresh.set(name, key);
    if (before === undefined) return;
    for (const { worker, keep } of this.#idle.get(before) ?? []) {
      keep.abort();
      void worker.end(IDLE_GRACE_MS);
    }
    this.#idle.delete(before);
  }
}
