// `up`: a node in the foreground. First Ctrl-C drains (L13), a second one ends at once.

import type { Context } from "../app/context.ts";
import { fileSink } from "../app/log-file.ts";
import { bindLogRing, LogRing } from "../app/log-ring.ts";
import { startNode } from "../app/node.ts";
import { seedSamples } from "../app/samples.ts";
import { systemClock } from "../app/system.ts";
import type { McpDoor } from "../http/api.ts";
import type { HttpServer } from "../http/serve.ts";
import { messageOf } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { formatDuration, SECOND } from "../kernel/time.ts";
import { mcpOnDemand } from "../mcp/on-demand.ts";
import { checkConfig } from "./check-config.ts";
import type { Call, RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { makeFireLines } from "./fire-lines.ts";
import { leaseTimes } from "./lease-times.ts";
import { durationOption, isSet, numberOption, textOption } from "./options.ts";

export const up: RunCommand = async (call) => {
  const { options, io, home } = call;
  if (isSet(options, "validateConfig"))
    return checkConfig({ ...call, args: [textOption(options, "config")] });
  const graceMs = durationOption(options, "grace") ?? 30 * SECOND;
  const port = numberOption(options, "port", { min: 0, max: 65_535 });
  const configFile = textOption(options, "config");
  const times = leaseTimes(io.env);
  const signals = stopSignals(io.signal);
  let opened: Context | undefined;
  const kept = { now: systemClock.now, redact: () => opened?.redact };
  const [file, ring] = [fileSink(home.path, kept), new LogRing(kept)];
  const context = await call.open({
    logSink: (...line) => {
      file(...line);
      ring.sink(...line);
    },
    ...(configFile !== undefined && { configFile }),
  });
  opened = context;
  bindLogRing(context.log, ring);
  const seeded = isSet(options, "seedSamples") ? await seedSamples(context) : [];
  const lines = makeFireLines(context, io);
  const nodeId = makeId(context.clock.now(), context.random);
  // The surface first: an address that was asked for and cannot be had refuses the start before anything fires.
  const mcp = mcpOnDemand(context);
  const server = options.http === false ? undefined : await serve(call, { context, nodeId, port, mcp });
  const node = await startNode({
    context,
    id: nodeId,
    ...times,
    ...(call.watchWorker && { watchWorker: call.watchWorker }),
    onRunEnded: lines.ended,
    onPass: lines.passed,
  });
  try {
    if (server) await node.announceUrl(server.url);
    welcome(call, { context, nodeId, url: server?.url, seeded });
    await signals.first;
    io.note(
      `Draining: live runs may go on for ${formatDuration(graceMs)}. Press Ctrl-C again to end them at once.`,
    );
  } finally {
    // Its streams would hold the server open.
    await mcp.close();
    await server?.stop();
    await node.stop({ graceMs, hurry: signals.second });
    await lines.settled();
    signals.release();
  }
  return EXIT.ok;
};

/** SIGINT, SIGTERM or SIGHUP; the next one hurries. */
function stopSignals(interrupted: AbortSignal): {
  first: Promise<void>;
  second: AbortSignal;
  release(): void;
} {
  const hurry = new AbortController();
  let resolve = () => {};
  let count = 0;
  const first = new Promise<void>((done) => {
    resolve = done;
  });
  const onSignal = () => {
    count += 1;
    if (count === 1) resolve();
    else hurry.abort(new Error("interrupted twice"));
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, onSignal);
  if (interrupted.aborted) onSignal();
  return {
    first,
    second: hurry.signal,
    release: () => {
      for (const name of names) process.removeListener(name, onSignal);
    },
  };
}

/** HTTP is a surface, not the node: jobs fire even where it cannot be served. A port that was asked for must be had. */
async function serve(
  { options, io }: Call,
  served: { context: Context; nodeId: string; port: number | undefined; mcp: McpDoor },
): Promise<HttpServer | undefined> {
  const { context, nodeId, port, mcp } = served;
  const bind = textOption(options, "bind");
  const isExplicit = port !== undefined || bind !== undefined;
  try {
    const { serveHttp } = await import("../http/serve.ts");
    return await serveHttp({
      context,
      nodeId,
      port: port ?? context.config.http.port,
      isPortFixed: port !== undefined,
      bind: bind ?? context.config.http.bind,
      isInsecureAllowed: isSet(options, "insecure"),
      mcp,
    });
  } catch (error) {
    if (isExplicit) throw error;
    io.note(`HTTP is not served: ${messageOf(error)}`);
    return undefined;
  }
}

function welcome(
  { io }: Call,
  facts: { context: Context; nodeId: string; url: string | undefined; seeded: readonly string[] },
): void {
  const { context, nodeId, url, seeded } = facts;
  const home = context.home.paths.root;
  if (io.isJson) {
    io.out(JSON.stringify({ event: "ready", url: url ?? null, nodeId, home }));
    return;
  }
  io.out(`Nightshift ${context.version} is up. Home: ${home}${url ? `  HTTP: ${url}` : ""}`);
  if (seeded.length > 0)
    io.out(
      "Three sample jobs were added: disk-watch (every 30 s, speaks only when a disk is nearly full), hello (once, in ten seconds) and house-call (a workflow, once, in fifteen).",
    );
  // Whoever came by `npm start` has no program of that name on the path.
  const program = io.env.npm_lifecycle_event === undefined ? "nightshift" : "npx nightshift";
  io.out(
    `Look further:  ${program} --home ${home} status | job list | run list | run audit     (Ctrl-C drains)`,
  );
}
