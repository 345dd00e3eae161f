// The modal backend: a sandbox of Modal, through its SDK (gRPC). Its programs have real pipes.
//
// I1. One app of the account, `nightshift`, holds every sandbox and image of ours.
// I2. What is kept is an image of the sandbox's files, published under the sandbox's name: the service remembers it, for the
//     30 days that Modal keeps such images. One that is gone means a start from the environment's own image.
// I3. The SDK takes an address only from its process's environment. Another one is put into a second client's channel.

import { Readable, Writable } from "node:stream";
import type { App, ContainerProcess, ModalClient, Sandbox } from "modal";
import { Fault, messageOf } from "../../kernel/errors.ts";
import { type Clock, HOUR, MINUTE, SECOND } from "../../kernel/time.ts";
import type { ModalSpec } from "../../records/cloud-specs.ts";
import type { CommandExit } from "../spawn-held.ts";
import { accountOf, hasModalFile, lifetimeMs, loadPackage, lookUp, modalKeys } from "./cloud-account.ts";
import { missingAs } from "./cloud-refusals.ts";
import {
  type CloudSandbox,
  type CloudService,
  LABEL,
  type SandboxRequest,
  type ShortAnswer,
  type StartRequest,
} from "./cloud-sandbox.ts";
import { refusalOf } from "./modal-refusals.ts";
import type { CheckDeps, Launched } from "./place.ts";

/** @source upstream.md 1.11 */
const LIFETIME_MS = HOUR;
/** A shared one that nobody uses. */
const IDLE_MS = 20 * MINUTE;
/** The SDK refuses more than 64 kB of arguments together; ours are some of them. @source modal 0.11, validateExecArgs */
const LONGEST_ARGUMENT = 50_000;
const STDIN_BYTES = 1_000_000;
const SNAPSHOT_TIMEOUT_MS = 300_000;
const APP = "nightshift";
/** The service tells no names. */
const NAME_LABEL = "nightshift-name";

type Sdk = typeof import("modal");
const load = () => loadPackage("modal", () => import("modal"), "ModalClient");

/** Throws `environment.unusable` when the SDK or a key is missing. Asks nobody. */
export async function modalService(deps: CheckDeps, spec: ModalSpec): Promise<CloudService> {
  const keys = hasModalFile(deps, spec) ? {} : accountOf(deps, "modal", modalKeys(spec));
  const sdk = await load();
  const client = connect(sdk, {
    ...keys,
    environment: lookUp(deps, { variable: "MODAL_ENVIRONMENT", given: undefined }),
    apiUrl: lookUp(deps, { variable: "MODAL_SERVER_URL", given: spec.apiUrl }),
  });
  const service = new ModalService(client, spec, deps.clock);
  return {
    find: (name) => service.find(name),
    create: (request) => service.create(request),
    list: () => service.list(),
    ping: async () => void (await client.apps.fromName(APP, { createIfMissing: true })),
    refusalOf,
    close: () => client.close(),
  };
}

interface Account {
  tokenId?: string;
  tokenSecret?: string;
  environment: string | undefined;
  apiUrl: string | undefined;
}

/** I3. Tokens are asked for by the client whose middleware needs them, so it gets the channel too. */
function connect(sdk: Sdk, { apiUrl, environment, ...keys }: Account): ModalClient {
  const params = { ...keys, ...(environment !== undefined && { environment }), logger: SILENT };
  const first = new sdk.ModalClient(params);
  if (apiUrl === undefined) return first;
  first.profile.serverUrl = apiUrl;
  const cpClient = first.ipClient(apiUrl);
  Object.assign(first, { cpClient });
  const client = new sdk.ModalClient({ ...params, cpClient });
  client.profile.serverUrl = apiUrl;
  return client;
}

const nothing = () => {};
/** It would write to this process's own streams. */
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

class ModalService {
  readonly #client: ModalClient;
  readonly #spec: ModalSpec;
  readonly #clock: Clock;

