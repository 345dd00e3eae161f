// The `terminal` tool: one command in the run's environment, wherever that is.
//
// I1. An exit code is a value: `error` is null for every command that ended by itself.
// I2. What was written before a time-out or an interrupt is kept.

import * as z from "zod/mini";
import { tailWithNote } from "../../kernel/bound-text.ts";
import { SECOND } from "../../kernel/time.ts";
import type { CommandResult, Environment } from "../../records/environment.ts";
import type { Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import { decodeOutput } from "./decode-output.ts";
import { orSentence } from "./mendable.ts";
import { terminalText } from "./terminal-text.ts";

const DEFAULT_TIMEOUT_SECONDS = 180;
const DEFAULT_MAX_TIMEOUT_SECONDS = 1_800;
/** Characters kept of each stream. */
const MAX_OUTPUT = 30_000;
/** Bytes asked of the environment: a character has at most four. */
const MAX_BYTES = 4 * MAX_OUTPUT;
const MAX_SUMMARY = 80;

export interface TerminalDeps {
  environment: Environment;
  /** The longest time a command may ask for. Default 1,800. */
  maxTimeoutSeconds?: number | undefined;
}

const schema = z.strictObject({
  command: z.string().check(z.minLength(1), z.describe("The command, as you would type it.")),
  cwd: z.optional(
    z
      .string()
      .check(
        z.minLength(1),
        z.describe("Absolute directory for this call. Default: where the last call ended."),
      ),
  ),
  timeoutSeconds: z.optional(z.number().check(z.positive(), z.describe("Default 180."))),
});

export function makeTerminalTool(deps: TerminalDeps): Tool {
  const maxSeconds = deps.maxTimeoutSeconds ?? DEFAULT_MAX_TIMEOUT_SECONDS;
  return defineTool({
    name: "terminal",
    toolset: "terminal",
    description: terminalText(Math.min(DEFAULT_TIMEOUT_SECONDS, maxSeconds), maxSeconds),
    schema,
    isParallelSafe: false,
    summarise: ({ command }) => command.replace(/\s+/g, " ").trim().slice(0, MAX_SUMMARY),
    run: (input, context) => orSentence(() => runCommand(deps.environment, input, { maxSeconds, context })),
  });
}

async function runCommand(
  environment: Environment,
  input: z.infer<typeof schema>,
  { maxSeconds, context }: { maxSeconds: number; context: ToolContext },
): Promise<ToolResult> {
  if (isPlainBackground(input.command)) return { error: BACKGROUND_ERROR };
  if (input.command.includes("\0")) return { error: "A command cannot hold a NUL character." };
  const asked = input.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
  const seconds = Math.min(asked, maxSeconds);
  const result = await environment.exec(input.command, {
    ...(input.cwd === undefined ? {} : { cwd: input.cwd }),
    timeoutMs: seconds * SECOND,
    signal: context.signal,
    maxBytes: MAX_BYTES,
    onActivity: (activity) =>
      context.touch(activity === "output" ? "output of a command" : "CPU time of a command"),
  });
  return toolResult(result, { seconds, asked: input.timeoutSeconds });
}

function toolResult(result: CommandResult, time: { seconds: number; asked: number | undefined }): ToolResult {
  const notes: string[] = [];
  if (time.asked !== undefined && time.asked > time.seconds)
    notes.push(`${time.asked} s is more than a command may have; it was given ${time.seconds} s.`);
  if (result.wasRecreated)
    notes.push("The environment had died and was made anew: earlier variables and processes are gone.");
  return {
    error: whyEnded(result, time.seconds),
    exitCode: result.exitCode,
    stdout: tailWithNote(decodeOutput(result.stdout, result.truncated), MAX_OUTPUT),
    stderr: tailWithNote(decodeOutput(result.stderr, result.truncated), MAX_OUTPUT),
    timedOut: result.timedOut,
    ...(result.truncated ? { isCut: true } : {}),
    cwd: result.cwd,
    durationMs: result.durationMs,
    ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
  };
}

function whyEnded(result: CommandResult, seconds: number): string | null {
  if (result.timedOut)
    return `The command was ended after ${seconds} s. Give it a larger timeoutSeconds, or start it with the process tool.`;
  return result.interrupted ? "The command was ended because the run is ending." : null;
}

/** Only what can mean nothing else: a last `&` that is no `&&`, no `>&`, no escaped one. */
function isPlainBackground(command: string): boolean {
  return /(?:^|[^&>|\\])&\s*(?:disown\b[^;&|\n]*)?$/.test(command.trimEnd());
}

const BACKGROUND_ERROR =
  "The command was not run: it ends in `&`, and nothing would watch what it leaves behind. Start it with the process tool (action start), which keeps its output and ends it with the run; or run it without `&`.";
