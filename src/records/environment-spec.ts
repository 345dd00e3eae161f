// Which environment is meant: a short text (`docker:python:3.12-slim`), a map, or a name from config.yaml (DESIGN §8).
//
// I1. Parsed once; from then on a spec is a value that says its backend and everything that was written, nothing else.
// I2. Defaults are the backends' own: a spec holds only what a person wrote.

import * as z from "zod/mini";
import { Fault, nearestWord } from "../kernel/errors.ts";
import { ACCOUNT_KEYS, cloudSchemas } from "./cloud-specs.ts";
import { type DocumentIssue, issuesOf } from "./document-issues.ts";
import { described, text } from "./job-schema.ts";
import { knownKeysInCamelCase } from "./snake-case.ts";

const limits = () =>
  z.strictObject({
    cpu: described("Cores, e.g. 1.5.", z.optional(z.number().check(z.gt(0)))),
    memoryMb: z.optional(z.int().check(z.gte(4))),
    pids: z.optional(z.int().check(z.gte(1))),
  });

const scope = () =>
  described(
    "Whose it is: each run's own (run), the job's (job), or everybody's who gives the same NAME.",
    z.optional(text()),
  );

const network = () => described("none = no network at all.", z.optional(z.enum(["on", "none"])));

const docker = () =>
  z.strictObject({
    backend: z.literal("docker"),
    image: text(),
    scope: scope(),
    engine: described(
      "The command to use. Left out: docker, else podman.",
      z.optional(z.enum(["docker", "podman"])),
    ),
    network: network(),
    limits: z.optional(limits()),
    user: described("User inside, a name or uid[:gid]. Left out: the image's.", z.optional(text())),
    workdir: described(
      "mount = the run's folder is bound to /workspace; own = a folder of its own.",
      z.optional(z.enum(["mount", "own"])),
    ),
    persist: described(
      "Whether /workspace is kept for the next run of the same scope.",
      z.optional(z.boolean()),
    ),
    pull: described("When the image is fetched.", z.optional(z.enum(["missing", "never"]))),
  });

const ssh = () =>
  z.strictObject({
    backend: z.literal("ssh"),
    host: text(),
    user: z.optional(text()),
    port: z.optional(z.int().check(z.gte(1), z.lte(65_535))),
    identityFile: described("A private key's path. Left out: OpenSSH's own choice.", z.optional(text())),
    knownHosts: described("A known_hosts file. Left out: OpenSSH's own.", z.optional(text())),
    hostKey: described(
      "strict = the key must be known already; acceptNew = a new host's key is remembered.",
      z.optional(z.enum(["strict", "acceptNew"])),
    ),
    folder: described(
      "Where sessions start. Left out: a fresh folder, removed afterwards.",
      z.optional(text()),
    ),
    scope: scope(),
  });

const makeSchemas = () => ({
  local: z.strictObject({
    backend: z.literal("local"),
    scope: scope(),
    limits: described(
      "Hard limits: control groups where they can be made, else ulimit.",
      z.optional(limits()),
    ),
    sandbox: described("No network, read-only system, private /tmp.", z.optional(z.enum(["bubblewrap"]))),
  }),
  docker: docker(),
  ssh: ssh(),
  singularity: z.strictObject({
    backend: z.literal("singularity"),
    image: described("A file's whole path, an address (docker://…), or a name on Docker Hub.", text()),
    scope: scope(),
    network: network(),
    limits: z.optional(limits()),
    persist: described(
      "Whether what is written to the image is kept for the next run of the same scope.",
      z.optional(z.boolean()),
    ),
    pull: described("When the image is fetched.", z.optional(z.enum(["missing", "never"]))),
  }),
  ...cloudSchemas(),
});

let made: ReturnType<typeof makeSchemas> | undefined;

/** Made on first use: most homes name no environment. */
function schemas(): ReturnType<typeof makeSchemas> {
  made ??= makeSchemas();
  return made;
}

