// Retention (L8): history is folded, never forgotten; files that no row names are swept (U2).

import { sweepWorkspaces } from "../execute/workspace.ts";
import { messageOf } from "../kernel/errors.ts";
import { DAY, HOUR, MINUTE } from "../kernel/time.ts";
import { type MediaFiles, openMediaFiles } from "../store/files/media-files.ts";
import { JOBLESS_FOLDER, type OutputFiles } from "../store/files/output-files.ts";
import { agentTempFolder } from "./agent/temp-folder.ts";
import type { Context } from "./context.ts";
import { reapEnvironments } from "./environments.ts";
import { Repeating } from "./repeating.ts";

const EVERY_MS = 10 * MINUTE;
const SWEEP_MS = HOUR;
/** Messages emptied in one turn: bounds how long others wait for the store. */
const BLANKED_AT_ONCE = 1_000;
/** A sender that repeats an event within this time starts nothing, also when its runs were pruned. */
const EVENTS_KEPT_MS = 90 * DAY;
/** A cause that comes back within this time is known by its earlier openings. */
const INCIDENTS_KEPT_MS = 90 * DAY;
/** A run that is claimed while the sweep looks round has made its temp folder just now. */
const TEMP_KEPT_MS = HOUR;

export class Housekeeping {
  readonly #context: Context;
  readonly #files: OutputFiles;
  readonly #media: MediaFiles;
  readonly #repeating: Repeating;
  #sweptAtMs: number;
  #reaping: Promise<void> | undefined;

  constructor(context: Context, files: OutputFiles) {
    this.#context = context;
    this.#files = files;
    const { home, config } = context;
    this.#media = openMediaFiles({ root: home.paths.root, maxBytes: config.limits.mediaBytes });
    this.#sweptAtMs = context.clock.monotonicMs();
    this.#repeating = new Repeating({
      ...context,
      what: "housekeeping",
      everyMs: EVERY_MS,
      work: () => this.keep(),
    });
  }

  /** Idempotent, as is `stop`. */
  start(): void {
    // Beside the node's own work: an engine may be slow to answer.
    this.#reaping ??= this.#reap();
    this.#repeating.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#repeating.stop(), this.#reaping]);
  }

  /** Containers that an earlier node's death left. */
  async #reap(): Promise<void> {
    const { log } = this.#context;
    await reapEnvironments(this.#context).catch((error) =>
      log.warn("reaping-failed", { error: messageOf(error) }),
    );
  }

  /** One turn. Every step is idempotent, so a crash between two only leaves work for the next. */
  async keep(): Promise<void> {
    const { ledger, config, log, clock } = this.#context;
    const now = await ledger.now();
    const { runsPerJob, outputFiles, events, messageDays } = config.retention;
    const { prunedRuns, orphanedFiles } = await ledger.prune({
      rootRunsPerJob: runsPerJob,
      joblessRoots: config.orchestrator.maxTaskHistory,
      eventsKept: events,
      now,
    });
    await this.#files.remove(orphanedFiles);
    await this.#reap();
    await ledger.blankDeliveries({ before: now - messageDays * DAY, limit: BLANKED_AT_ONCE });
    await ledger.forgetEvents({ before: now - EVENTS_KEPT_MS, limit: BLANKED_AT_ONCE });
    await ledger.forgetIncidents({ before: now - INCIDENTS_KEPT_MS, limit: BLANKED_AT_ONCE });
    if (prunedRuns > 0) log.info("history-folded", { prunedRuns });
    if (clock.monotonicMs() - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = clock.monotonicMs();
    await this.#files.sweep((files) => ledger.knownOutputFiles(files), now);
    await this.#media.sweep((files) => ledger.knownMediaFiles(files), now);
    const jobIds = (await ledger.jobs()).map(({ definition }) => definition.jobId);
    for (const folder of [...jobIds, JOBLESS_FOLDER]) await this.#files.keepNewest(folder, outputFiles);
    await this.#sweepFolders(now);
  }

  /** Workspaces that were kept, and the temp folders of agents whose node died. Who is open is asked first. */
  async #sweepFolders(now: number): Promise<void> {
    const { ledger, home } = this.#context;
    const open = new Set<string>();
    for (const run of await ledger.runs({ state: ["claimed", "running", "cancelling"], limit: 10_000 }))
      open.add(run.id);
    const isOpen = (runId: string) => open.has(runId);
    await sweepWorkspaces(home.paths.workspacesFolder, { now, isOpen });
    await sweepWorkspaces(agentTempFolder(home.paths), { now, isOpen, keptMs: TEMP_KEPT_MS });
  }
}
