// The machines that config.yaml names under `remoteExecutors`, and the executors they stand behind (W5).
//
// I1. One object for a machine as long as its entry stays as it is: a changed config keeps what is known of the others.

import { messageOf } from "../../kernel/errors.ts";
import { makeContract } from "../../orchestrate/executors/contract.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { Executor, ExecutorCall } from "../../records/executor.ts";
import type { ExecutorConfig } from "../../records/executor-config.ts";
import type { Effects } from "../../records/job.ts";
import type { RemoteExecutorConfig } from "../../records/orchestrator-config.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { RemoteStanding } from "../../records/remote.ts";
import type { Context } from "../context.ts";
import { callMachine } from "./remote-call.ts";
import { RemoteMachine } from "./remote-machine.ts";

export type RemoteContext = Pick<Context, "clock" | "log" | "config" | "resolveReferences">;

interface Entry {
  config: RemoteExecutorConfig;
  machine: RemoteMachine;
}

/** Which machine took a key is remembered for so many keys. */
const MOST_TAKEN = 10_000;

export class RemoteMachines {
  readonly #context: () => RemoteContext;
  readonly #machines = new Map<string, Entry>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #listeners = new Set<() => void>();
  /** By executor and idempotency key: who has the task, as far as we know. */
  readonly #taken = new Map<string, RemoteMachine>();
  #isKept = false;

  constructor(context: () => RemoteContext) {
    this.#context = context;
  }

