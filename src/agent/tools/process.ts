// The `process` tool: commands that outlive their call, through the port of background processes.

import * as z from "zod/mini";
import { tailWithNote } from "../../kernel/bound-text.ts";
import { formatInstant, SECOND } from "../../kernel/time.ts";
import type { BackgroundProcess, Processes, StartBackground } from "../../records/background.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { orSentence } from "./mendable.ts";
import { PROCESS_TEXT } from "./process-text.ts";

/** @source upstream.md 1.9: a wait is clamped to 180 s, with a note. */
const MAX_WAIT_SECONDS = 180;
/** Characters of output in one result. */
const MAX_OUTPUT = 30_000;
const POLL_CHARACTERS = 2_000;

const ACTIONS = ["start", "list", "poll", "log", "wait", "write", "close", "kill", "handoff"] as const;
const NEEDS_ID = new Set<string>(["poll", "log", "wait", "write", "close", "kill", "handoff"]);

const schema = z
  .strictObject({
    action: z.enum(ACTIONS),
    id: z.optional(z.string().check(z.minLength(1), z.describe("Which process; not for start and list."))),
    command: z.optional(z.string().check(z.minLength(1), z.describe("start: the command."))),
    cwd: z.optional(z.string().check(z.minLength(1), z.describe("start: absolute directory."))),
    pty: z.optional(z.boolean().check(z.describe("start: give it a terminal."))),
    persist: z.optional(z.boolean().check(z.describe("start: it goes on when its owner ends."))),
    notify: z.optional(
      z.array(z.string()).check(z.describe("start: whom to tell of its end; [] = this run's own log.")),
    ),
    watch: z.optional(
      z.array(z.string()).check(z.describe("start: also tell of lines that contain one of these.")),
    ),
    offset: z.optional(z.int().check(z.gte(0), z.describe("log: first line, counted from the oldest kept."))),
    lines: z.optional(z.int().check(z.gte(1), z.lte(2_000), z.describe("log: how many lines."))),
    timeoutSeconds: z.optional(z.number().check(z.positive(), z.describe("wait: at most 180, the default."))),
    data: z.optional(z.string().check(z.describe("write: the text."))),
  })
  .check(
    z.refine(({ action, id }) => !NEEDS_ID.has(action) || id !== undefined, "this action needs `id`"),
    z.refine(({ action, command }) => action !== "start" || command !== undefined, "start needs `command`"),
    z.refine(({ action, data }) => action !== "write" || data !== undefined, "write needs `data`"),
  );

type Input = z.infer<typeof schema>;

/** `processes` is the view of one run: it sees nothing of another's. */
export function makeProcessTool(processes: Processes): Tool {
  return defineTool({
    name: "process",
    toolset: "process",
    description: PROCESS_TEXT,
    schema,
    isParallelSafe: false,
    summarise: ({ action, id, command }) => [action, command ?? id ?? ""].join(" ").trim().slice(0, 80),
    run: (input, context) => orSentence(() => act(processes, input, context)),
  });
}

async function act(processes: Processes, input: Input, context: ToolContext): Promise<ToolResult> {
  const { action, id = "", command = "", data = "" } = input;
  switch (action) {
    case "start": {
      const { cwd, pty, persist } = input;
      const options = {
        command,
        ...(persist === undefined ? {} : { persist }),
        ...notifyOf(input),
        ...(cwd === undefined ? {} : { cwd }),
        ...(pty === undefined ? {} : { pty }),
      };
      return { error: null, process: show(await processes.start(options, context.signal)) };
    }
    case "list":
      return { error: null, processes: (await processes.list()).map(show) };
    case "poll": {
      const { process, output } = await processes.poll(id, { characters: POLL_CHARACTERS });
      return { error: null, process: show(process), output };
    }
    case "log":
      return await readLog(processes, id, input);
    case "wait":
      return await waitFor(processes, id, { asked: input.timeoutSeconds, context });
    case "write":
      await processes.write(id, data);
      return { error: null, written: data.length };
    case "close":
      await processes.closeStdin(id);
      return { error: null, closed: true };
    case "handoff":
      return { error: null, process: show(await processes.handOff(id)) };
    case "kill": {
      const { process, survivors, wasRunning } = await processes.kill(id);
      const error = survivors > 0 ? `${survivors} of its processes could not be ended.` : null;
      return { error, process: show(process), survivors, wasRunning };
    }
  }
}

function notifyOf({ notify, watch }: Input): Pick<StartBackground, "notify"> {
  if (!notify && !watch) return {};
  const patterns = watch?.map((text) => ({ text }));
  const targets = notify ?? [];
  return { notify: { onExit: notify !== undefined, targets, ...(patterns && { watch: patterns }) } };
}

async function readLog(processes: Processes, id: string, { offset, lines }: Input): Promise<ToolResult> {
  const { process, output, isCut } = await processes.log(id, {
    ...(offset === undefined ? {} : { offset }),
    ...(lines === undefined ? {} : { lines }),
  });
  return { error: null, process: show(process), output: tailWithNote(output, MAX_OUTPUT), isCut };
}

async function waitFor(
  processes: Processes,
  id: string,
  { asked, context }: { asked: number | undefined; context: ToolContext },
): Promise<ToolResult> {
  const seconds = Math.min(asked ?? MAX_WAIT_SECONDS, MAX_WAIT_SECONDS);
  const { status, process, output } = await processes.wait(id, {
    timeoutMs: seconds * SECOND,
    signal: context.signal,
  });
  const note =
    asked !== undefined && asked > seconds ? { note: `Waited ${seconds} s, the most for one call.` } : {};
  return { error: null, status, process: show(process), output: tailWithNote(output, MAX_OUTPUT), ...note };
}

/** What a model needs of it. */
function show(process: BackgroundProcess): Record<string, unknown> {
  const { id, command, cwd, pid, state, exitCode, startedAt, endedAt, outputBytes } = process;
  return {
    id,
    command: command.slice(0, 500),
    cwd,
    pid: pid ?? null,
    state,
    exitCode: exitCode ?? null,
    startedAt: formatInstant(startedAt),
    endedAt: endedAt === undefined ? null : formatInstant(endedAt),
    outputBytes,
  };
}
