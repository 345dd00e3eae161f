// What this node's machine has, measured again and again, and what may be taken of it: asked by the pass that claims tasks.
//
// I1. What is held is read from live rows, never counted: whoever dies holds nothing any more (law 3).
// I2. A pass waits for nothing: before the first measurement, and before executors were read, no task starts; a nudge
//     follows as soon as both are there.

import { messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import {
  chooseRegistration,
  eligible,
  needsOf,
  registrationKey,
} from "../../orchestrate/resources/choose.ts";
import { placeRequest } from "../../orchestrate/resources/place-request.ts";
import type { Held, Sight } from "../../orchestrate/resources/room.ts";
import type { Executor } from "../../records/executor.ts";
import type { AdmitTasks, TaskAdmission } from "../../records/ledger/workflows.ts";
import {
  asksForAnything,
  type Holding,
  type MachineResources,
  NO_RESOURCES,
} from "../../records/resources.ts";
import type { Admission, Run } from "../../records/run.ts";
import type { Resources } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import type { RolloutWatch } from "../executors/rollout-watch.ts";
import { Repeating } from "../repeating.ts";
import { heldBy } from "./held.ts";
import { openProbe, type Probe } from "./probe.ts";
import type { Registrations } from "./registrations.ts";

export interface KeeperDeps {
  context: Pick<Context, "clock" | "config" | "env" | "host" | "ledger" | "log">;
  nodeId: string;
  registrations: Registrations;
  /** Which version a task gets that is pinned to none. */
  rollouts: Pick<RolloutWatch, "versionFor">;
  /** A pass may find more to start. */
  nudge(): void;
  /** Default: of this machine. */
  probe?: Probe;
}

/** An idle node tells others this seldom that its machine has more or less free. */
const TELL_MS = 60 * SECOND;
/** Of a total: what changes by less is no news. */
const NOISE = 0.05;
/** A pass may not start it, and nobody need be told why (I2). */
const NOT_YET = "";

export class ResourceKeeper {
  readonly #deps: KeeperDeps;
  readonly #probe: Probe;
  readonly #loop: Repeating;
  #machine: MachineResources | undefined;
  #measuring: Promise<void> | undefined;
  #told: MachineResources | undefined;
  /** Whether a task was refused since the last measurement. */
  #hasBlocked = false;
  /** What the present pass has chosen, by run. */
  readonly #chosen = new Map<string, Pick<Admission, "holds" | "registration" | "version">>();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#probe = deps.probe ?? openProbe(deps.context);
    this.#loop = new Repeating({
      ...deps.context,
      what: "resource-probe",
      everyMs: deps.context.config.orchestrator.resourceProbeMs,
      work: async () => {
        await Promise.all([this.measure(), deps.registrations.reread()]);
      },
    });
  }

  get machine(): MachineResources | undefined {
    return this.#machine;
  }

  /** Idempotent. Returns at once; the first measurement is under way. */
  start(): void {
    void this.measure();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#probe.close();
    await this.#loop.stop();
    await this.#measuring;
  }

  /** One measurement, or the one under way. Never rejects. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  /** The pass's question with this machine's answer to it. `inner` asks `lacks`. */
  admitWith(inner: AdmitTasks): AdmitTasks {
    return (view) => {
      this.#chosen.clear();
      const answer = inner(view);
      const byId = new Map(view.waiting.map((run) => [run.id, run]));
      return {
        ...answer,
        blocked: answer.blocked.filter(({ lacks }) => lacks !== NOT_YET),
        admissions: this.#admissions(answer.start, byId),
      };
    };
  }

  /** What the machine lacks for a task beside these live ones of all nodes; undefined = it can take it. */
  lacks(run: Run, running: readonly Run[]): string | undefined {
    const registered = this.#deps.registrations.named(run.admission?.executor);
    if (!registered) return NOT_YET;
    const admission = this.#pinned(run, registered);
    const { version } = admission ?? {};
    if (isPlain(registered, admission)) {
      if (version !== run.admission?.version) this.#chosen.set(run.id, { version });
      return undefined;
    }
    const machine = this.#machine;
    if (!machine) {
      void this.measure();
      return NOT_YET;
    }
    const answer = answerOf(registered, admission, this.#sightOf(machine, running));
    if ("lacks" in answer) {
      this.#hasBlocked = true;
      return answer.lacks;
    }
    this.#chosen.set(run.id, {
      holds: this.#holding(answer),
      registration: answer.registration && registrationKey(answer.registration),
      version,
    });
    return undefined;
  }

  /** With the version that a rollout gives it: from then on it keeps it, as its row says. */
  #pinned({ admission, idempotencyKey }: Run, registered: readonly Executor[]): Admission | undefined {
    if (admission?.executor === undefined || admission.version !== undefined) return admission;
    const versions = registered.filter(({ kind }) => kind !== "remote").map((one) => one.version);
    const version = this.#deps.rollouts.versionFor(admission.executor, idempotencyKey, versions);
    return version === undefined ? admission : { ...admission, version };
  }

  #sightOf(machine: MachineResources, running: readonly Run[]): Sight {
    const { host, config } = this.#deps.context;
    // Those that this very pass starts before the run: their rows do not say yet what they hold.
    const started = running.flatMap(({ id, owner }): Held[] => {
      const holds = owner === undefined ? this.#chosen.get(id)?.holds : undefined;
      return holds ? [{ ...holds, runId: id }] : [];
    });
    const held = [...heldBy(running, host.hostId), ...started];
    return { machine, held, settleMs: config.orchestrator.resourceProbeMs };
  }

  #holding({ needs, cards }: { needs: Resources; cards: readonly number[] }): Holding | undefined {
    const { cpu, memoryMb, gpuMemoryMb } = needs;
    if (cpu + memoryMb + cards.length === 0) return undefined;
    const { host, clock } = this.#deps.context;
    return { host: host.hostId, since: clock.now(), cpu, memoryMb, cards, gpuMemoryMb };
  }

  #admissions(starting: readonly string[], byId: ReadonlyMap<string, Run>): TaskAdmission["admissions"] {
    const changed = new Map<string, Admission>();
    for (const id of starting) {
      const [run, chosen] = [byId.get(id), this.#chosen.get(id)];
      if (!run?.admission || !chosen) continue;
      const { holds, registration, version } = chosen;
      const before = run.admission;
      const isSame = registration === before.registration && version === before.version;
      if (!holds && !before.holds && isSame) continue;
      changed.set(id, { ...before, holds, registration, version });
    }
    return changed;
  }

  async #measure(): Promise<void> {
    const { nudge } = this.#deps;
    const isFirst = this.#machine === undefined;
    this.#machine = await this.#probe.measure();
    if (isFirst || this.#hasBlocked) nudge();
    this.#hasBlocked = false;
    await this.#tell(this.#machine);
  }

  /** Writes the node's row where there is news: an idle machine must not cost an fsync every ten seconds. */
  async #tell(machine: MachineResources): Promise<void> {
    const { context, nodeId } = this.#deps;
    if (this.#told && !isNews(machine, this.#told)) return;
    try {
      await context.ledger.updateNode(nodeId, { resources: machine });
      this.#told = machine;
    } catch (error) {
      context.log.debug("resources-not-told", { error: messageOf(error) });
    }
  }
}

