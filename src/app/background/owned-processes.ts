// The background processes that one owner sees and touches: a run's, a session's, or all of the home's (a person).
//
// I1. All that is known is in the ledger and in a process's own folder, so every surface does the same, with or without a
//     node. Only what another process of ours holds (a container's, a remote one, a terminal's) is touched through that one.
// I2. `poll` and `list` change nothing; `log` of an ended one and `wait` that saw its end consume its notice (hermes#10156).
// I3. `dispose` ends what was started here, but what was handed off or persists.

import { pageOf } from "../../execute/background/log-page.ts";
import { KEPT_CHARACTERS } from "../../execute/background/output-log.ts";
import { closeSupervisedStdin, endSupervised, writeSupervised } from "../../execute/background/supervised.ts";
import { linkAbort } from "../../kernel/abort.ts";
import { Fault, messageOf } from "../../kernel/errors.ts";
import { MINUTE, SECOND } from "../../kernel/time.ts";
import type { BackgroundRecord, Processes, StartBackground, WaitAnswer } from "../../records/background.ts";
import type { Context } from "../context.ts";
import { keptText } from "./kept-text.ts";
import { observe, outputFolder } from "./observe.ts";
import { identityOf, isOfThisHost } from "./places.ts";
import { type Owner, type StartPlace, startProcess } from "./start.ts";

/** @source upstream.md 1.9 */
export const LONGEST_WAIT_MS = 3 * MINUTE;
const POLL_CHARACTERS = 1_000;
const LOG_LINES = 200;
const LOOK_MS = 100;
/** TERM → KILL. */
const GRACE_MS = 2 * SECOND;
/** After an exit: what is still in the pipe. */
const DRAIN_MS = 50;
const HOME: Owner = { runId: undefined, session: "cli" };

export interface OwnedOptions {
  context: Context;
  owner: Owner;
  /** A person sees all of the home. */
  seesAll: boolean;
  place(): Promise<StartPlace>;
  /** Whom a hand-off goes to; the home where there is none. */
  parentRunId?: string | undefined;
  /** What goes through an environment's own connection; undefined = nothing does here. */
  attached?: { processes: Processes; takes(options: StartBackground): boolean } | undefined;
  /** Whether notices may go to deliver targets, or only to the run itself (S3). */
  mayTellTargets: boolean;
}

/** Opens the view. Nothing is started or read by it. */
export function ownedProcesses(options: OwnedOptions): Processes {
  return new OwnedProcesses(options);
}

class OwnedProcesses implements Processes {
  readonly #options: OwnedOptions;
  readonly #context: Context;
  #disposing: Promise<{ ended: number; survivors: number }> | undefined;

  constructor(options: OwnedOptions) {
    this.#options = options;
    this.#context = options.context;
  }

