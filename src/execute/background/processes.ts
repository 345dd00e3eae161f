// The background processes of one run: started over its environment, watched, ended with it (DESIGN §8, upstream.md 1.9).
//
// I1. An owner sees and touches what its run started, nothing else.
// I2. An exit is the command's own: who holds its pipe does not delay it. Its output is read for a moment longer.
// I3. At most 64 are tracked; the oldest finished one makes room, a running one never does.
// I4. `poll`, `log` and `list` change nothing. `dispose` ends all and lets nothing start any more.
// What is remembered here is a record (`BackgroundProcess`): a ledger can hold the same one.

import { linkAbort } from "../../kernel/abort.ts";
import { Fault, invariant } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { Clock } from "../../kernel/time.ts";
import type { BackgroundProcess, Processes, StartBackground, WaitAnswer } from "../../records/background.ts";
import type { Environment, SpawnedCommand } from "../../records/environment.ts";
import { findId } from "./find-id.ts";
import { followStream } from "./follow-stream.ts";
import { pageOf } from "./log-page.ts";
import { type OutputLog, openOutputLog } from "./output-log.ts";

/** @source upstream.md 1.9 */
export const MOST_TRACKED = 64;
const POLL_CHARACTERS = 1_000;
const LOG_LINES = 200;
/** Longest `wait`. */
export const LONGEST_WAIT_MS = 180_000;
/** How long output is awaited after the exit. */
const DRAIN_MS = 1_000;
const TERMINAL = { columns: 120, rows: 40 };

export interface ProcessesDeps {
  clock: Clock;
  log: Log;
  newId(): string;
  redact: Redact;
  environment: Environment;
  ownerRunId: string | undefined;
  /** Where a process's output goes; its folder is there. */
  logFileOf(id: string): string;
  /** Of each log file. Default 50 MB. */
  maxFileBytes?: number;
  graceMs?: number;
  /** Told when a process has ended by itself, once each (completion notices are built on it). */
  onExit?(process: BackgroundProcess): void;
  /** Writes it down. One that cannot be written down is ended, and the start fails. */
  onStart?(process: BackgroundProcess, options: StartBackground): Promise<void>;
  /** Told of every end, also of one by `kill`. Never rejects. */
  onEnd?(process: BackgroundProcess): Promise<void>;
}

interface Tracked {
  record: BackgroundProcess;
  command: SpawnedCommand;
  output: OutputLog;
  /** Resolves when it has ended and its output has been read. Never rejects. */
  ended: Promise<void>;
  isKilled: boolean;
}

/** The registry of one run. */
export function makeProcesses(deps: ProcessesDeps): Processes {
  return new RunProcesses(deps);
}

class RunProcesses implements Processes {
  readonly #deps: ProcessesDeps;
  readonly #tracked = new Map<string, Tracked>();
  #starting = 0;
  #disposing: Promise<{ ended: number; survivors: number }> | undefined;

  constructor(deps: ProcessesDeps) {
    this.#deps = deps;
  }

