// The port of an agent's tools. A tool is one file with its schema and prompt text beside it; `agent/define-tool.ts` makes
// it from a zod schema. A call is prepare → execute → finalise: what is prepared is known to fit the schema.

/** What a model gets back: JSON with `error` null or a sentence it can act upon (DESIGN §13 counts by it). */
export type ToolResult = { error: string | null } & Record<string, unknown>;

export interface ToolContext {
  callId: string;
  runId: string;
  /** Aborts on cancel, time-out, stop. A tool that is aborted ends what it started and returns what it has. */
  signal: AbortSignal;
  /** Resets the idle watch (L14): output, progress. Cheap. A bare "still running" is no activity. */
  touch(activity: string): void;
}

/** A call whose arguments fit. */
export interface PreparedCall {
  /** What it is about, for people, in a few words: a path, a command's beginning. */
  summary: string;
  /** Never throws for what a model can mend: that is an `error`. A throw is a bug or a broken environment. */
  run(context: ToolContext): Promise<ToolResult>;
}

export type Preparation = { ok: true; call: PreparedCall } | { ok: false; error: string };

export interface Tool {
  /** `snake_case`, unique over all toolsets. */
  name: string;
  /** The group it is granted with: terminal, process, files, web, skills, cronjob, todo, or an MCP server's name. */
  toolset: string;
  /** For the model: what it does, when to use it, what it returns. */
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: Record<string, unknown>;
  /** Whether calls of one turn may run beside others that say the same. Reading is; changing is not. */
  isParallelSafe: boolean;
  /** Reads the arguments. A refusal is a sentence for the model; it counts as a malformed call. */
  prepare(value: unknown): Preparation;
}
