// A Daytona for tests: the API, and the toolbox of each sandbox behind its proxy, with output over WebSockets.

import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesOf, jsonOf, listen, Refused } from "./http.mjs";
import { Machines, serveTest } from "./machines.mjs";

const require = createRequire(createRequire(import.meta.url).resolve("@daytonaio/sdk"));
const busboy = require("busboy");
const { WebSocketServer } = require("ws");

const [folder] = process.argv.slice(2);
const machines = new Machines(folder);
/** By sandbox and session: its command, what it has said so far, and who listens. */
const sessions = new Map();
let refusal;
let count = 0;

const STDOUT = Buffer.from([1, 1, 1]);
const STDERR = Buffer.from([2, 2, 2]);
const FRAME_BYTES = 32_768;
const STARTING_MS = 40;

const refuse = (statusCode, message) => {
  throw new Refused(statusCode, { statusCode, message, error: message });
};
const sandboxOf = (word) =>
  machines.living().find(({ id, name }) => id === word || name === word) ?? refuse(404, `no sandbox ${word}`);
const runningOf = (id) => {
  const machine = sandboxOf(id);
  if (machine.state !== "running") refuse(400, "the sandbox is not started");
  return machine;
};

const STATES = { running: "started", stopped: "stopped", starting: "starting" };
const documentOf = ({ id, name, labels, state, image }) => ({
  ...{ id, name, labels, organizationId: "org", user: "daytona", env: {}, public: false, target: "local" },
  ...{
    cpu: 1,
    gpu: 0,
    memory: 1,
    disk: 3,
    state: STATES[state] ?? state,
    buildInfo: { dockerfileContent: image },
  },
  toolboxProxyUrl: `http://127.0.0.1:${http.port}/toolbox`,
});

async function create({ request }) {
  const { name, labels, buildInfo, env, autoDeleteInterval, ...facts } = await jsonOf(request);
  if (refusal === "quota") refuse(400, "Total CPU limit exceeded. Maximum allowed: 10.");
  if (buildInfo.dockerfileContent.includes("absent")) refuse(400, `no image: ${buildInfo.dockerfileContent}`);
  if (machines.living().some((machine) => machine.name === name)) refuse(409, `there is a sandbox ${name}`);
  count += 1;
  const isEphemeral = autoDeleteInterval === 0;
  const machine = machines.create({ id: `dt-${count}`, name, labels, env, isEphemeral, asked: facts });
  machine.state = "starting";
  setTimeout(() => {
    if (machine.state === "starting") machine.state = "running";
  }, STARTING_MS);
  return documentOf(machine);
}

async function end(machine) {
  for (const [key, session] of sessions) if (key.startsWith(`${machine.id}/`)) session.hangUp(1006);
  await machines.remove(machine);
}

async function stop(machine) {
  await machines.halt(machine);
  machine.state = "stopped";
  if (machine.isEphemeral) await machines.remove(machine);
}

/** As the service's side does it: cut at spaces, quotes known, escapes not, and no shell. */
function wordsOf(command) {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare,
  );
}

async function execute({ request, params: [id] }) {
  const { command } = await jsonOf(request);
  const running = await machines.spawn(runningOf(id), wordsOf(command));
  running.stdin.end();
  const chunks = [];
  const ends = [running.stdout, running.stderr].map(
    (stream) =>
      new Promise((resolve) => stream.on("data", (chunk) => chunks.push(chunk)).once("end", resolve)),
  );
  const exitCode = await running.exit;
  // A child that holds the pipe holds the answer no longer than this.
  await Promise.race([Promise.all(ends), sleep(200)]);
  return { exitCode, result: Buffer.concat(chunks).toString("utf8") };
}

class Session {
  #said = [];
  #sockets = new Set();
  #hasEnded = false;
  running;

