// The vercel backend: a Vercel Sandbox, through its SDK (REST; what commands print comes as lines of JSON).
//
// I1. A place is one session of a sandbox, one machine. The SDK would silently begin another one where a session has ended:
//     it is only asked through the session, so that a loss is a loss.
// I2. Output is text to the service, and a command has no stdin: both are carried (carrier.ts).
// I3. Kept is a persistent sandbox that was stopped; the service takes a snapshot then and begins the next session with it.
// I4. The SDK takes another address only through its fetch.

import type { Sandbox, Session } from "@vercel/sandbox";
import { type Clock, MINUTE } from "../../kernel/time.ts";
import type { VercelSpec } from "../../records/cloud-specs.ts";
import { makeCarrying, type Wire } from "./carried.ts";
import { accountOf, lifetimeMs, loadPackage, vercelKeys } from "./cloud-account.ts";
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

/** The SDK's own. @source @vercel/sandbox 3.5, api-client */
const ADDRESS = "https://vercel.com/api";
/** The longest that every plan allows. @source @vercel/sandbox 3.5, README */
const LIFETIME_MS = 45 * MINUTE;
/** It comes with so much for each of its cores. @source @vercel/sandbox 3.5, README */
const MB_OF_CORE = 2_048;
/** A session that stops takes its snapshot first. */
const STOPPING_MS = 2 * MINUTE;
const LOOK_MS = 500;
const NEVER = new AbortController().signal;

type Sdk = typeof import("@vercel/sandbox");
const load = () => loadPackage("vercel", () => import("@vercel/sandbox"), "Sandbox");

/** What every call of the SDK is given. */
interface Account {
  token: string;
  teamId: string;
  projectId: string;
  fetch?: typeof fetch;
}

interface Vercel {
  sdk: Sdk;
  account: Account;
  spec: VercelSpec;
  clock: Clock;
  refusalOf(error: unknown): Refusal | undefined;
}

/** Throws `environment.unusable` when the SDK or a key is missing. Asks nobody. */
export async function vercelService(deps: CheckDeps, spec: VercelSpec): Promise<CloudService> {
  const keys = accountOf(deps, "vercel", vercelKeys(spec));
  const sdk = await load();
  const refusalOf = refusals(sdk);
  const account = { ...keys, ...(spec.apiUrl !== undefined && { fetch: fetchAt(spec.apiUrl) }) };
  const vercel: Vercel = { sdk, account, spec, refusalOf, clock: deps.clock };
  return {
    find: (name, scope) => find(vercel, name, scope),
    create: (request) => create(vercel, request),
    list: () => list(vercel),
    ping: async () => void (await sdk.Sandbox.list({ ...account, limit: 1 })),
    refusalOf,
    close() {},
  };
}

/** I4. */
function fetchAt(apiUrl: string): typeof fetch {
  return (input, init) => fetch(String(input).replace(ADDRESS, apiUrl), init);
}

async function find(vercel: Vercel, name: string, scope: SandboxScope): Promise<CloudSandbox | undefined> {
  const { sdk, account, clock } = vercel;
  const ask = { ...account, name, resume: scope === "kept" };
  const until = clock.monotonicMs() + STOPPING_MS;
  for (;;) {
    const sandbox = await missingAs(vercel.refusalOf, sdk.Sandbox.get(ask), undefined);
    if (!sandbox) return undefined;
    const { status } = sandbox.currentSession();
    if (status === "running" || status === "pending") {
      await prolong(vercel, sandbox);
      return opened(vercel, sandbox);
    }
    const isOnItsWay = status === "stopping" || status === "snapshotting";
    if (isOnItsWay && clock.monotonicMs() < until) {
      await clock.sleep(LOOK_MS, NEVER);
      continue;
    }
    await missingAs(vercel.refusalOf, sandbox.delete({ deleteOrphanSnapshots: true }), undefined);
    return undefined;
  }
}

/** As long as a new one would have. A plan may refuse it: then it ends sooner. */
async function prolong({ spec, clock, refusalOf }: Vercel, sandbox: Sandbox): Promise<void> {
  const left = (sandbox.expiresAt?.getTime() ?? clock.now()) - clock.now();
  const lacking = lifetimeMs(spec, LIFETIME_MS) - left;
  if (lacking < MINUTE) return;
  await sandbox
    .currentSession()
    .extendTimeout(lacking)
    .catch((error: unknown) => {
      if (refusalOf(error) === undefined) throw error;
    });
}

