// What a cloud backend needs of this machine: its SDK, which users install themselves, and the keys of an account.
//
// I1. Keys come from the node's environment or the home's `.env`, by name. They are handed to the SDK and to nothing else:
//     no message, label or command ever holds one.

import { createRequire } from "node:module";
import { Fault } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
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
  let loaded: Module;
  try {
    loaded = await load();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") throw missingPackage(backend);
    throw error;
  }
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

/** The values of an account, by the SDK's own names. */
export type AccountNames<Name extends string> = Readonly<
  Record<Name, { variable: string; given?: string | undefined }>
>;

/** A value is the spec's own, a reference of it, or the variable's. Undefined = neither. */
export function lookUp(
  deps: CheckDeps,
  of: { variable: string; given?: string | undefined },
): string | undefined {
  const { variable = (name: string) => deps.nodeEnv[name] } = deps;
  const reference = /^\$\{env:(\w+)\}$/.exec(of.given ?? "")?.[1];
  if (of.given !== undefined && reference === undefined) return of.given;
  return variable(reference ?? of.variable) || undefined;
}

/** All of them, or `environment.unusable` naming those that are missing. */
export function accountOf<Name extends string>(
  deps: CheckDeps,
  backend: CloudBackend,
  names: AccountNames<Name>,
): Record<Name, string> {
  const found = Object.fromEntries(
    Object.entries<AccountNames<Name>[Name]>(names).map(([name, of]) => [name, lookUp(deps, of)]),
  );
  const missing = Object.entries<AccountNames<Name>[Name]>(names)
    .filter(([name]) => found[name] === undefined)
    .map(([, { variable, given }]) => /^\$\{env:(\w+)\}$/.exec(given ?? "")?.[1] ?? variable);
  if (missing.length === 0) return found as Record<Name, string>;
  throw new Fault("environment.unusable", `${backend} is not set up: ${missing.join(", ")} not set`, {
    hint: `Set ${missing.join(", ")} in the home's .env or in the node's environment.`,
  });
}
