// What a cloud backend needs of this machine: its SDK, which users install themselves, and the keys of an account.
//
// I1. Keys come from the node's environment or the home's `.env`, by name. They are handed to the SDK and to nothing else:
//     no message, label or command ever holds one.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { assertNever, Fault } from "../../kernel/errors.ts";
import { ifInstalled } from "../../kernel/if-installed.ts";
import { parseDuration } from "../../kernel/time.ts";
import type { CloudSpec, DaytonaSpec, ModalSpec, VercelSpec } from "../../records/cloud-specs.ts";
import type { CheckDeps } from "./place.ts";

/** What `npm install` gets, and how it is asked for: `modal` alone is another package. */
const PACKAGES = {
  modal: { name: "modal", install: "modal@0.11" },
  daytona: { name: "@daytonaio/sdk", install: "@daytonaio/sdk" },
  vercel: { name: "@vercel/sandbox", install: "@vercel/sandbox@3" },
} as const satisfies Record<CloudSpec["backend"], { name: string; install: string }>;

type CloudBackend = CloudSpec["backend"];

/** Whether its SDK can be loaded here; looks, and loads nothing. */
export function hasPackage(backend: CloudBackend): boolean {
  try {
    createRequire(import.meta.url).resolve(PACKAGES[backend].name);
    return true;
  } catch {
    return false;
  }
}

/** Loads it. Throws `environment.unusable` with what to install, also for another package of that name. */
export async function loadPackage<Module extends object>(
  backend: CloudBackend,
  load: () => Promise<Module>,
  name: keyof Module & string,
): Promise<Module> {
  const loaded = await ifInstalled(load);
  if (!loaded) throw missingPackage(backend);
  if (name in loaded) return loaded;
  throw new Fault(
    "environment.unusable",
    `the package ${PACKAGES[backend].name} is another one than its SDK`,
    {
      hint: installHint(backend),
    },
  );
}

export const installHint = (backend: CloudBackend) =>
  `Run npm install ${PACKAGES[backend].install} where Nightshift is installed.`;

export function missingPackage(backend: CloudBackend): Fault {
  return new Fault("environment.unusable", `the package ${PACKAGES[backend].name} is not installed`, {
    hint: installHint(backend),
  });
}

interface Key {
  variable: string;
  /** In the spec: a value, or a reference to another variable. */
  given: string | undefined;
}

export const modalKeys = ({ tokenId, tokenSecret }: ModalSpec) => ({
  tokenId: { variable: "MODAL_TOKEN_ID", given: tokenId },
  tokenSecret: { variable: "MODAL_TOKEN_SECRET", given: tokenSecret },
});

export const daytonaKeys = ({ apiKey }: DaytonaSpec) => ({
  apiKey: { variable: "DAYTONA_API_KEY", given: apiKey },
});

export const vercelKeys = ({ token, teamId, projectId }: VercelSpec) => ({
  token: { variable: "VERCEL_TOKEN", given: token },
  teamId: { variable: "VERCEL_TEAM_ID", given: teamId },
  projectId: { variable: "VERCEL_PROJECT_ID", given: projectId },
});

/** Modal's own command line writes its keys down, where its SDK finds them by itself. */
export function hasModalFile(deps: CheckDeps, spec: ModalSpec): boolean {
  const isBare = Object.values(modalKeys(spec)).every((key) => key.given === undefined && !lookUp(deps, key));
  const { MODAL_CONFIG_PATH, HOME } = deps.nodeEnv;
  return isBare && existsSync(MODAL_CONFIG_PATH || join(HOME ?? "/", ".modal.toml"));
}

/** Throws `environment.unusable` when a key of the account is missing. Asks nobody. */
export function requireAccount(deps: CheckDeps, spec: CloudSpec): void {
  switch (spec.backend) {
    case "modal":
      if (!hasModalFile(deps, spec)) accountOf(deps, "modal", modalKeys(spec));
      return;
    case "daytona":
      accountOf(deps, "daytona", daytonaKeys(spec));
      return;
    case "vercel":
      accountOf(deps, "vercel", vercelKeys(spec));
      return;
    default:
      assertNever(spec);
  }
}

/** A value is the spec's own, a reference of it, or the variable's. Undefined = neither. */
export function lookUp(deps: CheckDeps, of: Key): string | undefined {
  const { variable = (name: string) => deps.nodeEnv[name] } = deps;
  const reference = referenceOf(of.given);
  if (of.given !== undefined && reference === undefined) return of.given;
  return variable(reference ?? of.variable) || undefined;
}

/** All of them, or `environment.unusable` naming those that are missing. */
export function accountOf<Name extends string>(
  deps: CheckDeps,
  backend: CloudBackend,
  keys: Readonly<Record<Name, Key>>,
): Record<Name, string> {
  const all = Object.entries<Key>(keys);
  const found = Object.fromEntries(all.map(([name, key]) => [name, lookUp(deps, key)]));
  const missing = all
    .filter(([name]) => found[name] === undefined)
    .map(([, { variable, given }]) => referenceOf(given) ?? variable);
  if (missing.length === 0) return found as Record<Name, string>;
  throw new Fault("environment.unusable", `${backend} is not set up: ${missing.join(", ")} not set`, {
    hint: `Set ${missing.join(", ")} in the home's .env or in the node's environment.`,
  });
}

const referenceOf = (given: string | undefined) => /^\$\{env:(\w+)\}$/.exec(given ?? "")?.[1];

/** How long a sandbox may live when its spec says nothing, ms. */
export function lifetimeMs({ timeout }: CloudSpec, defaultMs: number): number {
  return timeout === undefined ? defaultMs : (parseDuration(timeout) ?? defaultMs);
}
