// `command:NAME`: the message on the standard input of a program that the configuration names.
//
// I1. A program's side effects are its own: `blind`. Exit 0 is the receipt, 75 (EX_TEMPFAIL) is "later", any other is final.
// I2. The program gets a few variables of its own and no shell: nothing of a message is ever part of a command line.
// I3. Its process group ends with the try.
// @source sysexits.h (75 = temporary failure).

import { type ChildProcess, spawn } from "node:child_process";
import { linkAbort } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import { type Clock, SECOND } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import type { Adapter, SendRequest, SendResult } from "../../records/delivery.ts";
import { chatAddress } from "../platforms/address.ts";
import type { PlatformDeps } from "../platforms/ask.ts";
import { type Settings, whyUnusable } from "../platforms/settings.ts";

const TIMEOUT_MS = 30 * SECOND;
const EX_TEMPFAIL = 75;
const MAX_STDERR = 400;

export interface CommandOptions {
  /** The program's environment, before what is ours. Default: none. */
  env: Readonly<Record<string, string>>;
}

export function makeCommandAdapter(
  deps: PlatformDeps,
  settings: Settings<PlatformConfigs["command"]>,
  options: CommandOptions,
): Adapter {
  const programs = settings.kind === "ready" ? settings.config.programs : {};
  const programOf = (name: string | undefined) =>
    Object.hasOwn(programs, name ?? "") ? programs[name ?? ""] : undefined;
  return {
    platform: "command",
    repeatability: "blind",
    maxLength: Number.POSITIVE_INFINITY,
    isForPrograms: true,
    addressForm: "<name of a configured program>",
    parseAddress: chatAddress(/^[\w.-]+$/),
    unusable: () => whyUnusable(settings, "command", "programs"),
    mediaLimits: () => ({ maxBytes: Number.POSITIVE_INFINITY }),
    refuses: ({ chat }) => {
      const known = Object.keys(programs).join(", ") || "none";
      return programOf(chat) ? undefined : `no program is called "${chat ?? ""}" (configured: ${known})`;
    },
    async send(request, signal) {
      const [file, ...args] = programOf(request.target.chat) ?? [];
      if (file === undefined) return { kind: "refused", error: `no program "${request.target.chat ?? ""}"` };
      const env = { ...options.env, ...ownEnv(request) };
      return runProgram({ file, args, env, body: request.body, clock: deps.clock }, signal);
    },
  };
}

function ownEnv({ kind, jobId, runId, idempotencyKey, target, media }: SendRequest): Record<string, string> {
  return {
    ...(media && {
      NIGHTSHIFT_DELIVERY_FILE: media.path,
      NIGHTSHIFT_DELIVERY_FILE_NAME: media.name,
      NIGHTSHIFT_DELIVERY_FILE_TYPE: media.contentType,
    }),
    NIGHTSHIFT_DELIVERY_KIND: kind,
    NIGHTSHIFT_DELIVERY_KEY: idempotencyKey,
    NIGHTSHIFT_DELIVERY_TARGET: target.text,
    NIGHTSHIFT_DELIVERY_JOB: jobId ?? "",
    NIGHTSHIFT_DELIVERY_RUN: runId ?? "",
  };
}

interface Program {
  file: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  body: string;
  clock: Clock;
}

async function runProgram(
  { file, args, env, body, clock }: Program,
  signal: AbortSignal,
): Promise<SendResult> {
  const child = spawn(file, [...args], { env, detached: true, stdio: ["pipe", "ignore", "pipe"] });
  const limit = linkAbort(signal);
  const timer = new AbortController();
  const timing = clock.sleep(TIMEOUT_MS, timer.signal).then(
    () => limit.abort(new Error("the program took longer than 30s")),
    () => {},
  );
  const kill = () => killGroup(child);
  limit.signal.addEventListener("abort", kill, { once: true });
  if (limit.signal.aborted) kill();
  try {
    const { code, stderr } = await ended(child, body);
    if (limit.signal.aborted) return { kind: "unknown", error: messageOf(limit.signal.reason) };
    return judge({ file, code, stderr, clock });
  } catch (error) {
    // It never started: nothing happened, and nothing will until somebody corrects the name.
    return { kind: "refused", error: `${file} cannot be started: ${messageOf(error)}` };
  } finally {
    limit.signal.removeEventListener("abort", kill);
    timer.abort();
    limit.release();
    kill();
    await timing;
  }
}

/** Rejects when it could not be started. `code` is undefined when a signal ended it. */
function ended(child: ChildProcess, body: string): Promise<{ code: number | undefined; stderr: string }> {
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  // A program that reads nothing closes its end: that is its own affair.
  child.stdin?.on("error", () => {}).end(body);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // `exit`, not `close`: a grandchild that holds stderr must not hold the outbox.
    child.once("exit", (code) => resolve({ code: code ?? undefined, stderr: stderr.trim() }));
  });
}

function judge(end: { file: string; code: number | undefined; stderr: string; clock: Clock }): SendResult {
  const { file, code, stderr, clock } = end;
  if (code === 0) return { kind: "delivered", receipt: { at: clock.now(), note: "exit 0" } };
  const tail = stderr === "" ? "" : `: ${stderr}`;
  if (code === undefined) return { kind: "unknown", error: `${file} was ended by a signal${tail}` };
  return { kind: code === EX_TEMPFAIL ? "retry" : "refused", error: `${file} exited with ${code}${tail}` };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
}