  constructor(client: ModalClient, spec: ModalSpec, clock: Clock) {
    this.#client = client;
    this.#spec = spec;
    this.#clock = clock;
  }

  async find(name: string): Promise<CloudSandbox | undefined> {
    try {
      return this.#opened(await this.#client.sandboxes.fromName(APP, name), name);
    } catch (error) {
      if (refusalOf(error) === "missing") return undefined;
      throw error;
    }
  }

  async create({ name, scope, labels }: SandboxRequest): Promise<CloudSandbox> {
    const { network, limits = {} } = this.#spec;
    const app = await this.#client.apps.fromName(APP, { createIfMissing: true });
    const kept = scope === "kept" ? await this.#keptImage(name) : undefined;
    const { cpu, memoryMb } = limits;
    const sandbox = await this.#client.sandboxes.create(app, kept ?? (await this.#built(app)), {
      name,
      tags: { ...labels, [NAME_LABEL]: name },
      timeoutMs: wholeSeconds(lifetimeMs(this.#spec, LIFETIME_MS)),
      ...(scope === "shared" && { idleTimeoutMs: IDLE_MS }),
      ...(network === "none" && { blockNetwork: true }),
      ...(cpu !== undefined && { cpu, cpuLimit: cpu }),
      ...(memoryMb !== undefined && { memoryMiB: memoryMb, memoryLimitMiB: memoryMb }),
    });
    return this.#opened(sandbox, name);
  }

  /** A build that fails is told by a plain Error, whose second line says why. */
  async #built(app: App) {
    try {
      return await this.#client.images.fromRegistry(this.#spec.image).build(app);
    } catch (error) {
      if (refusalOf(error) !== undefined) throw error;
      const why = messageOf(error).trim().split("\n").at(-1);
      throw new Fault("environment.unusable", `modal cannot build ${this.#spec.image}: ${why}`, {
        hint: "Correct the image's name, or use one that Modal can fetch.",
      });
    }
  }

  async *list(): AsyncGenerator<{ name: string; labels: Record<string, string>; sandbox: CloudSandbox }> {
    const { appId } = await this.#client.apps.fromName(APP, { createIfMissing: true });
    for await (const sandbox of this.#client.sandboxes.list({ appId, tags: { [LABEL]: "sandbox" } })) {
      const labels = await sandbox.getTags();
      const name = labels[NAME_LABEL] ?? sandbox.sandboxId;
      yield { name, labels, sandbox: this.#opened(sandbox, name) };
    }
  }

  /** I2. */
  async #keptImage(name: string) {
    try {
      return await this.#client.images.fromName(name);
    } catch (error) {
      if (refusalOf(error) === "missing") return undefined;
      throw error;
    }
  }

  #opened(sandbox: Sandbox, name: string): CloudSandbox {
    return {
      id: sandbox.sandboxId,
      cwd: undefined,
      longestArgument: LONGEST_ARGUMENT,
      run: (argv) => runShort(sandbox, argv),
      launch: (request) => launch(this.#clock, sandbox, request),
      async write(path, bytes) {
        const answer = await runShort(sandbox, ["sh", "-c", 'umask 077; cat >"$1"', "sh", path], bytes);
        if (answer.exitCode !== 0) throw new Error(`${path} was not written: ${answer.text}`);
      },
      async whyGone() {
        const exitCode = await missingAs(refusalOf, sandbox.poll(), 0);
        return exitCode === null ? undefined : `it has ended (${exitCode})`;
      },
      relabel: (labels) => sandbox.setTags({ ...labels, [NAME_LABEL]: name }),
      keep: () => this.#keep(sandbox, name),
      leave: async () => sandbox.detach(),
      async remove() {
        await missingAs(refusalOf, sandbox.terminate(), undefined);
        sandbox.detach();
      },
    };
  }

  /** I2. The image before it is given up only once the new one has its name. */
  async #keep(sandbox: Sandbox, name: string): Promise<void> {
    const before = await this.#keptImage(name);
    const image = await sandbox.snapshotFilesystem({ timeoutMs: SNAPSHOT_TIMEOUT_MS });
    await image.publish(name);
    await missingAs(refusalOf, sandbox.terminate(), undefined);
    sandbox.detach();
    if (before && before.imageId !== image.imageId)
      await missingAs(refusalOf, this.#client.images.delete(before.imageId), undefined);
  }
}