  /** Called when a machine has gone down or come back. Returns an unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Every machine is asked after its health from now on. Idempotent. */
  start(): void {
    this.#isKept = true;
    for (const { machine } of this.#machines.values()) machine.keep();
  }

  /** Nothing asks any more when it resolves. Idempotent. */
  async stop(): Promise<void> {
    this.#isKept = false;
    for (const { machine } of this.#machines.values()) this.#leave(machine);
    this.#machines.clear();
    await Promise.all(this.#leaving);
  }

  standings(): RemoteStanding[] {
    return [...this.#machines.values()].map(({ machine }) => machine.standing);
  }

  /** Whether every machine of a name is down. */
  isOffline(executor: string): boolean {
    const machines = this.#of(executor);
    return machines.length > 0 && machines.every(({ machine }) => machine.isOffline);
  }

  /** The executors that these entries stand behind, one for each name. */
  executors(
    remotes: readonly RemoteExecutorConfig[],
    described: readonly ExecutorConfig[],
  ): { executors: Executor[]; problems: { source: string; error: string }[] } {
    const problems: { source: string; error: string }[] = [];
    this.#take(remotes, problems);
    const executors: Executor[] = [];
    for (const name of new Set(remotes.map((one) => one.name))) {
      const own = remotes.filter((one) => one.name === name);
      const description = described.find((one) => one.name === name && one.work.kind === "remote");
      try {
        executors.push(this.#executor(name, own, description));
      } catch (error) {
        problems.push({ source: `config.yaml: executors.${name}`, error: messageOf(error) });
      }
    }
    return { executors, problems };
  }

  /** (I1) */
  #take(remotes: readonly RemoteExecutorConfig[], problems: { source: string; error: string }[]): void {
    const wanted = new Map(remotes.map((one) => [JSON.stringify(one), one]));
    for (const [key, { machine }] of this.#machines) {
      if (wanted.has(key)) continue;
      this.#machines.delete(key);
      this.#leave(machine);
    }
    for (const [key, config] of wanted) {
      if (this.#machines.has(key)) continue;
      try {
        this.#machines.set(key, { config, machine: this.#open(config) });
      } catch (error) {
        problems.push({ source: `config.yaml: remoteExecutors.${config.name}`, error: messageOf(error) });
      }
    }
  }

  /** Throws `config.invalid` for a token whose variable is missing. */
  #open({ name, url, token, healthMs }: RemoteExecutorConfig): RemoteMachine {
    const { clock, log, config, resolveReferences } = this.#context();
    const machine = new RemoteMachine({
      ...{ clock, log, executor: name },
      address: { url: new URL(url), token: token === undefined ? undefined : resolveReferences(token) },
      healthMs: healthMs ?? config.orchestrator.healthMs,
      onChange: () => {
        for (const listener of [...this.#listeners]) listener();
      },
    });
    if (this.#isKept) machine.keep();
    return machine;
  }

  #leave(machine: RemoteMachine): void {
    const left = machine.stop().finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  #of(executor: string): Entry[] {
    return [...this.#machines.values()].filter(({ config }) => config.name === executor);
  }

  #executor(
    name: string,
    remotes: readonly RemoteExecutorConfig[],
    described: ExecutorConfig | undefined,
  ): Executor {
    const { version, description: words, input, output, retry, params = {}, defaults = {} } = described ?? {};
    const effects: Effects = remotes.find((one) => one.effects)?.effects ?? described?.effects ?? "external";
    const timeoutMs = described?.timeoutMs ?? Math.max(...remotes.map((one) => one.timeoutMs));
    return {
      ...{ name, version: version ?? remotes[0]?.version ?? "1", kind: "remote", isInProcess: false },
      description: words ?? `done by ${remotes.map(({ url }) => new URL(url).host).join(", ")}`,
      source: "config.yaml",
      contract: makeContract(name, { input, output, retry, effects, timeoutMs }),
      run: (call) =>
        this.#run(name, remotes, { ...call, params: { ...defaults, ...call.params, ...params } }),
    };
  }

  /** One attempt: by whoever has the task already, else by the machine with the fewest calls under way. */
  async #run(name: string, remotes: readonly RemoteExecutorConfig[], call: ExecutorCall): Promise<Outcome> {
    const { ctx } = call;
    if (!(await ctx.begin()))
      return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
    const key = `${name}/${ctx.run.idempotencyKey}`;
    const isRepeatable = ctx.run.effects !== "external";
    const hasFallback = ctx.run.admission?.hasFallback === true;
    const timeoutMs = limitOf(call.timeoutMs, remotes);
    const whys: string[] = [];
    const candidates = this.#candidates(name, { key, isRepeatable, hasFallback });
    for (const [index, { machine, config }] of candidates.entries()) {
      const hasMore = index < candidates.length - 1;
      const canOthers = (mayBeTaken: boolean) => hasFallback || (hasMore && (isRepeatable || !mayBeTaken));
      const { version } = config;
      const end = await callMachine(machine, call, { executor: name, version, timeoutMs, canOthers });
      if (end.kind === "over") {
        this.#taken.delete(key);
        return end.outcome;
      }
      whys.push(end.why);
      if (end.kind === "notTaken") continue;
      this.#remember(key, machine);
      if (hasFallback || isRepeatable) continue;
      // Law 4: it may have come to its end there, and asking the same machine again is the one way to know.
      return { state: "unknown", why: `${machine.host} took it and cannot be asked any more: ${end.why}` };
    }
    const why = whys.length > 0 ? whys.join("; ") : this.#whyDown(name);
    return { state: "failed", error: { code: "offline", message: `${name} is offline: ${why}` } };
  }

  #candidates(
    name: string,
    { key, isRepeatable, hasFallback }: { key: string; isRepeatable: boolean; hasFallback: boolean },
  ): Entry[] {
    const all = this.#of(name);
    const taker = all.find(({ machine }) => machine === this.#taken.get(key));
    if (taker && !isRepeatable) return hasFallback && taker.machine.isOffline ? [] : [taker];
    const online = all
      .filter(({ machine }) => !machine.isOffline)
      .sort((a, b) => Number(b === taker) - Number(a === taker) || a.machine.calls - b.machine.calls);
    // With nobody else to do it, one that is down is asked all the same: it may be back.
    return online.length > 0 || hasFallback ? online : all.slice(0, 1);
  }

  #remember(key: string, machine: RemoteMachine): void {
    if (this.#taken.size >= MOST_TAKEN) this.#taken.delete(this.#taken.keys().next().value ?? "");
    this.#taken.set(key, machine);
  }

  #whyDown(name: string): string {
    const reasons = this.#of(name).map(({ machine }) => machine.standing.reason ?? `${machine.host} is down`);
    return reasons.join("; ") || "no machine is configured";
  }
}

/** The shorter of what the task and what the entry allows; 0 = no limit. */
function limitOf(taskMs: number, remotes: readonly RemoteExecutorConfig[]): number {
  const own = Math.max(...remotes.map((one) => one.timeoutMs));
  const limits = [taskMs, own].filter((ms) => ms > 0);
  return limits.length > 0 ? Math.min(...limits) : 0;
}
