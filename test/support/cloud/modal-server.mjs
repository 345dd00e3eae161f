// A Modal for tests: its gRPC over h2c, control plane and command router, by the definitions that the SDK itself carries.
// The definitions are not exported: they are taken from the SDK's file as it is installed.

import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { Machines, serveTest } from "./machines.mjs";

const require = createRequire(import.meta.url);
const sdkFile = require.resolve("modal");
const { createServer, ServerError, Status } = createRequire(sdkFile)("nice-grpc");
const { ControlPlane, Router } = definitions();

function definitions() {
  const module = new Module(sdkFile);
  module.filename = sdkFile;
  module.paths = Module._nodeModulePaths(sdkFile);
  const text = readFileSync(sdkFile, "utf8");
  const names = "{ ControlPlane: ModalClientDefinition, Router: TaskCommandRouterDefinition }";
  module._compile(`${text}\nmodule.exports = ${names};`, sdkFile);
  return module.exports;
}

const [folder] = process.argv.slice(2);
const machines = new Machines(folder);
/** Folders by image id; undefined = nothing but what a machine has. */
const images = new Map();
const published = new Map();
const execs = new Map();
let refusal;
let count = 0;
const unique = (prefix) => {
  count += 1;
  return `${prefix}-${Date.now().toString(36)}-${count}`;
};

const SUCCESS = 1;
const FAILURE = 2;
const TERMINATED = 3;

const refuse = (code, words) => {
  throw new ServerError(Status[code], words);
};

const machineOf = (id) => machines.all.get(id) ?? refuse("NOT_FOUND", `no sandbox ${id}`);
/** One task a sandbox. */
const running = (taskId) => {
  const machine = machineOf(taskId.replace(/^ta-/, ""));
  if (machine.state !== "running") refuse("FAILED_PRECONDITION", "the sandbox has ended");
  return machine;
};
const tagsOf = (tags) => Object.fromEntries(tags.map(({ tagName, tagValue }) => [tagName, tagValue]));

async function end(machine) {
  machine.state = "ended";
  await machines.halt(machine);
}

const controlPlane = {
  async authTokenGet() {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return { token: `${part({})}.${part({ exp: Math.floor(Date.now() / 1_000) + 3_600 })}.x` };
  },
  async appGetOrCreate() {
    return { appId: "ap-nightshift" };
  },
  async environmentGetOrCreate() {
    return {
      environmentId: "en-1",
      metadata: { name: "main", settings: { imageBuilderVersion: "2024.10" } },
    };
  },
  async imageGetOrCreate({ image }) {
    const [from = ""] = image.dockerfileCommands;
    if (from.includes("absent"))
      return { imageId: unique("im"), result: { status: FAILURE, exception: `manifest unknown: ${from}` } };
    return { imageId: unique("im"), result: { status: SUCCESS } };
  },
  async imageFromId({ imageId }) {
    return { imageId };
  },
  async imageGetByTag({ tag }) {
    return { imageId: published.get(tag) ?? refuse("NOT_FOUND", `no image ${tag}`) };
  },
  async imagePublish({ imageId, tag }) {
    published.set(tag, imageId);
    return {};
  },
  async imageDelete({ imageId }) {
    if (!images.delete(imageId)) refuse("NOT_FOUND", `no image ${imageId}`);
    return {};
  },
  async sandboxCreateV2({ definition, tags, secretSources }) {
    if (refusal === "quota") refuse("RESOURCE_EXHAUSTED", "the workspace has reached its limit of sandboxes");
    const { imageId, name, timeoutSecs } = definition;
    if (named(name)) refuse("ALREADY_EXISTS", `there is a sandbox ${name}`);
    const { networkAccess, resources } = definition;
    const asked = { networkAccess, resources, timeoutSecs, secretSources };
    const facts = { id: unique("sb"), name, labels: tagsOf(tags), asked };
    const machine = machines.create(facts, images.get(imageId));
    if (timeoutSecs > 0) setTimeout(() => void end(machine), timeoutSecs * 1_000).unref();
    return { sandboxId: machine.id, taskId: `ta-${machine.id}`, commandRouterAccess: access() };
  },
  async sandboxGetCommandRouterAccess() {
    return access();
  },
  async sandboxGetTaskIdV2({ sandboxId }) {
    const { state } = machineOf(sandboxId);
    return state === "running"
      ? { taskId: `ta-${sandboxId}` }
      : { taskResult: { status: TERMINATED, exception: "the sandbox has ended" } };
  },
  async sandboxGetFromNameV2({ sandboxName }) {
    const found = named(sandboxName);
    return { sandboxId: found?.id ?? refuse("NOT_FOUND", `no sandbox ${sandboxName}`) };
  },
  async sandboxGetFromName({ sandboxName }) {
    return refuse("NOT_FOUND", `no sandbox ${sandboxName}`);
  },
  async sandboxWaitV2({ sandboxId }) {
    const { state } = machineOf(sandboxId);
    return state === "running" ? {} : { result: { status: TERMINATED } };
  },
  async sandboxTerminateV2({ sandboxId }) {
    await machines.remove(machineOf(sandboxId));
    return {};
  },
  async sandboxListV2({ tags, beforeTimestamp }) {
    const wanted = Object.entries(tagsOf(tags));
    if (beforeTimestamp) return { sandboxes: [] };
    const found = machines
      .living()
      .filter(
        ({ state, labels }) => state === "running" && wanted.every(([key, value]) => labels[key] === value),
      );
    return { sandboxes: found.map(({ id }) => ({ id, createdAt: 1 })) };
  },
  async sandboxTagsGetV2({ sandboxId }) {
    const { labels } = machineOf(sandboxId);
    return { tags: Object.entries(labels).map(([tagName, tagValue]) => ({ tagName, tagValue })) };
  },
  async sandboxTagsSetV2({ sandboxId, tags }) {
    machineOf(sandboxId).labels = tagsOf(tags);
    return {};
  },
};

