// `local`: kept on this machine. A result's archived output file is its delivery; alerts and digests become files.
//
// I1. The archived file was written before the closing commit (U2), so its path is evidence enough.
// I2. A file's name is made of the row, so a second try writes the same file again.

import { chmod, copyFile, mkdir, open, rename } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { messageOf } from "../../kernel/errors.ts";
import { type Clock, formatInstant } from "../../kernel/time.ts";
import type { Adapter, SendRequest, SendResult, SentMedia } from "../../records/delivery.ts";

/** No job's slug begins with `_`, so no job's output folder can be this one. */
const ALERTS_FOLDER = "_alerts";

export interface LocalOptions {
  clock: Clock;
  /** `<home>`; files go to `<home>/output/_alerts`, 0600. */
  home: string;
  /** The archived output file of a run, as its row names it; undefined = none. */
  outputFileOf(runId: string): Promise<string | undefined>;
}

/** Keeps messages in the home. The receipt's id is the file's path, relative to the home. */
export function makeLocalAdapter(options: LocalOptions): Adapter {
  return {
    platform: "local",
    repeatability: "idempotent",
    maxLength: Number.POSITIVE_INFINITY,
    hasNoAddress: true,
    isForPrograms: true,
    parseAddress: (address) => (address === "" ? {} : undefined),
    unusable: () => undefined,
    mediaLimits: () => ({ maxBytes: Number.POSITIVE_INFINITY }),
    send: (request) => keep(options, request),
  };
}

async function keep(options: LocalOptions, request: SendRequest): Promise<SendResult> {
  const { clock, home } = options;
  try {
    const archived =
      request.kind === "result" && request.runId !== undefined
        ? await options.outputFileOf(request.runId)
        : undefined;
    const file = request.media
      ? await keepFile(home, { request, media: request.media, archived })
      : (archived ?? (await writeMessage(home, request)));
    return { kind: "delivered", receipt: { id: file, at: clock.now() } };
  } catch (error) {
    return { kind: "retry", error: `the file could not be written: ${messageOf(error)}` };
  }
}

/** Beside the run's output, and gone with it; a file of no archived run lies with the alerts. */
async function keepFile(
  home: string,
  { request, media, archived }: { request: SendRequest; media: SentMedia; archived: string | undefined },
): Promise<string> {
  const name = basename(media.path);
  const stem = archived?.replace(/\.md$/, "") ?? `output/${ALERTS_FOLDER}/${nameOf(request)}`;
  const file = `${stem}.${name}`;
  await mkdir(dirname(join(home, file)), { recursive: true, mode: 0o700 });
  const temporary = join(home, `${file}.tmp`);
  await copyFile(media.path, temporary);
  await chmod(temporary, 0o600);
  await rename(temporary, join(home, file));
  return file;
}

/** Sorts by time. */
function nameOf({ createdAt, kind, idempotencyKey }: SendRequest): string {
  const stamp = formatInstant(createdAt).replace(/[-:]|\.\d+/g, "");
  return `${stamp}-${kind}-${idempotencyKey.slice(0, 12)}`;
}

/** temp → fsync → rename; the name sorts by time. */
async function writeMessage(home: string, request: SendRequest): Promise<string> {
  const folder = join(home, "output", ALERTS_FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${nameOf(request)}.md`);
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.writeFile(`${request.body.trimEnd()}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  return relative(home, path);
}
