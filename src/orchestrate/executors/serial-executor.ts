// A serial line as an attempt: write a line, read the answers. Through the package `serialport` where a speed is named, else
// through the device file itself.
//
// I1. The line is opened for one attempt and closed before it ends. Two attempts on one device take turns.
// I2. After something was written, a line that breaks means that nobody knows what the device did: `unknown`.

import { whenAborted } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { SerialWork } from "../../records/executor-config.ts";
import type { Outcome } from "../../records/outcome.ts";
import { openSerialLine, type SerialLine } from "./serial-line.ts";
import { compileTemplates, type ResolveText, scopeOfCall } from "./templates.ts";

export interface SerialDeps {
  resolve: ResolveText;
  turns: Turns;
}

/** A device at a wrong speed sends noise for ever. */
const MAX_LINE = 1_000_000;

/** Whose turn it is on each device; one per node. */
export interface Turns {
  /** Resolves with the function that ends the turn. Rejects with the signal's reason. */
  take(path: string, signal: AbortSignal): Promise<() => void>;
}

export function makeTurns(): Turns {
  const last = new Map<string, Promise<void>>();
  return {
    async take(path, signal) {
      const before = last.get(path) ?? Promise.resolve();
      let end = () => {};
      const mine = new Promise<void>((resolve) => {
        end = resolve;
      });
      const line = before.then(() => mine);
      last.set(path, line);
      void line.then(() => {
        if (last.get(path) === line) last.delete(path);
      });
      const aborted = whenAborted(signal);
      try {
        await Promise.race([before, aborted.promise]);
        if (signal.aborted) throw signal.reason;
        return end;
      } catch (error) {
        end();
        throw error;
      } finally {
        aborted.release();
      }
    },
  };
}

/** What does the exchange of `work`. Throws Fault `executor.invalid` for templates that cannot be read. */
export async function serialAttempt(
  deps: SerialDeps,
  name: string,
  work: SerialWork,
): Promise<(call: ExecutorCall) => Promise<Outcome>> {
  const render = await compileTemplates({ path: work.path, write: work.write }, `${name}: serial`);
  return async (call) => {
    const rendered = render(scopeOfCall(call), deps.resolve);
    if (!rendered.ok) return failed("preflight", `${name}: ${rendered.message}`);
    const { path, write } = rendered.value as { path: string; write: unknown };
    const { ctx } = call;
    let endTurn = () => {};
    try {
      endTurn = await deps.turns.take(path, ctx.signal);
      if (!(await ctx.begin()))
        return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
      const text =
        write === undefined ? undefined : typeof write === "string" ? write : JSON.stringify(write);
      return await exchange(call, { ...work, path, write: text });
    } catch (error) {
      const reason = ctx.abortReason();
      return reason ? outcomeOfAbort(reason) : failed("unavailable", messageOf(error));
    } finally {
      endTurn();
    }
  };
}

async function exchange({ ctx }: ExecutorCall, work: SerialWork): Promise<Outcome> {
  const line = await openSerialLine(work.path, work.baudRate);
  let hasWritten = false;
  try {
    const answers = readLines(line, { ...work, touch: () => ctx.touch("answering") });
    answers.catch(() => {});
    if (work.write !== undefined) {
      hasWritten = true;
      await line.write(`${work.write}${work.delimiter}`);
      ctx.touch("written");
    }
    const lines = await orAborted(answers, ctx.signal);
    const result = work.lines === 1 ? { line: lines[0] ?? "" } : { lines };
    const output = lines.join("\n");
    return { state: "succeeded", output, isSilent: output.trim() === "", result };
  } catch (error) {
    const reason = ctx.abortReason();
    if (reason) return outcomeOfAbort(reason);
    const why = `${work.path}: ${messageOf(error)}`;
    return hasWritten ? { state: "unknown", why } : failed("unavailable", why);
  } finally {
    await line.close();
  }
}

/** So many lines, as they end with the delimiter. Rejects when the line breaks. */
function readLines(line: SerialLine, want: SerialWork & { touch(): void }): Promise<string[]> {
  if (want.lines === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    let rest = "";
    line.onEnd(reject);
    line.onText((text) => {
      want.touch();
      rest += text;
      if (rest.length > MAX_LINE) return reject(new Error(`no delimiter within ${MAX_LINE} characters`));
      for (let at = rest.indexOf(want.delimiter); at >= 0; at = rest.indexOf(want.delimiter)) {
        lines.push(rest.slice(0, at).replace(/\r$/, ""));
        rest = rest.slice(at + want.delimiter.length);
        if (lines.length === want.lines) return resolve(lines);
      }
    });
  });
}

async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = whenAborted(signal);
  try {
    return await Promise.race([work, aborted.promise.then(() => Promise.reject(signal.reason))]);
  } finally {
    aborted.release();
  }
}

function failed(code: string, message: string): Outcome {
  return { state: "failed", error: { code, message } };
}