const wholeSeconds = (ms: number) => Math.max(1_000, Math.ceil(ms / 1_000) * 1_000);

const start = (sandbox: Sandbox, argv: readonly string[]) =>
  sandbox.exec([...argv], { mode: "binary", stdout: "pipe", stderr: "pipe" });

async function runShort(sandbox: Sandbox, argv: readonly string[], stdin?: Uint8Array): Promise<ShortAnswer> {
  const running = await start(sandbox, argv);
  const input = writeAll(running, stdin).catch(() => {});
  const [stdout, stderr, exitCode] = await Promise.all([
    running.stdout.readBytes(),
    running.stderr.readBytes(),
    running.wait(),
  ]);
  await input;
  return { exitCode, text: Buffer.concat([stderr, stdout]).toString("utf8") };
}

async function writeAll({ stdin }: ContainerProcess<Uint8Array>, bytes: Uint8Array = new Uint8Array()) {
  const writer = stdin.getWriter();
  for (let at = 0; at < bytes.length; at += STDIN_BYTES)
    await writer.write(bytes.subarray(at, at + STDIN_BYTES));
  await writer.close();
}

async function launch(clock: Clock, sandbox: Sandbox, { argv, hasStdin }: StartRequest): Promise<Launched> {
  const running = await start(sandbox, argv);
  const stdout = Readable.fromWeb(running.stdout as WebStream);
  const stderr = Readable.fromWeb(running.stderr as WebStream);
  const streams = [stdout, stderr];
  const stdin = hasStdin ? stdinOf(running) : undefined;
  if (!hasStdin) await running.closeStdin();
  const closed = streams.map((stream) => {
    stream.on("error", () => {});
    return new Promise<void>((resolve) => stream.once("close", resolve));
  });
  const exited = running.wait().then(
    async (exitCode): Promise<CommandExit> => {
      await within(clock, OUTPUT_LAG_MS, Promise.all(closed));
      return { exitCode, signal: undefined };
    },
    () => ({ exitCode: undefined, signal: undefined }),
  );
  return {
    ...{ stdout, stderr, stdin, pid: undefined, startTime: "", exited },
    drop() {
      for (const stream of streams) stream.destroy();
      stdin?.destroy();
    },
    unref() {},
  };
}

/** The exit is told by a way of its own, and may be here before what was written; a held pipe never ends. */
const OUTPUT_LAG_MS = SECOND;

type WebStream = Parameters<typeof Readable.fromWeb>[0];

async function within(clock: Clock, ms: number, awaited: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([awaited, clock.sleep(ms, timer.signal).catch(() => {})]);
  timer.abort(new Error("no longer awaited"));
}

function stdinOf({ stdin }: ContainerProcess<Uint8Array>): Writable {
  const writer = stdin.getWriter();
  const settle = (work: Promise<void>, callback: (error?: Error | null) => void) =>
    void work.then(
      () => callback(),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  const writable = new Writable({
    async write(chunk: Uint8Array, _encoding, callback) {
      const pieces = async () => {
        for (let at = 0; at < chunk.length; at += STDIN_BYTES)
          await writer.write(chunk.subarray(at, at + STDIN_BYTES));
      };
      settle(pieces(), callback);
    },
    final: (callback) => settle(writer.close(), callback),
  });
  writable.on("error", () => {});
  return writable;
}