  async begin(machine, command) {
    this.running = await machines.spawn(machine, ["sh", "-c", command]);
    this.running.stdin.end();
    const ends = [this.#label(this.running.stdout, STDOUT), this.#label(this.running.stderr, STDERR)];
    void Promise.all(ends).then(() => this.hangUp(1000));
  }

  /** Line by line, each behind its label, as one log. */
  async #label(stream, label) {
    let rest = Buffer.alloc(0);
    for await (const chunk of stream) {
      rest = Buffer.concat([rest, chunk]);
      const end = rest.lastIndexOf(10);
      if (end < 0) continue;
      for (const line of linesOf(rest.subarray(0, end + 1))) this.#say(Buffer.concat([label, line]));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) this.#say(Buffer.concat([label, rest, Buffer.from("\n")]));
  }

  #say(bytes) {
    this.#said.push(bytes);
    for (const socket of this.#sockets) sendIn(socket, bytes);
  }

  hear(socket) {
    for (const bytes of this.#said) sendIn(socket, bytes);
    if (this.#hasEnded) socket.close(1000);
    else this.#sockets.add(socket);
  }

  hangUp(code) {
    this.#hasEnded = true;
    for (const socket of this.#sockets) {
      if (code === 1000) socket.close(code);
      else socket.terminate();
    }
    this.#sockets.clear();
  }

  kill() {
    try {
      process.kill(-this.running.child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    this.hangUp(1000);
  }
}

function* linesOf(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at) + 1;
    yield bytes.subarray(at, end);
    at = end;
  }
}

function sendIn(socket, bytes) {
  for (let at = 0; at < bytes.length; at += FRAME_BYTES) socket.send(bytes.subarray(at, at + FRAME_BYTES));
}

const sessionOf = (id, name) => sessions.get(`${id}/${name}`) ?? refuse(404, `no session ${name}`);

function upload({ request, params: [id] }) {
  const machine = runningOf(id);
  const paths = new Map();
  const form = busboy({ headers: request.headers, preservePath: true });
  return new Promise((resolve, reject) => {
    form.on("field", (name, value) => paths.set(name.replace(".path", ".file"), value));
    form.on("file", async (name, stream) => {
      const bytes = await bytesOf(stream);
      try {
        machines.writeFile(machine, paths.get(name), bytes);
        resolve();
      } catch (error) {
        reject(error);
      }
    });
    form.on("error", reject);
    request.pipe(form);
  });
}

async function download({ request, response, params: [id] }) {
  const {
    paths: [path],
  } = await jsonOf(request);
  const bytes = machines.readFile(runningOf(id), path);
  const boundary = "nightshift-boundary";
  response.writeHead(200, { "content-type": `multipart/form-data; boundary=${boundary}` });
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${path}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  response.end(Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]));
}

const http = await listen(
  [
    ["POST", /^\/sandbox$/, create],
    [
      "GET",
      /^\/sandbox$/,
      ({ url }) => {
        const labels = Object.entries(JSON.parse(url.searchParams.get("labels") ?? "{}"));
        const found = machines
          .living()
          .filter((machine) => labels.every(([key, value]) => machine.labels[key] === value));
        return { items: found.map(documentOf), nextCursor: null };
      },
    ],
    ["GET", /^\/sandbox\/([^/]+)$/, ({ params: [word] }) => documentOf(sandboxOf(word))],
    [
      "DELETE",
      /^\/sandbox\/([^/]+)$/,
      async ({ params: [word] }) => {
        const machine = sandboxOf(word);
        await end(machine);
        return { ...documentOf(machine), state: "destroyed" };
      },
    ],
    [
      "POST",
      /^\/sandbox\/([^/]+)\/(start|stop)$/,
      async ({ params: [word, verb] }) => {
        const machine = sandboxOf(word);
        if (verb === "stop") await stop(machine);
        else machines.start(machine);
        return documentOf(machine);
      },
    ],
    [
      "PUT",
      /^\/sandbox\/([^/]+)\/labels$/,
      async ({ request, params: [word] }) => {
        const machine = sandboxOf(word);
        ({ labels: machine.labels } = await jsonOf(request));
        return { labels: machine.labels };
      },
    ],
    [
      "POST",
      /^\/sandbox\/([^/]+)\/autostop\/(\d+)$/,
      ({ params: [word, minutes] }) => {
        const machine = sandboxOf(word);
        machine.idleMinutes = Number(minutes);
        return documentOf(machine);
      },
    ],
    ["POST", /^\/toolbox\/([^/]+)\/process\/execute$/, execute],
    [
      "POST",
      /^\/toolbox\/([^/]+)\/process\/session$/,
      async ({ request, params: [id] }) => {
        runningOf(id);
        sessions.set(`${id}/${(await jsonOf(request)).sessionId}`, new Session());
        return {};
      },
    ],
    [
      "POST",
      /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)\/exec$/,
      async ({ request, params: [id, name] }) => {
        const { command, runAsync } = await jsonOf(request);
        if (!runAsync) refuse(400, "only runAsync here");
        await sessionOf(id, name).begin(runningOf(id), command);
        return { cmdId: "c1" };
      },
    ],
    [
      "DELETE",
      /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)$/,
      ({ params: [id, name] }) => {
        sessionOf(id, name).kill();
        sessions.delete(`${id}/${name}`);
        return {};
      },
    ],
    ["POST", /^\/toolbox\/([^/]+)\/files\/bulk-upload$/, async (call) => void (await upload(call)) ?? {}],
    ["POST", /^\/toolbox\/([^/]+)\/files\/bulk-download$/, download],
  ],
  ({ headers }) => {
    if (headers.authorization !== "Bearer dtn-test") refuse(401, "Invalid credentials");
  },
);

const sockets = new WebSocketServer({ noServer: true });
http.server.on("upgrade", (request, socket, head) => {
  const url = new URL(request.url, "http://localhost");
  const [, id, name] =
    /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)\/command\/c1\/logs$/.exec(url.pathname) ?? [];
  const session = sessions.get(`${id}/${name}`);
  if (!session || request.headers.authorization !== "Bearer dtn-test") return socket.destroy();
  sockets.handleUpgrade(request, socket, head, (client) => session.hear(client));
});

serveTest({
  machines,
  port: http.port,
  commands: {
    end,
    refuse: ({ how }) => {
      refusal = how;
    },
    asked: () =>
      machines.living().map(({ name, env, asked, idleMinutes }) => ({ name, env, asked, idleMinutes })),
    sessions: () => sessions.size,
  },
  close: async () => {
    for (const client of sockets.clients) client.terminate();
    await http.close();
  },
});