type Answer = { registration?: Executor; needs: Resources; cards: readonly number[] } | { lacks: string };

/** Nearly every task: nothing to choose, nothing to hold, nothing to write. */
function isPlain(registered: readonly Executor[], admission: Admission | undefined): boolean {
  const candidates = eligible(registered, admission?.version);
  if (candidates.length === 0) return !asksForAnything(admission?.resources ?? NO_RESOURCES);
  return (
    candidates.length === 1 && candidates.every((one) => !asksForAnything(needsOf(one, admission?.resources)))
  );
}

/** Work without a registration (a shell command, an agent, a version that is gone) takes what its task says. */
function answerOf(registered: readonly Executor[], admission: Admission | undefined, sight: Sight): Answer {
  const { version, resources = NO_RESOURCES } = admission ?? {};
  const choice = chooseRegistration(registered, { version, resources: admission?.resources }, sight);
  if (choice) return choice;
  const answer = placeRequest(resources, sight);
  return answer.fits ? { needs: resources, cards: answer.cards } : { lacks: answer.lacks };
}

function isNews(now: MachineResources, told: MachineResources): boolean {
  const fixed = ({ cpu, memoryMb, cards, cardProblem, labels, reserve }: MachineResources) =>
    JSON.stringify([cpu, memoryMb, cards.map(({ totalMb }) => totalMb), cardProblem, labels, reserve]);
  if (fixed(now) !== fixed(told)) return true;
  if (now.probedAt - told.probedAt < TELL_MS) return false;
  const isOther = (a: number, b: number, total: number) => Math.abs(a - b) > NOISE * total;
  return (
    isOther(now.memoryFreeMb, told.memoryFreeMb, now.memoryMb) ||
    now.cards.some((card, index) => isOther(card.freeMb, told.cards[index]?.freeMb ?? 0, card.totalMb))
  );
}