  async start(options: StartBackground, signal: AbortSignal): Promise<BackgroundProcess> {
    this.#refuseIfClosed();
    this.#makeRoom();
    this.#starting += 1;
    try {
      const command = await this.#deps.environment.spawn(options.command, {
        signal,
        ...(options.cwd !== undefined && { cwd: options.cwd }),
        ...(options.env && { env: options.env }),
        ...(options.pty && { pty: TERMINAL }),
      });
      // It began while we were being closed: nobody else knows of it.
      if (this.#disposing) {
        await command.kill({ graceMs: 0 });
        this.#refuseIfClosed();
      }
      const tracked = this.#track(options, command);
      await this.#writeDown(tracked, options);
      return snapshot(tracked);
    } finally {
      this.#starting -= 1;
    }
  }

  async #writeDown(tracked: Tracked, options: StartBackground): Promise<void> {
    try {
      await this.#deps.onStart?.(snapshot(tracked), options);
    } catch (error) {
      await this.#end(tracked);
      this.#tracked.delete(tracked.record.id);
      throw error;
    }
  }

  async list(): Promise<readonly BackgroundProcess[]> {
    return [...this.#tracked.values()].reverse().map(snapshot);
  }

  async poll(id: string, { characters = POLL_CHARACTERS }: { characters?: number } = {}) {
    const tracked = this.#find(id);
    return {
      process: snapshot(tracked),
      output: characters > 0 ? lastOf(tracked.output.text(), characters) : "",
    };
  }

  async log(id: string, { offset, lines = LOG_LINES }: { offset?: number; lines?: number } = {}) {
    const tracked = this.#find(id);
    const { text, isWhole } = pageOf(tracked.output.text(), { offset, lines });
    return { process: snapshot(tracked), output: text, isCut: tracked.output.isCut() || !isWhole };
  }

  async wait(
    id: string,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<WaitAnswer> {
    const tracked = this.#find(id);
    if (!(timeoutMs > 0))
      throw new Fault("input.invalid", "a wait needs a time above 0", {
        hint: "Poll instead, or give a time in which the process may end.",
      });
    const timer = linkAbort(signal);
    try {
      const status = await Promise.race([
        tracked.ended.then(() => "exited" as const),
        this.#deps.clock.sleep(Math.min(timeoutMs, LONGEST_WAIT_MS), timer.signal).then(
          () => "timeout" as const,
          () => "interrupted" as const,
        ),
      ]);
      return { status, process: snapshot(tracked), output: tracked.output.text() };
    } finally {
      timer.abort(new Error("the wait is over"));
      timer.release();
    }
  }

  async write(id: string, data: string): Promise<void> {
    await this.#running(id).command.write(data);
  }

  async closeStdin(id: string): Promise<void> {
    await this.#running(id).command.closeStdin();
  }

  async kill(id: string) {
    const tracked = this.#find(id);
    const wasRunning = tracked.record.state === "running";
    const survivors = await this.#end(tracked);
    return { process: snapshot(tracked), survivors, wasRunning };
  }

  /** Its environment, and with it the connection to it, ends with the run. */
  async handOff(id: string): Promise<BackgroundProcess> {
    const { environment } = this.#find(id).record;
    throw new Fault("input.refused", `a process in ${environment} ends with its run`, {
      hint: "Only processes of the local environment, without a terminal, can be handed off.",
    });
  }

  dispose(): Promise<{ ended: number; survivors: number }> {
    this.#disposing ??= this.#endAll();
    return this.#disposing;
  }

  async #endAll(): Promise<{ ended: number; survivors: number }> {
    const running = [...this.#tracked.values()].filter(({ record }) => record.state === "running");
    const survivors = await Promise.all(running.map((tracked) => this.#end(tracked)));
    await Promise.all([...this.#tracked.values()].map(({ output }) => output.close()));
    return { ended: running.length, survivors: survivors.reduce((sum, count) => sum + count, 0) };
  }

  /** Ends the tree also of one that has exited: what it left in the background is its own. */
  async #end(tracked: Tracked): Promise<number> {
    if (tracked.record.state === "running") tracked.isKilled = true;
    const { graceMs } = this.#deps;
    const { survivors } = await tracked.command.kill(graceMs === undefined ? {} : { graceMs });
    await tracked.ended;
    return survivors;
  }

  #track(options: StartBackground, command: SpawnedCommand): Tracked {
    const id = `proc_${this.#deps.newId().slice(-12)}`;
    const output = openOutputLog({
      redact: this.#deps.redact,
      path: this.#deps.logFileOf(id),
      ...(this.#deps.maxFileBytes !== undefined && { maxFileBytes: this.#deps.maxFileBytes }),
      onFileError: (error) => this.#deps.log.warn("process-log-failed", { id, error: String(error) }),
    });
    const tracked: Tracked = {
      record: this.#newRecord(id, options, command),
      command,
      output,
      isKilled: false,
      ended: Promise.resolve(),
    };
    const follow = (name: "stdout" | "stderr") =>
      followStream({ clock: this.#deps.clock, disk: output }, command[name], (chunk) =>
        output.push(name, chunk),
      );
    const read = Promise.all([follow("stdout"), follow("stderr")]);
    tracked.ended = this.#whenEnded(tracked, read);
    this.#tracked.set(id, tracked);
    return tracked;
  }

  #newRecord(id: string, options: StartBackground, command: SpawnedCommand): BackgroundProcess {
    return {
      id,
      command: this.#deps.redact(options.command),
      cwd: command.cwd,
      environment: this.#deps.environment.label,
      ownerRunId: this.#deps.ownerRunId,
      pid: command.pid,
      state: "running",
      exitCode: undefined,
      startedAt: this.#deps.clock.now(),
      endedAt: undefined,
      outputBytes: 0,
    };
  }

  async #whenEnded(tracked: Tracked, read: Promise<unknown>): Promise<void> {
    const { exitCode } = await tracked.command.exited;
    await this.#drain(read);
    tracked.record = {
      ...tracked.record,
      state: tracked.isKilled ? "killed" : "exited",
      exitCode,
      endedAt: this.#deps.clock.now(),
    };
    await tracked.output.close();
    await this.#deps.onEnd?.(snapshot(tracked));
    if (!tracked.isKilled) this.#deps.onExit?.(snapshot(tracked));
  }

  async #drain(read: Promise<unknown>): Promise<void> {
    const timer = linkAbort();
    const limit = this.#deps.clock.sleep(DRAIN_MS, timer.signal).catch(() => {});
    await Promise.race([read, limit]);
    timer.abort(new Error("drained"));
    await limit;
  }

  #find(id: string): Tracked {
    const tracked = this.#tracked.get(findId(this.#tracked.keys(), id));
    invariant(tracked, "an id that was found is tracked");
    return tracked;
  }

  #running(id: string): Tracked {
    const tracked = this.#find(id);
    if (tracked.record.state === "running") return tracked;
    throw new Fault("input.conflict", `process ${tracked.record.id} has ended`, {
      hint: "Start the command again to write to it.",
    });
  }

  #makeRoom(): void {
    if (this.#tracked.size + this.#starting < MOST_TRACKED) return;
    const finished = [...this.#tracked.values()].find(({ record }) => record.state !== "running");
    if (!finished)
      throw new Fault("input.conflict", `${MOST_TRACKED} processes of this run are running already`, {
        hint: "Kill one that is no longer needed.",
      });
    this.#tracked.delete(finished.record.id);
  }

  #refuseIfClosed(): void {
    if (!this.#disposing) return;
    throw new Fault("environment.unusable", "the run is ending: nothing is started any more", {
      hint: "Start it from another run.",
    });
  }
}

function snapshot({ record, output }: Tracked): BackgroundProcess {
  return { ...record, outputBytes: output.totalBytes() };
}

/** The last characters, none of them half. */
function lastOf(text: string, characters: number): string {
  return text.slice(-characters).replace(/^[\uDC00-\uDFFF]/, "");
}
