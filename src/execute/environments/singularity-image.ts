// Images for Apptainer: files of this machine, or fetched once into a folder that all homes of this user share.
//
// I1. One fetch at a time for an image, whoever wants it: the others wait for it and use what it brought. A lock whose owner
//     is dead is broken; two that break it at once cost a second fetch and nothing else (I2).
// I2. An image appears under its name whole, or not at all.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { SingularitySpec } from "../../records/environment-spec.ts";
import { readHost } from "../host.ts";
import { isOrphaned, type Owner, ownerOf } from "./owner.ts";
import type { CheckDeps, EnvironmentDeps } from "./place.ts";
import { lastLine, runClient } from "./run-client.ts";
import { singularityEnv } from "./singularity-arguments.ts";

/** @source upstream.md 1.11 */
const FETCH_TIMEOUT_MS = 600_000;
/** A lock of another machine (a shared home) counts as left behind after this. */
const FOREIGN_LOCK_MS = FETCH_TIMEOUT_MS + 60_000;
const LOOK_AGAIN_MS = 200;

export interface ImageSource {
  /** Where it lies, or will lie, on this machine. */
  file: string;
  /** Where it comes from; undefined = it must lie there. */
  uri: string | undefined;
}

/** Reads the spec's image: a path, an address, or a name on the default registry. Throws `environment.unusable`. */
export function imageSource(nodeEnv: CheckDeps["nodeEnv"], { image }: SingularitySpec): ImageSource {
  if (image.startsWith("/")) return { file: image, uri: undefined };
  if (image.startsWith(".") || image.startsWith("~") || (image.endsWith(".sif") && !image.includes("://")))
    throw new Fault("environment.unusable", `the image ${image} is no absolute path`, {
      hint: "Write the file's whole path, e.g. singularity:/images/python.sif.",
    });
  const uri = image.includes("://") ? image : `docker://${image}`;
  const name = createHash("sha256").update(uri).digest("hex").slice(0, 24);
  return { file: join(cacheFolder(nodeEnv), `${name}.sif`), uri };
}

/** Beside Apptainer's own cache where a person moved that; else in the user's cache. */
function cacheFolder(nodeEnv: CheckDeps["nodeEnv"]): string {
  const moved = nodeEnv.APPTAINER_CACHEDIR || nodeEnv.SINGULARITY_CACHEDIR;
  if (moved) return join(moved, "nightshift");
  return join(nodeEnv.XDG_CACHE_HOME || join(nodeEnv.HOME || "/", ".cache"), "nightshift", "images");
}

export const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The image's path on this machine, fetched if need be. Throws `environment.unusable`, or the signal's reason. */
export async function haveImage(
  deps: EnvironmentDeps,
  program: string,
  spec: SingularitySpec,
): Promise<string> {
  const source = imageSource(deps.nodeEnv, spec);
  const { file, uri } = source;
  if (await isThere(file)) return file;
  if (uri === undefined || spec.pull === "never")
    throw new Fault("environment.unusable", `the image ${spec.image} is not here`, {
      hint: missingHint(program, source),
    });
  await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
  const unlock = await lock(deps, `${file}.lock`);
  try {
    if (!(await isThere(file))) await fetchImage(deps, { program, uri, file });
    return file;
  } finally {
    await unlock();
  }
}

export function missingHint(program: string, { file, uri }: ImageSource): string {
  return uri === undefined ? "Correct the image's path." : `Run ${program} pull ${file} ${uri}`;
}

async function fetchImage(
  deps: EnvironmentDeps,
  { program, uri, file }: { program: string; uri: string; file: string },
): Promise<void> {
  const fresh = `${file}.${deps.newId()}.part`;
  try {
    const pulled = await runClient(deps.clock, {
      argv: [program, "--silent", "pull", fresh, uri],
      env: singularityEnv(deps.nodeEnv, { isFetching: true }),
      timeoutMs: FETCH_TIMEOUT_MS,
      ...(deps.signal && { signal: deps.signal }),
    });
    if (pulled.exitCode !== 0)
      throw new Fault("environment.unusable", `the image ${uri} cannot be fetched: ${lastLine(pulled)}`, {
        hint: `Correct its name, or run ${program} pull ${file} ${uri}`,
        retry: "later",
      });
    await rename(fresh, file);
  } finally {
    await rm(fresh, { force: true });
  }
}

/** I1. Resolves with the release. */
async function lock(deps: EnvironmentDeps, path: string): Promise<() => Promise<void>> {
  const mine = JSON.stringify(ownerOf());
  const never = new AbortController().signal;
  for (;;) {
    deps.signal?.throwIfAborted();
    const isMine = await writeFile(path, mine, { flag: "wx", mode: 0o600 }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
        return false;
      },
    );
    if (isMine) return () => rm(path, { force: true });
    if (await isLeftBehind(path, deps.clock.now())) await rm(path, { force: true });
    else await deps.clock.sleep(LOOK_AGAIN_MS, deps.signal ?? never);
  }
}

async function isLeftBehind(path: string, now: number): Promise<boolean> {
  try {
    const owner = JSON.parse(await readFile(path, "utf8")) as Owner;
    if (owner.machineId === readHost().machineId) return isOrphaned(owner, readHost());
  } catch {
    // Just released, or not yet written.
  }
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && now - found.mtimeMs > FOREIGN_LOCK_MS;
}