export type Backend = keyof ReturnType<typeof makeSchemas>;
export const BACKENDS = [
  "local",
  "docker",
  "ssh",
  "singularity",
  "modal",
  "daytona",
  "vercel",
] as const satisfies readonly Backend[];

type Specs = { [Name in Backend]: z.infer<ReturnType<typeof makeSchemas>[Name]> };
export type LocalSpec = Specs["local"];
export type DockerSpec = Specs["docker"];
export type SshSpec = Specs["ssh"];
export type SingularitySpec = Specs["singularity"];
export type EnvironmentSpec = Specs[Backend];
/** Cores, MB and processes; absent = none. */
export type ResourceLimits = z.infer<ReturnType<typeof limits>>;

/** A text or a map, for config.yaml and its JSON Schema; one flat union, so that mistakes are told of the branch meant. */
const environmentSchema = () => {
  const all = schemas();
  return z.union([
    text(),
    all.local,
    all.docker,
    all.ssh,
    all.singularity,
    all.modal,
    all.daytona,
    all.vercel,
  ]);
};

/** The `environments` key of config.yaml: names to texts or maps. */
export const environmentsSchema = () =>
  z.record(
    z.string().check(z.regex(/^[a-z0-9][a-z0-9_-]*$/i, "is no name; write letters, digits, - and _")),
    environmentSchema(),
  );

/** A text, or a map as a person wrote it. */
export type EnvironmentInput = string | Readonly<Record<string, unknown>>;
export type NamedEnvironments = Readonly<Record<string, EnvironmentInput>>;

/** Reads an environment; a name is looked up in `named`. Throws Fault `input.invalid` that says what to write. */
export function parseEnvironmentSpec(
  input: EnvironmentInput,
  named: NamedEnvironments = {},
): EnvironmentSpec {
  return parse(input, named, []);
}

function parse(input: EnvironmentInput, named: NamedEnvironments, via: readonly string[]): EnvironmentSpec {
  if (typeof input !== "string") return via.length > 0 ? parseMap(input) : withoutAccount(parseMap(input));
  const word = input.trim();
  if (Object.hasOwn(named, word)) {
    const meant = named[word];
    if (via.includes(word) || meant === undefined)
      throw invalid(`the environment ${word} leads back to itself`, "Give its backend and image.");
    return parse(meant, named, [...via, word]);
  }
  const [, backend = "", rest] = /^([^:]*)(?::(.*))?$/s.exec(word) ?? [];
  const reader = new Map(Object.entries(TEXT_FORMS)).get(backend);
  if (reader) return reader(rest);
  throw unknownName(word, named);
}

const TEXT_FORMS: Readonly<Record<Backend | "apptainer", (rest: string | undefined) => EnvironmentSpec>> = {
  local(rest) {
    if (rest === undefined) return { backend: "local" };
    throw invalid(`"local:${rest}" says more than local takes`, "Write local.");
  },
  docker: (rest) => ({ backend: "docker", image: imageOf("docker", rest) }),
  ssh: parseSsh,
  singularity: (rest) => ({ backend: "singularity", image: imageOf("singularity", rest) }),
  apptainer: (rest) => ({ backend: "singularity", image: imageOf("apptainer", rest) }),
  modal: (rest) => ({ backend: "modal", image: imageOf("modal", rest) }),
  daytona: (rest) => ({ backend: "daytona", image: imageOf("daytona", rest) }),
  vercel: (rest) => ({ backend: "vercel", ...(rest && { runtime: rest }) }),
};

/** A leading `-` would be read as an option by the program that gets the name. */
function imageOf(backend: string, rest: string | undefined): string {
  if (rest && /^[^\s-]\S*$/.test(rest)) return rest;
  throw invalid(
    `"${backend}${rest === undefined ? "" : `:${rest}`}" names no image`,
    `Write ${backend}:IMAGE, e.g. ${backend}:python:3.12-slim.`,
  );
}

