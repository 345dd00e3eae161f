// A Vercel Sandbox for tests: sandboxes, their sessions, commands with output as lines of JSON, and files.

import { once } from "node:events";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { bytesOf, jsonOf, listen, Refused } from "./http.mjs";
import { Machines, serveTest } from "./machines.mjs";

const tar = createRequire(createRequire(import.meta.url).resolve("@vercel/sandbox"))("tar-stream");

const [folder] = process.argv.slice(2);
const machines = new Machines(folder);
/** By name. @type {Map<string, {name, labels, isPersistent, machine, snapshot?, asked}>} */
const sandboxes = new Map();
const commands = new Map();
let refusal;
let count = 0;
const unique = (prefix) => {
  count += 1;
  return `${prefix}_${count}`;
};

const STOPPING_MS = 40;

const refuse = (status, code, message) => {
  throw new Refused(status, { error: { code, message } });
};
const sandboxOf = (name) => sandboxes.get(name) ?? refuse(404, "not_found", `no sandbox ${name}`);
/** A machine is a session. */
function runningOf(id) {
  const machine = machines.all.get(id) ?? refuse(404, "not_found", `no session ${id}`);
  if (machine.state !== "running") refuse(410, "sandbox_stopped", "the session has ended");
  return machine;
}

const statusOf = ({ state }) => (state === "removed" ? "stopped" : state);
const sessionOf = (machine) => ({
  ...{ id: machine.id, memory: 2_048, vcpus: 1, region: "iad1", status: statusOf(machine), cwd: machine.cwd },
  ...{
    timeout: machine.timeout,
    requestedAt: machine.at,
    startedAt: machine.at,
    createdAt: machine.at,
    updatedAt: machine.at,
  },
});
const sandboxDocument = ({ name, labels, isPersistent, machine, asked }) => ({
  ...{ name, persistent: isPersistent, createdAt: machine.at, updatedAt: machine.at, tags: labels },
  ...{
    currentSessionId: machine.id,
    status: statusOf(machine),
    timeout: asked.timeout,
    runtime: asked.runtime,
  },
});
const both = (sandbox, more = {}) => ({
  ...{ sandbox: sandboxDocument(sandbox), session: sessionOf(sandbox.machine), routes: [] },
  ...more,
});

function begin(sandbox, from) {
  const machine = machines.create({ id: unique("sbx"), name: sandbox.name, labels: sandbox.labels }, from);
  machine.at = Date.now();
  machine.timeout = sandbox.asked.timeout;
  machine.cwd = `${machine.home}/sandbox`;
  machines.writeFile(machine, `${machine.cwd}/.keep`, "");
  sandbox.machine = machine;
}

async function create({ request }) {
  const { name, tags, persistent = true, env, ...asked } = await jsonOf(request);
  if (refusal === "quota") refuse(429, "rate_limited", "Too many sandboxes are running");
  if (asked.image?.includes("absent")) refuse(404, "image_not_found", `no image ${asked.image}`);
  if (sandboxes.has(name)) refuse(409, "conflict", `there is a sandbox ${name}`);
  const sandbox = { name, labels: tags, isPersistent: persistent, env, asked };
  begin(sandbox);
  sandboxes.set(name, sandbox);
  return both(sandbox);
}

function get({ url, params: [name] }) {
  const sandbox = sandboxOf(name);
  const isOver = ["stopped", "removed"].includes(sandbox.machine.state);
  if (!isOver || url.searchParams.get("resume") !== "true") return both(sandbox);
  if (!sandbox.snapshot) refuse(410, "snapshot_not_found", "there is no snapshot");
  begin(sandbox, sandbox.snapshot);
  return both(sandbox, { resumed: true });
}

/** It answers while it is still about it, as the service does. */
function stop({ params: [id] }) {
  const machine = runningOf(id);
  const sandbox = sandboxes.get(machine.name);
  machine.state = "stopping";
  setTimeout(async () => {
    // A test may have taken it away meanwhile.
    if (machine.state === "removed") return;
    if (sandbox.isPersistent) sandbox.snapshot = machines.snapshot(machine, unique("snap"));
    await machines.remove(machine);
  }, STOPPING_MS);
  return { session: sessionOf(machine), sandbox: sandboxDocument(sandbox) };
}

async function remove({ params: [name] }) {
  const sandbox = sandboxOf(name);
  sandboxes.delete(name);
  await machines.remove(sandbox.machine);
  return { sandbox: sandboxDocument(sandbox) };
}

const commandDocument = ({ id, machine, name, args, exitCode = null }) => ({
  command: {
    ...{ id, name, args, exitCode, cwd: machine.cwd, sessionId: machine.id },
    startedAt: machine.at,
  },
});

async function run({ request, response, params: [id] }) {
  const machine = runningOf(id);
  const { command: name, args, env, cwd, wait } = await jsonOf(request);
  const running = await machines.spawn(machine, [name, ...args], { env, cwd });
  running.stdin.end();
  const command = { id: unique("cmd"), machine, name, args, running };
  commands.set(command.id, command);
  void running.exit.then((exitCode) => {
    command.exitCode = exitCode;
  });
  if (!wait) return commandDocument(command);
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write(`${JSON.stringify(commandDocument(command))}\n`);
  // A child that holds the pipe holds the answer no longer than this.
  await Promise.race([tell(command, response), running.exit.then(() => sleep(200))]);
  await running.exit;
  response.end(`${JSON.stringify(commandDocument(command))}\n`);
  commands.delete(command.id);
  return undefined;
}