async function create(vercel: Vercel, request: SandboxRequest): Promise<CloudSandbox> {
  const { sdk, account, spec } = vercel;
  const { runtime, image, network, limits = {} } = spec;
  const { name, scope, labels, signal } = request;
  const cores = Math.max(Math.ceil(limits.cpu ?? 0), Math.ceil((limits.memoryMb ?? 0) / MB_OF_CORE));
  const sandbox = await sdk.Sandbox.create({
    ...account,
    ...(runtime !== undefined ? { runtime } : image !== undefined ? { image } : {}),
    name,
    tags: { ...labels },
    timeout: lifetimeMs(spec, LIFETIME_MS),
    persistent: scope === "kept",
    ...(scope === "kept" && { keepLastSnapshots: { count: 1 } }),
    ...(network === "none" && { networkPolicy: "deny-all" as const }),
    ...(cores > 0 && { resources: { vcpus: cores } }),
    ...(signal && { signal }),
  });
  return opened(vercel, sandbox);
}

async function* list(vercel: Vercel): AsyncGenerator<ListedSandbox> {
  const { sdk, account } = vercel;
  for await (const { name, tags = {}, status } of await sdk.Sandbox.list({
    ...account,
    tags: { [LABEL]: "sandbox" },
  })) {
    if (status !== "running" && status !== "pending") continue;
    const sandbox = await missingAs(vercel.refusalOf, sdk.Sandbox.get({ ...account, name }), undefined);
    if (sandbox) yield { name, labels: tags, sandbox: opened(vercel, sandbox) };
  }
}

function opened(vercel: Vercel, sandbox: Sandbox): CloudSandbox {
  const { sdk, account } = vercel;
  const session = sandbox.currentSession();
  const wire = wireOf(session);
  const { prepare, launch } = makeCarrying(wire);
  return {
    id: sandbox.name,
    cwd: session.cwd,
    ...{ prepare, launch, run: wire.run, write: wire.write, read: wire.read },
    async whyGone() {
      const now = await missingAs(
        vercel.refusalOf,
        sdk.Sandbox.get({ ...account, name: sandbox.name }),
        undefined,
      );
      if (!now) return "the service knows it no more";
      const { sessionId, status } = now.currentSession();
      if (sessionId !== session.sessionId) return "its session has ended";
      return status === "running" || status === "pending" ? undefined : `it is ${status}`;
    },
    relabel: (labels) => sandbox.update({ tags: { ...labels } }).then(() => {}),
    keep: async () => void (await missingAs(vercel.refusalOf, session.stop(), undefined)),
    async leave() {},
    async remove() {
      await missingAs(vercel.refusalOf, session.stop(), undefined);
      await missingAs(vercel.refusalOf, sandbox.delete({ deleteOrphanSnapshots: true }), undefined);
    },
  };
}

function wireOf(session: Session): Wire {
  return {
    async run([cmd = "", ...args]) {
      const ended = await session.runCommand({ cmd, args });
      return { exitCode: ended.exitCode, text: `${await ended.stderr()}${await ended.stdout()}` };
    },
    write: (path, bytes) => session.writeFiles([{ path, content: Buffer.from(bytes) }]),
    async read(path) {
      const bytes = await session.readFileToBuffer({ path });
      if (bytes) return bytes;
      throw new Error(`${path} is gone`);
    },
    async start({ argv: [cmd = "", ...args] }, heard) {
      const command = await session.runCommand({ cmd, args, detached: true });
      const over = new AbortController();
      const listen = async () => {
        for await (const { stream, data } of command.logs({ signal: over.signal })) heard[stream](data);
      };
      return {
        ended: listen().catch(() => {}),
        drop: () => over.abort(new Error("nobody listens any more")),
      };
    },
  };
}

function refusals({ APIError, StreamError }: Sdk): (error: unknown) => Refusal | undefined {
  return (error) => {
    if (error instanceof StreamError) return "unreachable";
    if (error instanceof APIError) {
      return refusalOfStatus(error.response.status);
    }
    // What fetch says of everything before an answer: no network, no such host, an address that it will not ask.
    return error instanceof TypeError && error.message === "fetch failed" ? "unreachable" : undefined;
  };
}
