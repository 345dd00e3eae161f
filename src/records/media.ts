// Files that go out with a message: named by a run (`MEDIA:path` lines, `attachments`), kept until nobody needs them.
//
// I1. A path is only a wish: what is kept was found inside the run's own folders, and is named here by where we keep it.

import type { Redact } from "../kernel/redact.ts";
import type { Environment } from "./environment.ts";

/** What a platform tells apart. */
export type MediaKind = "image" | "video" | "audio" | "file";

/** One file, kept. */
export interface Media {
  /** Where it is kept, relative to the home: `output/_media/<runId>/0-chart.png`. */
  file: string;
  /** What its readers see. */
  name: string;
  kind: MediaKind;
  contentType: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  caption?: string;
}

/** A wish that could not be met; `why` follows "Not sent: <path>: ". */
export interface RefusedMedia {
  path: string;
  why: string;
}

/** What became of a run's wishes. */
export interface OutcomeMedia {
  kept: readonly Media[];
  refused: readonly RefusedMedia[];
}

/** A wish: a path as the run wrote it. */
export interface WantedMedia {
  path: string;
  caption?: string | undefined;
}

/** Where a run's paths lead: folders of this machine, or inside an environment that is still open. */
export type MediaSource = MediaPlace & {
  /** Applied to texts: hides the job's own secrets, too. */
  redact: Redact;
};

/** `cwd` is where relative paths begin. */
type MediaPlace =
  | { kind: "folders"; cwd: string; folders: readonly string[] }
  | { kind: "environment"; environment: Environment; signal: AbortSignal };

const LINE = /^[ \t]*MEDIA:[ \t]*(\S.*?)[ \t]*\r?$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const CAPTION = /^(.*?\S)[ \t]+\|[ \t]+(.+)$/;
/** Paths may be quoted, as a model likes to. */
const QUOTED = /^(["'`])(.+)\1$/;

/** The `MEDIA:path` and `MEDIA:path | caption` lines of a text; those inside code fences are text. */
export function mediaLines(text: string): WantedMedia[] {
  if (!text.includes("MEDIA:")) return [];
  return linesOf(text).flatMap(({ wanted }) => wanted ?? []);
}

/** The text without those lines, and without the gaps they would leave. */
export function withoutMediaLines(text: string): string {
  if (!text.includes("MEDIA:")) return text;
  const lines = linesOf(text);
  if (lines.every(({ wanted }) => wanted === undefined)) return text;
  const kept = lines.filter(({ wanted }) => wanted === undefined).map(({ line }) => line);
  return kept
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .replace(/^\n+|\s+$/g, "");
}

function linesOf(text: string): { line: string; wanted: WantedMedia | undefined }[] {
  let fence: string | undefined;
  return text.split("\n").map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) fence = nextFence(fence, mark);
    const found = fence === undefined && mark === undefined ? LINE.exec(line)?.[1] : undefined;
    return { line, wanted: found === undefined ? undefined : readWish(found) };
  });
}

function nextFence(open: string | undefined, mark: string): string | undefined {
  if (open === undefined) return mark;
  return mark.startsWith(open[0] ?? "") && mark.length >= open.length ? undefined : open;
}

function readWish(found: string): WantedMedia {
  const [, written = found, caption] = CAPTION.exec(found) ?? [];
  const path = QUOTED.exec(written)?.[2] ?? written;
  return caption === undefined ? { path } : { path, caption };
}

/** By ending. What is not here is sent as a file. */
const TYPES: Readonly<Record<string, readonly [kind: MediaKind, type: string]>> = {
  png: ["image", "image/png"],
  jpg: ["image", "image/jpeg"],
  jpeg: ["image", "image/jpeg"],
  gif: ["image", "image/gif"],
  webp: ["image", "image/webp"],
  svg: ["file", "image/svg+xml"],
  mp4: ["video", "video/mp4"],
  webm: ["video", "video/webm"],
  mov: ["video", "video/quicktime"],
  mp3: ["audio", "audio/mpeg"],
  m4a: ["audio", "audio/mp4"],
  ogg: ["audio", "audio/ogg"],
  wav: ["audio", "audio/wav"],
  flac: ["audio", "audio/flac"],
  pdf: ["file", "application/pdf"],
  zip: ["file", "application/zip"],
  gz: ["file", "application/gzip"],
  json: ["file", "application/json"],
  csv: ["file", "text/csv"],
  txt: ["file", "text/plain"],
  log: ["file", "text/plain"],
  md: ["file", "text/markdown"],
  html: ["file", "text/html"],
  xml: ["file", "application/xml"],
  yaml: ["file", "application/yaml"],
  yml: ["file", "application/yaml"],
};

/** What a file is, by its name. */
export function mediaTypeOf(name: string): { kind: MediaKind; contentType: string } {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const [kind, contentType] = TYPES[ending] ?? (["file", "application/octet-stream"] as const);
  return { kind, contentType };
}

/** Whether secrets can be looked for in it (law 7). */
export function isTextType(contentType: string): boolean {
  return /^text\/|^application\/(json|xml|yaml)$|^image\/svg/.test(contentType);
}

/** For people: `12 kB`, `3.4 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