const named = (name) =>
  name
    ? machines.living().find((machine) => machine.name === name && machine.state === "running")
    : undefined;

const router = {
  async taskExecStart({ taskId, execId, commandArgs, env }) {
    execs.set(execId, await machines.spawn(running(taskId), commandArgs, { env }));
    return {};
  },
  async *taskExecStdioRead({ taskId, execId, fileDescriptor }, { signal }) {
    const { stdout, stderr } = execs.get(execId);
    const stream = fileDescriptor === 0 ? stdout : stderr;
    const stop = () => stream.destroy();
    signal.addEventListener("abort", stop);
    try {
      for await (const data of stream) yield { data };
    } catch {
      // The reader has gone.
    } finally {
      signal.removeEventListener("abort", stop);
    }
    running(taskId);
  },
  async taskExecStdinWrite({ execId, data, eof }) {
    const { stdin } = execs.get(execId);
    if (data.length > 0 && stdin.writable) await new Promise((resolve) => stdin.write(data, resolve));
    if (eof) stdin.end();
    return {};
  },
  async taskExecWait({ taskId, execId }) {
    const code = await execs.get(execId).exit;
    running(taskId);
    return code > 128 ? { signal: code - 128 } : { code };
  },
  async taskExecPoll({ execId }) {
    const { exitCode } = execs.get(execId).child;
    return exitCode === null ? {} : { code: exitCode };
  },
  async taskSnapshotFilesystem({ taskId }) {
    const imageId = unique("im");
    images.set(imageId, machines.snapshot(running(taskId), imageId));
    return { imageId };
  },
};

/** Whatever is not here is what a service without it would say. */
const complete = (methods) =>
  new Proxy(methods, {
    get: (all, name) => all[name] ?? (async () => refuse("UNIMPLEMENTED", String(name))),
  });

async function* authenticated(call, context) {
  if (call.method.path.startsWith("/modal.client.ModalClient/")) {
    const [id, secret] = ["x-modal-token-id", "x-modal-token-secret"].map((name) =>
      context.metadata.get(name),
    );
    if (id !== "ak-test" || secret !== "as-test") refuse("UNAUTHENTICATED", "Token missing or invalid");
  }
  return yield* call.next(call.request, context);
}

const server = createServer({ "grpc.max_receive_message_length": 104_857_600 }).use(authenticated);
server.add(ControlPlane, complete(controlPlane));
server.add(Router, complete(router));
const port = await server.listen("127.0.0.1:0");
const access = () => ({ url: `https://127.0.0.1:${port}`, jwt: "a.b.c" });

serveTest({
  machines,
  port,
  commands: {
    end,
    refuse: ({ how }) => {
      refusal = how;
    },
    images: () => [...images.keys()],
    asked: () => machines.living().map(({ asked }) => asked),
  },
  close: async () => server.forceShutdown(),
});
