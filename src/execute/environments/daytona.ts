// The daytona backend: a sandbox of Daytona, through its SDK (REST, and a WebSocket for what commands print).
//
// I1. A command is the one command of a session of its own. The service tells its output line by line, as text, and keeps it
//     in the sandbox: it is carried (carrier.ts).
// I2. Kept is a sandbox that was stopped. Its files wait there, archived by the service after a while.
// I3. The SDK may look for an address in a `.env` of the working directory: it is always given one.

import type { Daytona, Sandbox } from "@daytonaio/sdk";
import { DAY, MINUTE } from "../../kernel/time.ts";
import type { DaytonaSpec } from "../../records/cloud-specs.ts";
import { type Line, makeCarrying, type Wire } from "./carried.ts";
import { accountOf, daytonaKeys, lifetimeMs, loadPackage, lookUp } from "./cloud-account.ts";
import { missingAs, refusalOfStatus } from "./cloud-refusals.ts";
import {
  type CloudSandbox,
  type CloudService,
  LABEL,
  type ListedSandbox,
  type Refusal,
  type SandboxRequest,
  type SandboxScope,
} from "./cloud-sandbox.ts";
import type { CheckDeps } from "./place.ts";

const ADDRESS = "https://app.daytona.io/api";
/** @source upstream.md 1.11: no stop for being idle while it is used; what nobody ends, the service does. */
const LIFETIME_MS = DAY;
/** Of one that is shared and left running; the service counts minutes. */
const IDLE_MINUTES = 20;
const START_SECONDS = 120;
/** The image is fetched and built into a snapshot first. */
const CREATE_SECONDS = 600;
const MB_OF_GIB = 1_024;

const load = () => loadPackage("daytona", () => import("@daytonaio/sdk"), "Daytona");

/** Throws `environment.unusable` when the SDK or a key is missing. Asks nobody. */
export async function daytonaService(deps: CheckDeps, spec: DaytonaSpec): Promise<CloudService> {
  const { apiKey } = accountOf(deps, "daytona", daytonaKeys(spec));
  const target = lookUp(deps, { variable: "DAYTONA_TARGET", given: spec.target });
  const sdk = await load();
  const client = new sdk.Daytona({
    apiKey,
    apiUrl: lookUp(deps, { variable: "DAYTONA_API_URL", given: spec.apiUrl }) ?? ADDRESS,
    ...(target !== undefined && { target }),
    // Else it holds a socket to the service open for as long as this process lives.
    useDeprecatedPolling: true,
  });
  return {
    find: (name, scope) => find(client, name, scope),
    create: (request) => create(client, spec, request),
    list: () => list(client),
    async ping() {
      for await (const _ of client.list({ limit: 1 })) return;
    },
    refusalOf,
    close: () => void client[Symbol.asyncDispose]().catch(() => {}),
  };
}

/** I2. One that failed is of no use to anybody. */
async function find(client: Daytona, name: string, scope: SandboxScope): Promise<CloudSandbox | undefined> {
  const sandbox = await missingAs(refusalOf, client.get(name), undefined);
  if (!sandbox) return undefined;
  if (sandbox.state === "error" || sandbox.state === "build_failed") {
    await missingAs(refusalOf, sandbox.delete(), undefined);
    return undefined;
  }
  if (sandbox.state !== "started") await sandbox.start(START_SECONDS);
  if (scope === "shared") await sandbox.setAutostopInterval(0);
  return opened(sandbox);
}

async function create(client: Daytona, spec: DaytonaSpec, request: SandboxRequest): Promise<CloudSandbox> {
  const { name, scope, labels } = request;
  const { network, limits: { cpu, memoryMb } = {}, image } = spec;
  const minutes = Math.max(1, Math.ceil(lifetimeMs(spec, LIFETIME_MS) / MINUTE));
  const sandbox = await client.create(
    {
      ...{ name, image, labels: { ...labels } },
      ...(scope === "run" ? { autoStopInterval: 0, ttlMinutes: minutes } : { autoStopInterval: minutes }),
      ...(scope !== "kept" && { ephemeral: true }),
      ...(network === "none" && { networkBlockAll: true }),
      resources: {
        ...(cpu !== undefined && { cpu: Math.ceil(cpu) }),
        ...(memoryMb !== undefined && { memory: Math.ceil(memoryMb / MB_OF_GIB) }),
      },
    },
    { timeout: CREATE_SECONDS },
  );
  return opened(sandbox);
}

async function* list(client: Daytona): AsyncGenerator<ListedSandbox> {
  for await (const sandbox of client.list({ labels: { [LABEL]: "sandbox" } }))
    if (sandbox.state === "started")
      yield { name: sandbox.name, labels: sandbox.labels, sandbox: opened(sandbox) };
}

function opened(sandbox: Sandbox): CloudSandbox {
  const wire = wireOf(sandbox);
  const { prepare, launch } = makeCarrying(wire);
  return {
    id: sandbox.id,
    cwd: undefined,
    ...{ prepare, launch, run: wire.run, write: wire.write, read: wire.read },
    async whyGone() {
      const isKnown = await missingAs(
        refusalOf,
        sandbox.refreshData().then(() => true),
        false,
      );
      if (!isKnown) return "the service knows it no more";
      return sandbox.state === "started" ? undefined : `it is ${sandbox.state}`;
    },
    relabel: async (labels) => void (await sandbox.setLabels({ ...labels })),
    keep: () => sandbox.stop(),
    leave: () => sandbox.setAutostopInterval(IDLE_MINUTES),
    remove: async () => void (await missingAs(refusalOf, sandbox.delete(), undefined)),
  };
}

function wireOf({ process: programs, fs }: Sandbox): Wire {
  return {
    async run(argv) {
      const { exitCode, result } = await programs.executeCommand(commandOf(argv));
      return { exitCode, text: result };
    },
    write: (path, bytes) => fs.uploadFile(Buffer.from(bytes), path),
    read: (path) => fs.downloadFile(path),
    async start({ argv, word }, heard): Promise<Line> {
      const session = `nightshift-${word}`;
      await programs.createSession(session);
      const forget = () => void programs.deleteSession(session).catch(() => {});
      try {
        const { cmdId } = await programs.executeSessionCommand(session, {
          command: argv.join(" "),
          runAsync: true,
        });
        const logs = programs.getSessionCommandLogs(session, cmdId, heard.stdout, heard.stderr);
        let isDropped = false;
        return {
          ended: logs.then(
            () => {},
            () => {},
          ),
          drop() {
            if (!isDropped) forget();
            isDropped = true;
          },
        };
      } catch (error) {
        forget();
        throw error;
      }
    },
  };
}

/**
 * What any version of the service's side runs as it is meant: some give the text to a shell, others cut it at spaces and
 * know quotes, but no escapes.
 */
function commandOf(argv: readonly string[]): string {
  if (argv.every((word) => !word.includes("'"))) return argv.map((word) => `'${word}'`).join(" ");
  const text = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  return `sh -c "echo ${Buffer.from(text).toString("base64")} | base64 -d | sh"`;
}

/** @source @daytonaio/sdk 0.218, errors/DaytonaError: one class a status; what never left this machine has none. */
function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || !/^Daytona\w*Error$/.test(error.name)) return undefined;
  const status = "statusCode" in error ? error.statusCode : undefined;
  if (typeof status !== "number") return error.name.includes("Authentication") ? "auth" : "unreachable";
  return refusalOfStatus(status);
}
