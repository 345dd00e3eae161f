// The shape of a command: a line of the table in commands/, its work loaded only when it is called.

import type { Context } from "../app/context.ts";
import type { LogSink } from "../kernel/log.ts";
import type { Io } from "./io.ts";

/** An option as commander spells it: `--limit <n>`; `[flags, description, default?]`. */
export type OptionSpec = readonly [flags: string, description: string, fallback?: string];

export type Options = Readonly<Record<string, string | boolean | string[] | undefined>>;

export interface Call {
  /** Positional arguments, in order; missing optional ones are undefined; repeatable ones are the last. */
  args: readonly (string | undefined)[];
  options: Options;
  io: Io;
  /** Opens the home (and its ledger) of `--home`, `--profile` or NIGHTSHIFT_HOME; closed when the command has ended. */
  open(extra?: OpenExtra): Promise<Context>;
  /** Entry of the watch thread, where it is a file of its own. */
  watchWorker: URL | undefined;
  home: HomeChoice;
}

/** What only some commands want of a context. */
export interface OpenExtra {
  logSink?: LogSink;
  configFile?: string;
  /** Where the `stdout` target writes instead. */
  stdout?: (text: string) => void;
}

/** Which home and store the command line and the environment name. */
export interface HomeChoice {
  path: string;
  storeUrl: string | undefined;
}

/** Returns the exit code; nothing = 0. */
export type RunCommand = (call: Call) => Promise<number | undefined>;

export interface CommandSpec {
  /** `job add`, `status`. */
  path: string;
  /** `<schedule> [prompt]`. */
  args?: string;
  summary: string;
  options?: readonly OptionSpec[];
  /** Refused inside a run unless the config allows agents to schedule (S1). */
  changesJobs?: boolean;
  /** Looks at jobs/ first when no node is up, so that a file a person dropped in is known at once. */
  readsJobFiles?: boolean;
  load: () => Promise<RunCommand>;
}
