// A run's files, kept while the place they were made in is still there (issue D 4).
//
// I1. A file that cannot be kept takes nothing from the text: it is named with the reason.
// I2. Whoever names files has something to say, though it printed nothing.

import { messageOf } from "../kernel/errors.ts";
import type { Environment } from "../records/environment.ts";
import type { KeepMedia } from "../records/keep-media.ts";
import {
  type Media,
  type MediaSource,
  mediaLines,
  type RefusedMedia,
  type WantedMedia,
} from "../records/media.ts";
import type { Run } from "../records/run.ts";
import {
  type FoundMedia,
  isPlainBelow,
  type MediaFiles,
  openMediaFiles,
  whyWrongSize,
} from "../store/files/media-files.ts";
import { JOBLESS_FOLDER } from "../store/files/output-files.ts";
import type { Context } from "./context.ts";

/** More files than these flood a chat. */
const MOST_FILES = 20;
/** Of one run, together. */
const MOST_BYTES_TIMES = 4;

type KeepContext = Pick<Context, "home" | "config" | "log">;

/** The keeper of a node's runs; its promise never rejects. */
export function makeKeepMedia(context: KeepContext): KeepMedia {
  const { home, config } = context;
  const maxBytes = config.limits.mediaBytes;
  const files = openMediaFiles({ root: home.paths.root, maxBytes });
  return async (outcome, source, run) => {
    if (outcome.state !== "succeeded" || outcome.media) return outcome;
    const { attachments = attachmentsIn(outcome.result), ...rest } = outcome;
    const wanted = [...(outcome.isSilent ? [] : mediaLines(outcome.output)), ...attachments];
    if (wanted.length === 0) return rest;
    const media = await keepAll({ context, files, maxBytes }, wanted, { source, run });
    return { ...rest, isSilent: false, media };
  };
}

/** `attachments` of a result: paths, or `{path, caption}`. What is neither is a path that leads nowhere, and is named as such. */
export function attachmentsIn(result: unknown): WantedMedia[] {
  if (typeof result !== "object" || result === null || !("attachments" in result)) return [];
  const { attachments } = result;
  return (Array.isArray(attachments) ? attachments : [attachments]).map(readAttachment);
}

function readAttachment(item: unknown): WantedMedia {
  if (typeof item === "string") return { path: item };
  const { path, caption } = Object(item) as { path?: unknown; caption?: unknown };
  if (typeof path !== "string") return { path: JSON.stringify(item) ?? "nothing" };
  return typeof caption === "string" && caption !== "" ? { path, caption } : { path };
}

interface Keeping {
  context: KeepContext;
  files: MediaFiles;
  maxBytes: number;
}

async function keepAll(
  keeping: Keeping,
  wanted: readonly WantedMedia[],
  { source, run }: { source: MediaSource; run: Pick<Run, "id" | "jobId"> },
): Promise<{ kept: Media[]; refused: RefusedMedia[] }> {
  const kept: Media[] = [];
  const refused: RefusedMedia[] = [];
  let bytesLeft = keeping.maxBytes * MOST_BYTES_TIMES;
  for (const one of wanted) {
    const answer =
      kept.length + refused.length >= MOST_FILES
        ? { why: `a run sends at most ${MOST_FILES} files` }
        : await keepOne(keeping, one, { source, run, index: kept.length, bytesLeft });
    if ("why" in answer) refused.push({ path: one.path.slice(0, 200), why: answer.why });
    else {
      kept.push(answer);
      bytesLeft -= answer.bytes;
    }
  }
  return { kept, refused };
}

async function keepOne(
  { context, files, maxBytes }: Keeping,
  wanted: WantedMedia,
  at: { source: MediaSource; run: Pick<Run, "id" | "jobId">; index: number; bytesLeft: number },
): Promise<Media | { why: string }> {
  const { source, run, index, bytesLeft } = at;
  try {
    const found =
      source.kind === "folders"
        ? await files.find(wanted.path, {
            cwd: source.cwd,
            folders: [...source.folders, outputFolderOf(context, run)],
          })
        : await findInside(source, wanted.path, maxBytes);
    if ("why" in found) return found;
    if (found.bytes.length > bytesLeft) return { why: "the run's files are too large together" };
    return await files.keep(wanted, found.bytes, { runId: run.id, index, redact: source.redact });
  } catch (error) {
    context.log.warn("media-not-kept", { runId: run.id, path: wanted.path, error: messageOf(error) });
    return { why: "it could not be kept on the node" };
  }
}

/** What the job's earlier runs left is its own as well. */
function outputFolderOf({ home }: KeepContext, { jobId }: Pick<Run, "jobId">): string {
  return `${home.paths.outputFolder}/${jobId ?? JOBLESS_FOLDER}`;
}

type Inside = Extract<MediaSource, { kind: "environment" }>;

/** Links are followed where the file lies; then the same rule holds as here. */
async function findInside(
  { environment, signal }: Inside,
  path: string,
  maxBytes: number,
): Promise<FoundMedia> {
  if (path.includes("\0")) return { why: "that is no path" };
  const [folder, file] = await realPaths(environment, [environment.cwd, path], signal);
  if (!folder || !file) return { why: "there is no such file" };
  if (!isPlainBelow(folder, file)) return { why: "it lies outside of the run's folders, or is hidden" };
  const bytes = Buffer.from(await environment.readFile(file, { signal, maxBytes: maxBytes + 1 }));
  const why = whyWrongSize(bytes.length, maxBytes);
  return why === undefined ? { bytes } : { why };
}

/** Of what is a file or a folder there; undefined for what is not. */
async function realPaths(
  environment: Environment,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<(string | undefined)[]> {
  const quoted = paths.map((path) => `'${path.replaceAll("'", `'\\''`)}'`).join(" ");
  const command = `for f in ${quoted}; do if [ -e "$f" ]; then readlink -f -- "$f"; else echo; fi; done`;
  const { stdout } = await environment.exec(command, { cwd: environment.cwd, signal });
  const lines = Buffer.from(stdout).toString("utf8").split("\n");
  return paths.map((_, index) => lines[index] || undefined);
}