/** `[user@]host[:port]`; an IPv6 address stands in brackets. */
function parseSsh(rest: string | undefined): SshSpec {
  const match = /^(?:([^@\s]+)@)?(\[[0-9a-f:.]+(?:%\w+)?\]|[^@:\s]+)(?::(\d{1,5}))?$/i.exec(rest ?? "");
  const [, user, host = "", port] = match ?? [];
  if (!match || host.startsWith("-") || user?.startsWith("-") || Number(port ?? 22) > 65_535 || port === "0")
    throw invalid(
      `"ssh${rest === undefined ? "" : `:${rest}`}" names no host`,
      "Write ssh:user@host or ssh:user@host:port.",
    );
  return {
    backend: "ssh",
    host: host.replace(/^\[|\]$/g, ""),
    ...(user && { user }),
    ...(port && { port: Number(port) }),
  };
}

function parseMap(input: Readonly<Record<string, unknown>>): EnvironmentSpec {
  const backend = input.backend;
  if (typeof backend !== "string" || !isBackend(backend)) {
    const nearest = typeof backend === "string" ? nearestWord(backend, BACKENDS) : undefined;
    throw invalid(
      backend === undefined
        ? "an environment's map names no backend"
        : `there is no backend ${JSON.stringify(backend)}`,
      nearest ? `Did you mean ${nearest}?` : `Write backend: ${BACKENDS.join(" | ")}.`,
    );
  }
  const schema = schemas()[backend];
  const value = knownKeysInCamelCase(input, schema);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw faultOf(issuesOf(parsed.error.issues, value, schema));
  refuseOptionLike(parsed.data);
  return parsed.data;
}

/** Of a map that a job brings along. */
function withoutAccount(spec: EnvironmentSpec): EnvironmentSpec {
  const found = ACCOUNT_KEYS.find((name) => name in spec);
  if (!found) return spec;
  throw invalid(
    `${found} of ${spec.backend} stands in a job`,
    "Name the environment under `environments` in config.yaml, and write its name here.",
  );
}

function isBackend(word: string): word is Backend {
  return (BACKENDS as readonly string[]).includes(word);
}

function refuseOptionLike(spec: EnvironmentSpec): void {
  const words = {
    ...("image" in spec && { image: spec.image }),
    ...("host" in spec && { host: spec.host, user: spec.user }),
  };
  for (const [key, word] of Object.entries(words))
    if (word !== undefined && !/^[^\s-]\S*$/.test(word))
      throw invalid(`${key} ${JSON.stringify(word)} holds a space or begins with -`, `Correct ${key}.`);
}

function faultOf(issues: readonly DocumentIssue[]): Fault {
  const [first] = issues;
  return invalid(
    issues.map(({ what, hint }) => `environment: ${what}; ${hint}`).join("\n"),
    first ? `${first.hint.charAt(0).toUpperCase()}${first.hint.slice(1)}` : "Correct the environment.",
  );
}

function unknownName(word: string, named: NamedEnvironments): Fault {
  const nearest = nearestWord(word.split(":")[0] ?? word, [...Object.keys(named), ...BACKENDS]);
  return invalid(
    `there is no environment "${word}"`,
    nearest
      ? `Did you mean ${nearest}?`
      : `Write local, docker:IMAGE, ssh:user@host, or a name from environments in config.yaml.`,
  );
}

const invalid = (message: string, hint: string) => new Fault("input.invalid", message, { hint });

/** The short text that means the same backend and image, for messages and labels. */
export function formatEnvironment(spec: EnvironmentSpec): string {
  switch (spec.backend) {
    case "local":
      return "local";
    case "ssh": {
      const host = spec.host.includes(":") ? `[${spec.host}]` : spec.host;
      return `ssh:${spec.user ? `${spec.user}@` : ""}${host}${spec.port ? `:${spec.port}` : ""}`;
    }
    case "vercel": {
      const { runtime, image } = spec;
      return (runtime ?? image) ? `vercel:${runtime ?? image}` : "vercel";
    }
    default:
      return `${spec.backend}:${spec.image}`;
  }
}