/** As text, whatever the bytes were. */
async function tell({ running, machine }, response) {
  const gone = once(response, "close");
  const streams = ["stdout", "stderr"].map(async (name) => {
    for await (const chunk of running[name]) {
      const line = `${JSON.stringify({ stream: name, data: chunk.toString("utf8") })}\n`;
      if (!response.write(line)) await Promise.race([once(response, "drain"), gone]);
    }
  });
  await Promise.all(streams);
  if (machine.state === "running") return;
  response.write(
    `${JSON.stringify({ stream: "error", data: { code: "sandbox_stopped", message: "it has ended" } })}\n`,
  );
}

async function logs({ response, params: [, cmdId] }) {
  const command = commands.get(cmdId) ?? refuse(404, "not_found", "no command");
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.flushHeaders();
  response.once("close", () => commands.delete(cmdId));
  await tell(command, response);
  response.end();
  return undefined;
}

function write({ request, params: [id] }) {
  const machine = runningOf(id);
  const unpack = tar.extract();
  return new Promise((resolve, reject) => {
    unpack.on("entry", async ({ name }, stream, next) => {
      const bytes = await bytesOf(stream);
      machines.writeFile(machine, `/${name}`, bytes);
      next();
    });
    unpack.once("finish", () => resolve({}));
    unpack.once("error", reject);
    request.pipe(createGunzip()).pipe(unpack);
  });
}

async function read({ request, response, params: [id] }) {
  const { path } = await jsonOf(request);
  const machine = runningOf(id);
  let bytes;
  try {
    bytes = machines.readFile(machine, path);
  } catch {
    refuse(404, "not_found", `no file ${path}`);
  }
  response.writeHead(200, { "content-type": "application/octet-stream" });
  response.end(bytes);
}

async function end(machine) {
  await machines.remove(machine);
}

const http = await listen(
  [
    ["POST", /^\/v[23]\/sandboxes$/, create],
    [
      "GET",
      /^\/v2\/sandboxes$/,
      ({ url }) => {
        const wanted = url.searchParams.getAll("tags").map((tag) => tag.split(":"));
        const found = [...sandboxes.values()].filter(({ labels }) =>
          wanted.every(([key, value]) => labels[key] === value),
        );
        return { sandboxes: found.map(sandboxDocument), pagination: { count: found.length, next: null } };
      },
    ],
    ["POST", /^\/v2\/sandboxes\/sessions\/([^/]+)\/cmd$/, run],
    ["GET", /^\/v2\/sandboxes\/sessions\/([^/]+)\/cmd\/([^/]+)\/logs$/, logs],
    ["POST", /^\/v2\/sandboxes\/sessions\/([^/]+)\/stop$/, stop],
    [
      "POST",
      /^\/v2\/sandboxes\/sessions\/([^/]+)\/extend-timeout$/,
      async ({ request, params: [id] }) => {
        const machine = runningOf(id);
        machine.timeout += (await jsonOf(request)).duration;
        return { session: sessionOf(machine) };
      },
    ],
    ["POST", /^\/v2\/sandboxes\/sessions\/([^/]+)\/fs\/write$/, write],
    ["POST", /^\/v2\/sandboxes\/sessions\/([^/]+)\/fs\/read$/, read],
    ["GET", /^\/v2\/sandboxes\/([^/]+)$/, get],
    ["DELETE", /^\/v2\/sandboxes\/([^/]+)$/, remove],
    [
      "PATCH",
      /^\/v2\/sandboxes\/([^/]+)$/,
      async ({ request, params: [name] }) => {
        const sandbox = sandboxOf(name);
        const { tags } = await jsonOf(request);
        if (tags) sandbox.labels = sandbox.machine.labels = tags;
        return { sandbox: sandboxDocument(sandbox) };
      },
    ],
  ],
  ({ headers }, url) => {
    if (headers.authorization !== "Bearer vercel-test") refuse(403, "forbidden", "Not authorized");
    const project = url.searchParams.get("projectId") ?? url.searchParams.get("project") ?? "prj_test";
    if (url.searchParams.get("teamId") !== "team_test" || project !== "prj_test")
      refuse(403, "forbidden", "Not authorized");
  },
);

serveTest({
  machines,
  port: http.port,
  commands: {
    end,
    state: () =>
      [...sandboxes.values()].map(({ name, labels, machine }) => ({
        id: name,
        name,
        labels,
        state: statusOf(machine),
      })),
    forget: async ({ id }) => {
      const sandbox = sandboxes.get(id);
      sandboxes.delete(id);
      await machines.remove(sandbox.machine);
    },
    label: ({ id, labels }) => {
      sandboxes.get(id).labels = labels;
    },
    refuse: ({ how }) => {
      refusal = how;
    },
    asked: () =>
      [...sandboxes.values()].map(({ name, env, asked, isPersistent }) => ({
        name,
        env,
        asked,
        isPersistent,
      })),
  },
  close: () => http.close(),
});
