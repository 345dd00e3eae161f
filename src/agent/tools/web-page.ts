// One address, fetched and made readable: the shell of `web_fetch`, without the tool around it.
//
// I1. Every address, also one that a redirect names, goes through the guard (kernel/guarded-request.ts).

import { STATUS_CODES } from "node:http";
import { type Answered, guardedRequest, type RequestDeps } from "../../kernel/guarded-request.ts";
import { SECOND } from "../../kernel/time.ts";
import { decodeText, unpack } from "./content-decoding.ts";

/** Bytes of a download, packed or not. */
const MAX_BYTES = 2_000_000;
const MAX_REDIRECTS = 5;
const DEFAULT_TIMEOUT_MS = 30 * SECOND;
/** Of the text of an answer that is an error. */
const MAX_ERROR_TEXT = 1_000;

export interface WebDeps extends RequestDeps {
  /** Default `nightshift`. Some sites ask for a way to reach who is asking. */
  userAgent?: string | undefined;
  /** For names, redirects and body together. Default 30,000. */
  timeoutMs?: number | undefined;
}

export interface WebPage {
  /** After redirects. */
  url: string;
  status: number;
  contentType: string;
  title: string | undefined;
  text: string;
  /** The first one is [1] in the text. */
  links: string[];
  /** The download or what it unpacked to was longer than is kept, or broke off. */
  isCut: boolean;
}

/** What cannot be shown is a sentence. Never throws for what a network or a page can be. */
export async function fetchPage(
  deps: WebDeps,
  url: URL,
  signal: AbortSignal,
): Promise<WebPage | { error: string }> {
  const answer = await guardedRequest(
    deps,
    {
      method: "GET",
      url,
      headers: {
        accept:
          "text/html,application/xhtml+xml,text/plain,text/markdown,application/json,application/xml;q=0.9,*/*;q=0.5",
        "accept-encoding": "gzip, deflate, br",
        "accept-language": "en,*;q=0.5",
        "user-agent": deps.userAgent ?? "nightshift",
      },
      timeoutMs: deps.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      maxBytes: () => MAX_BYTES,
    },
    signal,
  );
  return answer.kind === "answered" ? await readAnswer(answer) : { error: `Not fetched: ${answer.error}.` };
}

async function readAnswer(answer: Answered): Promise<WebPage | { error: string }> {
  const { url, status, headers, body, bodyEnd } = answer;
  const contentType = headers["content-type"] ?? "";
  const encoding = headers["content-encoding"] ?? "";
  const unpacked = await unpack(body, encoding, MAX_BYTES);
  if (unpacked === undefined)
    return { error: `${url.host} packs its answer in an unknown way (${encoding}).` };
  const { bytes } = unpacked;
  const isCut = unpacked.isCut || bodyEnd !== "whole";
  const kind = kindOf(contentType, bytes);
  if (status >= 400 || status < 200) return { error: await errorSentence(answer, bytes, kind) };
  if (kind === "other")
    return {
      error: `${url.href} is ${contentType || "of no known kind"} (${sizeOf(answer)}) and has no text to read.`,
    };
  const text = decodeText(bytes, contentType);
  const page =
    kind === "html" ? await readHtml(text, url) : { title: undefined, text, links: [], isCut: false };
  return { url: url.href, status, contentType, ...page, isCut: isCut || page.isCut };
}

async function readHtml(html: string, url: URL) {
  const { pageText } = await import("./html-text.ts");
  return pageText(html, url);
}

async function errorSentence({ url, status }: Answered, bytes: Buffer, kind: Kind): Promise<string> {
  const name = `${url.host} answered ${status}${STATUS_CODES[status] ? ` ${STATUS_CODES[status]}` : ""}`;
  if (kind === "other") return `${name}.`;
  const raw = decodeText(bytes, "");
  const text = kind === "html" ? (await readHtml(raw, url)).text : raw;
  const said = text.replace(/\s+/g, " ").trim().slice(0, MAX_ERROR_TEXT);
  return said === "" ? `${name}.` : `${name}: ${said}`;
}

type Kind = "html" | "text" | "other";

/** By what the server says; where it says nothing, by the first bytes. */
function kindOf(contentType: string, bytes: Buffer): Kind {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type.startsWith("text/") || /[/+](json|xml|yaml|x-yaml|javascript|x-ndjson|toml|x-sh|sql)$/.test(type))
    return "text";
  if (type !== "" && type !== "application/octet-stream") return "other";
  const head = bytes.subarray(0, 1_000);
  if (head.includes(0)) return "other";
  return /^\s*(<!doctype html|<html)/i.test(head.toString("latin1")) ? "html" : "text";
}

function sizeOf({ headers, body, bodyEnd }: Answered): string {
  const told = Number(headers["content-length"]);
  const bytes = Number.isSafeInteger(told) && told > 0 ? told : body.length;
  const size =
    bytes < 1_000
      ? `${bytes} bytes`
      : bytes < 1_000_000
        ? `${Math.round(bytes / 1_000)} kB`
        : `${(bytes / 1_000_000).toFixed(1)} MB`;
  return bodyEnd === "whole" || bytes === told ? size : `more than ${size}`;
}
