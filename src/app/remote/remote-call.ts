// One task done by another machine: sent, waited for, cancelled there when it is cancelled here (peers.md §5.2, 7 and 11).
//
// I1. The idempotency key stays the same over every repetition, so that the other side does the task once.
// I2. Until a machine has answered that it took the task, another one may be asked; once one has, only that one is asked
//     again, unless repeating was declared safe (law 4).
// I3. Nothing is left running there that nobody waits for: it is told, and where it cannot be told its lease lapses.

import { linkAbort } from "../../kernel/abort.ts";
import { SECOND } from "../../kernel/time.ts";
import { outcomeOfAnswer } from "../../orchestrate/remote/read-answer.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { ExecuteAnswer, ExecuteRequest } from "../../records/remote.ts";
import type { MachineAnswer } from "./ask-machine.ts";
import type { RemoteMachine } from "./remote-machine.ts";

/** @source SEMANTICS W3: three retries, 1 s apart. */
const RETRIES = 3;
const RETRY_MS = SECOND;
/** The first answer comes with the result of a short task. */
const FIRST_WAIT_MS = SECOND;
const WAIT_MS = 20 * SECOND;
/** What an answer may take beyond the wait that was asked for. */
const SLACK_MS = 10 * SECOND;
const CANCEL_MS = 2 * SECOND;
const LEASE_MS = 30 * SECOND;

export type CallEnd =
  | { kind: "over"; outcome: Outcome }
  /** Nothing was done there: another machine, or a fallback, may do it. */
  | { kind: "notTaken"; why: string }
  /** It took the task, or may have, and cannot be asked any more. */
  | { kind: "gone"; why: string };

export interface CallOptions {
  executor: string;
  version: string | undefined;
  timeoutMs: number;
  /** Whether somebody else can take over, now that this machine may have begun or not: then it is not waited for. */
  canOthers(mayBeTaken: boolean): boolean;
}

export async function callMachine(
  machine: RemoteMachine,
  call: ExecutorCall,
  options: CallOptions,
): Promise<CallEnd> {
  const flight = machine.fly();
  const { ctx, clock } = call;
  const until = linkAbort(ctx.signal);
  const deadlineMs =
    options.timeoutMs > 0 ? clock.monotonicMs() + options.timeoutMs : Number.POSITIVE_INFINITY;
  const asked = new RemoteCall(machine, {
    call,
    options,
    signal: until.signal,
    down: flight.down,
    deadlineMs,
  });
  const onDown = () => asked.isReplaceable && until.abort("down");
  flight.down.addEventListener("abort", onDown, { once: true });
  try {
    return await asked.run();
  } finally {
    flight.down.removeEventListener("abort", onDown);
    until.release();
    flight.land();
  }
}

interface CallParts {
  call: ExecutorCall;
  options: CallOptions;
  /** Aborts with the run, and where the machine is down and somebody else can take over. */
  signal: AbortSignal;
  down: AbortSignal;
  deadlineMs: number;
}

class RemoteCall {
  readonly #machine: RemoteMachine;
  readonly #parts: CallParts;
  #id: string | undefined;
  /** It may have arrived. */
  #mayBeTaken = false;
  #isSent = false;
  #failures = 0;

  constructor(machine: RemoteMachine, parts: CallParts) {
    this.#machine = machine;
    this.#parts = parts;
  }

  get isReplaceable(): boolean {
    return this.#parts.options.canOthers(this.#mayBeTaken);
  }

  async run(): Promise<CallEnd> {
    for (;;) {
      const leftMs = this.#leftMs();
      const answer = leftMs > 0 ? await this.#ask(leftMs) : undefined;
      const end = this.#endedHere(answer === undefined) ?? (answer && (await this.#read(answer)));
      if (end) return end;
    }
  }