  async start(options: StartBackground, signal: AbortSignal) {
    const { attached, owner, mayTellTargets } = this.#options;
    this.#refuseIfClosed();
    signal.throwIfAborted();
    if (!mayTellTargets && options.notify?.targets?.length)
      throw new Fault("input.refused", "a run's notices go to its own log", {
        hint: "Leave the target out; what the job delivers is its result.",
      });
    if (attached?.takes(options)) return attached.processes.start(options, signal);
    const place = await this.#options.place();
    const record = await startProcess(this.#context, owner, { place, options });
    // It began while we were being closed: nobody else would end it.
    if (this.#disposing) {
      await this.#end(record);
      this.#refuseIfClosed();
    }
    return record;
  }

  async list() {
    return Promise.all((await this.#records()).map((record) => observe(this.#context, record)));
  }

  async poll(id: string, { characters = POLL_CHARACTERS }: { characters?: number } = {}) {
    const record = await this.#find(id);
    const held = await this.#heldHere(record.id);
    if (held) return held.poll(record.id, { characters });
    const { text } = characters > 0 ? await keptText(this.#context, record, characters) : { text: "" };
    return { process: await observe(this.#context, record), output: text };
  }

  async log(id: string, { offset, lines = LOG_LINES }: { offset?: number; lines?: number } = {}) {
    const record = await observe(this.#context, await this.#find(id));
    if (record.state !== "running") await this.#consume(record);
    const held = await this.#heldHere(record.id);
    if (held) return held.log(record.id, { ...(offset !== undefined && { offset }), lines });
    const { text, isWhole } = await keptText(this.#context, record, KEPT_CHARACTERS);
    const page = pageOf(text, { offset, lines });
    return { process: record, output: page.text, isCut: !isWhole || !page.isWhole };
  }

  async wait(
    id: string,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<WaitAnswer> {
    const first = await this.#find(id);
    if (!(timeoutMs > 0))
      throw new Fault("input.invalid", "a wait needs a time above 0", {
        hint: "Poll instead, or give a time in which the process may end.",
      });
    const { clock } = this.#context;
    const until = clock.monotonicMs() + Math.min(timeoutMs, LONGEST_WAIT_MS);
    for (;;) {
      const process = await this.#now(first);
      const status = process.state !== "running" ? "exited" : signal.aborted ? "interrupted" : "timeout";
      if (status === "timeout" && clock.monotonicMs() < until) {
        await clock.sleep(Math.min(LOOK_MS, until - clock.monotonicMs()), signal).catch(() => {});
        continue;
      }
      if (status === "exited") await this.#consume(process);
      if (status === "exited") await pause(this.#context, DRAIN_MS);
      return { status, process, output: (await keptText(this.#context, process, KEPT_CHARACTERS)).text };
    }
  }

  async write(id: string, data: string) {
    const record = await this.#running(id);
    const held = await this.#heldHere(record.id);
    if (held) return held.write(record.id, data);
    this.#refuseForeign(record);
    await writeSupervised(this.#context, outputFolder(this.#context, record), data);
  }

  async closeStdin(id: string) {
    const record = await this.#running(id);
    const held = await this.#heldHere(record.id);
    if (held) return held.closeStdin(record.id);
    this.#refuseForeign(record);
    await closeSupervisedStdin(outputFolder(this.#context, record), record.id);
  }

  async kill(id: string) {
    const record = await observe(this.#context, await this.#find(id));
    const held = await this.#heldHere(record.id);
    if (held) return held.kill(record.id);
    const wasRunning = record.state === "running";
    const { survivors } = await this.#end(record);
    return { process: await this.#now(record), survivors, wasRunning };
  }

  async handOff(id: string) {
    const record = await this.#find(id);
    const held = await this.#heldHere(record.id);
    if (held) return held.handOff(record.id);
    const { parentRunId, owner } = this.#options;
    const isHome = parentRunId === undefined || owner.runId === undefined;
    const to = isHome ? HOME : { runId: parentRunId, session: "run" };
    await this.#context.ledger.handOffBackground(record.id, { ownerRunId: to.runId, session: to.session });
    return { ...record, ownerRunId: to.runId };
  }

  dispose(): Promise<{ ended: number; survivors: number }> {
    this.#disposing ??= this.#endAll();
    return this.#disposing;
  }

  async #endAll() {
    const attached = (await this.#options.attached?.processes.dispose()) ?? { ended: 0, survivors: 0 };
    const own = (await this.#ownRecords()).filter((one) => one.isSupervised && !one.persist);
    const ended = await Promise.all(own.map((record) => this.#endSurely(record)));
    const running = own.filter(({ state }) => state === "running").length;
    const survivors = ended.reduce((sum, one) => sum + one.survivors, attached.survivors);
    return { ended: attached.ended + running, survivors };
  }

  async #endSurely(record: BackgroundRecord): Promise<{ survivors: number }> {
    try {
      return await this.#end(record);
    } catch (error) {
      this.#context.log.warn("process-not-ended", { id: record.id, error: messageOf(error) });
      return { survivors: 1 };
    }
  }

  /** A store that cannot be asked now must not keep an owner from ending: a node ends these once its row says so. */
  async #ownRecords(): Promise<readonly BackgroundRecord[]> {
    const { owner } = this.#options;
    try {
      return await this.#records();
    } catch (error) {
      this.#context.log.warn("processes-left-to-nodes", { ...owner, error: messageOf(error) });
      return [];
    }
  }

  /** Also one that has ended: what it left in the background is its own. */
  async #end(record: BackgroundRecord): Promise<{ survivors: number }> {
    const { ledger } = this.#context;
    if (record.state === "running") await ledger.requestBackgroundKill(record.id, await ledger.now());
    if (!record.isSupervised || !isOfThisHost(this.#context, record)) {
      await this.#untilHolderEnds(record);
      return { survivors: 0 };
    }
    const identity = identityOf(record);
    const ended = await endSupervised(this.#context, { id: record.id, identity, graceMs: GRACE_MS });
    if (ended.survivors === 0) await this.#now(record);
    return ended;
  }

  /** I1. It looks at the ledger when it changes; a dead one is noticed as such. */
  async #untilHolderEnds(record: BackgroundRecord): Promise<void> {
    const { clock } = this.#context;
    const until = clock.monotonicMs() + 10 * SECOND;
    while ((await this.#now(record)).state === "running") {
      if (clock.monotonicMs() >= until)
        throw new Fault(
          "input.conflict",
          `${record.id} is held by another process, which has not ended it yet`,
          {
            hint: "The request stays; look again with poll.",
            retry: "later",
          },
        );
      await pause(this.#context, LOOK_MS);
    }
  }

  async #now(record: BackgroundRecord): Promise<BackgroundRecord> {
    const known = await this.#context.ledger.background(record.id);
    return observe(this.#context, known && !("ambiguous" in known) ? known : record);
  }

  async #consume(record: BackgroundRecord): Promise<void> {
    await this.#context.ledger.consumeBackground(record.id, await this.#context.ledger.now());
  }

  #records() {
    const { owner, seesAll } = this.#options;
    return this.#context.ledger.backgrounds(
      seesAll ? {} : { ownerRunId: owner.runId ?? null, session: owner.session },
    );
  }

  async #heldHere(id: string): Promise<Processes | undefined> {
    const { attached } = this.#options;
    const known = attached ? await attached.processes.list() : [];
    return known.some((one) => one.id === id) ? attached?.processes : undefined;
  }

  async #find(id: string): Promise<BackgroundRecord> {
    const found = await this.#context.ledger.background(id);
    if (found && "ambiguous" in found) {
      const own = (await this.#records()).map((one) => one.id).filter((one) => found.ambiguous.includes(one));
      const [only, ...more] = own;
      if (only !== undefined && more.length === 0) return this.#find(only);
      throw new Fault("input.ambiguous", `${own.length} processes begin with ${id}`, {
        hint: `Give more of the id: ${own.join(", ")}.`,
        details: { candidates: own },
      });
    }
    if (found && this.#isVisible(found)) return found;
    throw new Fault("process.unknown", `there is no process ${id}`, {
      hint: "List the processes for their ids; ended ones are forgotten after 30 minutes.",
    });
  }

  #isVisible({ ownerRunId, session }: BackgroundRecord): boolean {
    const { owner, seesAll } = this.#options;
    return seesAll || (ownerRunId === owner.runId && session === owner.session);
  }

  async #running(id: string): Promise<BackgroundRecord> {
    const record = await observe(this.#context, await this.#find(id));
    if (record.state === "running") return record;
    throw new Fault("input.conflict", `process ${record.id} has ended`, {
      hint: "Start the command again to write to it.",
    });
  }

  #refuseForeign(record: BackgroundRecord): void {
    if (record.isSupervised && isOfThisHost(this.#context, record)) return;
    throw new Fault("input.refused", `${record.id} can only be written to by what started it`, {
      hint: "Poll, log, wait and kill work from here.",
    });
  }

  #refuseIfClosed(): void {
    if (!this.#disposing) return;
    throw new Fault("environment.unusable", "its owner is ending: nothing is started any more", {
      hint: "Start it from another run.",
    });
  }
}

async function pause({ clock }: Context, ms: number): Promise<void> {
  const timer = linkAbort();
  await clock.sleep(ms, timer.signal);
}
