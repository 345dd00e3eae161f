// A body as it came over HTTP, unpacked and decoded, within bounds.
//
// I1. A small packed body cannot become a large one: unpacking stops at `maxBytes`.
// I2. What was unpacked before a break is kept: a cut page is better than none.

import zlib from "node:zlib";

export interface Unpacked {
  bytes: Buffer;
  isCut: boolean;
}

/** Undoes one `content-encoding`. Undefined = one that is not known. Never rejects. */
export async function unpack(
  body: Buffer,
  encoding: string,
  maxBytes: number,
): Promise<Unpacked | undefined> {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return { bytes: body, isCut: false };
  const stream = unpackerOf(name, body);
  if (stream === undefined) return undefined;
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (isCut: boolean) => {
      stream.destroy();
      resolve({ bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut });
    };
    stream.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) finish(true);
    });
    stream.once("end", () => finish(false));
    stream.once("error", () => finish(true));
    stream.end(body);
  });
}

/** The lenient flush makes a body that was cut off end where it was cut. */
function unpackerOf(
  name: string,
  body: Buffer,
): zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress | undefined {
  const finishFlush = zlib.constants.Z_SYNC_FLUSH;
  if (name === "gzip" || name === "x-gzip") return zlib.createGunzip({ finishFlush });
  // Servers mean the zlib form and some send the raw one; the first byte tells.
  if (name === "deflate")
    return ((body[0] ?? 0) & 15) === 8
      ? zlib.createInflate({ finishFlush })
      : zlib.createInflateRaw({ finishFlush });
  if (name === "br")
    return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
  return undefined;
}

/** How far a page's own word about its charset is looked for. @source HTML standard, prescan: 1,024 bytes. */
const PRESCAN_BYTES = 1_024;

/** The text of bytes: by mark, else header, else the page's own word, else UTF-8. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const label = markOf(bytes) ?? charsetIn(contentType) ?? metaCharset(bytes) ?? "utf-8";
  const decoder = decoderOf(label);
  const text = decoder.decode(bytes).replaceAll("\0", "\uFFFD");
  return decoder.encoding === "windows-1252" ? text.replace(/[\u0080-\u009f]/g, windows1252) : text;
}

/** Some Node versions read windows-1252 as Latin 1, which leaves its own 27 characters as controls. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";
const windows1252 = (control: string) => WINDOWS_1252.charAt(control.charCodeAt(0) - 0x80);

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(text)?.[1];
}

/** `<meta charset=…>`, `<meta http-equiv … charset=…>` or `<?xml encoding=…?>`. */
function metaCharset(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, PRESCAN_BYTES).toString("latin1");
  const meta = /<meta\b[^>]*charset[^>]*>/i.exec(head)?.[0];
  const label = meta === undefined ? undefined : charsetIn(meta);
  return label ?? /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w:.-]+)/i.exec(head)?.[1];
}

function decoderOf(label: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder("utf-8");
  }
}
