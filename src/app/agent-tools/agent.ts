// The `agent` tool: one agent run now, queued for a node, or done in this process where no node is up (U2).
//
// I1. A run that was begun here is asked to end when its session ends: nobody else would.

import * as z from "zod/mini";
import { defineTool } from "../../agent/define-tool.ts";
import { messageOf } from "../../kernel/errors.ts";
import { slugify } from "../../kernel/ids.ts";
import { SECOND } from "../../kernel/time.ts";
import { withoutAbsent } from "../../kernel/without-absent.ts";
import type { Origin } from "../../records/delivery.ts";
import type { JobDocument } from "../../records/job.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import { nodesUp } from "../nodes.ts";
import { queueAgentRun } from "../queue-agent-run.ts";
import { showRun } from "../runs.ts";
import { waitForEnd } from "../wait-for-end.ts";
import { AGENT_TEXT } from "./agent-text.ts";
import { ignoringPeoples } from "./ignoring-peoples.ts";
import { orAnswer } from "./or-answer.ts";
import { bounded, briefly } from "./runs.ts";

/** Longest wait of one call; a longer one is repeated with `runs`. */
const MAX_WAIT_SECONDS = 600;

const list = (description: string) => z.optional(z.array(z.string()).check(z.describe(description)));

const schema = z.strictObject({
  prompt: z.string().check(z.minLength(1), z.describe("What it shall do, complete in itself.")),
  name: z.optional(z.string().check(z.minLength(1), z.describe("A title for people."))),
  toolsets: list("Such as terminal, files, web."),
  skills: list("Skills it reads first."),
  workdir: z.optional(z.string().check(z.minLength(1), z.describe("An absolute folder to work in."))),
  maxTurns: z.optional(z.int().check(z.gte(1), z.lte(10_000))),
  budget: z.optional(
    z
      .strictObject({
        tokens: z.optional(z.int().check(z.gte(1))),
        usd: z.optional(z.number().check(z.positive())),
      })
      .check(z.describe("The most it may spend, with everything under it.")),
  ),
  deliver: list("Where its answer also goes, such as origin. Default: nowhere, it is this tool's result."),
  waitSeconds: z.optional(
    z.number().check(z.gte(0), z.describe("Wait so long for the end, at most 600. Default 0: do not wait.")),
  ),
});

type Input = z.infer<typeof schema>;

/** Runs that this process does itself. */
export interface RunsHere {
  /** Begins to work on a queued run; returns at once. */
  start(runId: string): void;
}

export interface AgentToolDeps {
  context: Context;
  origin: Origin | undefined;
  /** Absent where a node is always up: on the node itself. */
  here: RunsHere | undefined;
}

export function makeAgentTool(deps: AgentToolDeps): Tool {
  const tool = defineTool({
    name: "agent",
    toolset: "agent",
    description: AGENT_TEXT,
    schema,
    isParallelSafe: true,
    summarise: ({ prompt }) => prompt.replace(/\s+/g, " ").slice(0, 80),
    run: (input, context) => orAnswer(() => start(deps, input, context)),
  });
  return ignoringPeoples(tool, ["budget"]);
}

async function start(deps: AgentToolDeps, input: Input, call: ToolContext): Promise<ToolResult> {
  const { context } = deps;
  const isForHere = deps.here !== undefined && (await nodesUp(context)).length === 0;
  const { run, warnings } = await queueAgentRun(context, draftOf(input, deps.origin), { isForHere });
  if (isForHere) deps.here?.start(run.id);
  else await context.ledger.wakeOthers();
  const asked = input.waitSeconds ?? 0;
  const seconds = Math.min(asked, MAX_WAIT_SECONDS);
  const ended = await waitForEnd(context, run.id, {
    atMostMs: seconds * SECOND,
    signal: call.signal,
    onLook: ({ state }) => call.touch(`run ${run.id} is ${state}`),
  });
  const notes = asked > seconds ? [`Waited ${seconds} s, the most for one call.`] : [];
  if (!ended) {
    const now = await showRun(context, run.id);
    return { error: null, hasEnded: false, run: briefly(now), warnings, notes: [...notes, LATER] };
  }
  const shown = bounded(await showRun(context, ended.id));
  return {
    error: endError(shown.state, shown.reason),
    hasEnded: true,
    run: briefly(shown),
    output: shown.outcome?.output ?? "",
    ...(shown.outcome?.state === "failed" && { why: shown.outcome.error.message }),
    ...(shown.note !== undefined && { note: shown.note }),
    warnings,
    notes,
  };
}

const LATER = "It has not ended yet: look at it with the runs tool, action show.";

function endError(state: string, reason: string | null): string | null {
  if (state === "succeeded" || state === "partiallySucceeded") return null;
  return `The run ended as ${state}${reason === null ? "" : ` (${reason})`}.`;
}

function draftOf(input: Input, origin: Origin | undefined): JobDocument {
  const { prompt, name, toolsets, skills, maxTurns, budget, workdir, deliver = [] } = input;
  return {
    id: slugify(name ?? prompt.slice(0, 50), "agent"),
    ...(name !== undefined && { name }),
    ...(workdir !== undefined && { workdir }),
    deliver,
    run: { agent: { prompt, ...withoutAbsent({ toolsets, skills, maxTurns, budget }) } },
    ...(origin && { origin }),
  };
}

const ENDED = "its session ended";

/** The runs that a process does itself while its session lives. */
export class OwnRuns implements RunsHere {
  readonly #context: Context;
  readonly #live = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();

  constructor(context: Context) {
    this.#context = context;
  }

  start(runId: string): void {
    const done = this.#run(runId).finally(() => this.#live.delete(runId));
    this.#live.set(runId, done);
  }

  /** Never rejects. */
  async #run(runId: string): Promise<void> {
    try {
      const { runHere } = await import("../node.ts");
      await runHere({ context: this.#context }, { id: runId, signal: this.#ending.signal });
    } catch (error) {
      this.#context.log.error("run-here-failed", { runId, error: messageOf(error) });
    }
  }

  /** (I1) Resolves when none is left. Idempotent. */
  async close(): Promise<void> {
    const { ledger, log } = this.#context;
    // One that nobody has claimed yet would wait for a node, though nobody waits for it.
    for (const runId of this.#live.keys())
      await ledger
        .requestCancel(runId, ENDED, await ledger.now())
        .catch((error) => log.warn("run-not-cancelled", { runId, error: messageOf(error) }));
    this.#ending.abort(new Error(ENDED));
    await Promise.all(this.#live.values());
  }
}