  #leftMs(): number {
    return this.#parts.deadlineMs - this.#parts.call.clock.monotonicMs();
  }

  #ask(leftMs: number): Promise<MachineAnswer> {
    const { signal } = this.#parts;
    this.#isSent = true;
    const waitMs = Math.max(1, Math.min(this.#id === undefined ? FIRST_WAIT_MS : WAIT_MS, leftMs));
    const wait = `wait=${Math.ceil(waitMs)}ms`;
    const timeoutMs = waitMs + SLACK_MS;
    if (this.#id !== undefined)
      return this.#machine.ask(
        { method: "GET", path: `/${encodeURIComponent(this.#id)}?${wait}`, timeoutMs },
        signal,
      );
    return this.#machine.ask(
      { method: "POST", path: `?${wait}`, body: this.#request(leftMs), timeoutMs },
      signal,
    );
  }

  #request(leftMs: number): ExecuteRequest {
    const { call, options } = this.#parts;
    const { run } = call.ctx;
    const resources = run.admission?.resources;
    return {
      executor: options.executor,
      ...(options.version !== undefined && { version: options.version }),
      params: { ...call.params },
      ...(Object.keys(call.env).length > 0 && { env: { ...call.env } }),
      ...(resources && { resources: { ...resources, labels: [...resources.labels] } }),
      ...{ idempotencyKey: run.idempotencyKey, attempt: run.attempt, leaseMs: LEASE_MS },
      ...(Number.isFinite(leftMs) && { timeoutMs: Math.ceil(leftMs) }),
      ...{ run: run.rootId, task: run.dedupeKey },
    };
  }

  /** The run is being ended, its time is over, or the machine is down and somebody else can take over. */
  #endedHere(isLate: boolean): CallEnd | undefined {
    const { call, signal, down } = this.#parts;
    const reason = call.ctx.abortReason();
    if (reason) {
      // Whoever has the claim now asks with the same key.
      if (reason.kind !== "claimLost") this.#cancel();
      return { kind: "over", outcome: outcomeOfAbort(reason) };
    }
    if (isLate) {
      this.#cancel();
      return { kind: "over", outcome: this.#late() };
    }
    if (!signal.aborted || !down.aborted) return undefined;
    this.#cancel();
    return this.#down(this.#machine.standing.reason ?? "it is down");
  }

  #late(): Outcome {
    const { options, call } = this.#parts;
    return {
      ...{ state: "timedOut", limit: "total", limitMs: options.timeoutMs },
      ...{ lastActivity: `asked ${this.#machine.host}`, lastActivityAt: call.clock.now() },
    };
  }

  /** Undefined = go on asking. */
  #read(answer: MachineAnswer): CallEnd | Promise<CallEnd | undefined> | undefined {
    if (answer.kind !== "answered") {
      if (answer.kind === "cut") this.#mayBeTaken = true;
      return this.#again(answer.error);
    }
    const { status, json } = answer;
    if (status === 200 || status === 202) return this.#taken(json as ExecuteAnswer);
    const why =
      answer.sign.kind === "well"
        ? `${this.#machine.host} answers ${status}${wordsOf(json)}`
        : answer.sign.reason;
    // What it forgot (its ledger was restored, or its history pruned) is asked anew with the same key.
    if (status === 404 && this.#id !== undefined) {
      this.#id = undefined;
      return this.#again(why);
    }
    if (status >= 500 || status === 429 || status === 408) return this.#again(why);
    return { kind: "over", outcome: { state: "failed", error: { code: "preflight", message: why } } };
  }

  #taken(answer: ExecuteAnswer): CallEnd | undefined {
    const { call, options } = this.#parts;
    call.ctx.touch(`${answer.state} at ${this.#machine.host}`);
    this.#failures = 0;
    this.#mayBeTaken = true;
    if (this.#id !== answer.id) call.ctx.emit("remote-task", { host: this.#machine.host, runId: answer.id });
    this.#id = answer.id;
    if (!answer.isOver) return undefined;
    const at = `${options.executor} at ${this.#machine.host}`;
    const outcome = outcomeOfAnswer(answer, { limitMs: options.timeoutMs, now: call.clock.now(), at });
    return { kind: "over", outcome };
  }

  /** A failed request is repeated with the same key, where nobody else can take over or the machine is well again. */
  async #again(why: string): Promise<CallEnd | undefined> {
    const { signal, call } = this.#parts;
    this.#failures += 1;
    await this.#machine.check();
    if ((this.#machine.isOffline && this.isReplaceable) || this.#failures > RETRIES) return this.#down(why);
    await call.clock.sleep(RETRY_MS, signal).catch(() => {});
    return undefined;
  }

  #down(why: string): CallEnd {
    return this.#mayBeTaken ? { kind: "gone", why } : { kind: "notTaken", why };
  }

  /** (I3) A courtesy: it may not hear it, and then nobody renews its lease. */
  #cancel(): void {
    if (!this.#isSent) return;
    const { options, call } = this.#parts;
    // By its key: it may have been taken by a request whose answer never came.
    const query = new URLSearchParams({ executor: options.executor, key: call.ctx.run.idempotencyKey });
    this.#machine.tell({ method: "DELETE", path: `?${query}`, timeoutMs: CANCEL_MS });
  }
}

function wordsOf(json: unknown): string {
  const error = (json as { error?: { message?: unknown } } | undefined)?.error;
  return typeof error?.message === "string" ? `: ${error.message}` : "";
}
