// multipart/form-data with one file in it, streamed from disk.
// @source RFC 7578; names are escaped as the WHATWG form encoding does.

import { createReadStream } from "node:fs";
import type { StreamedBody } from "../../kernel/guarded-request.ts";
import type { SentMedia } from "../../records/delivery.ts";

/** The header and the body. The boundary is made of the message's key: the same try gives the same bytes. */
export function multipart(
  fields: Readonly<Record<string, string | undefined>>,
  file: { field: string; media: SentMedia },
  key: string,
): { headers: Record<string, string>; body: StreamedBody } {
  const boundary = `nightshift-${key}`;
  const { field, media } = file;
  const head = Object.entries(fields)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `--${boundary}\r\n${disposition(name)}\r\n\r\n${value}\r\n`)
    .join("");
  const fileHead = `--${boundary}\r\n${disposition(field)}; filename="${escaped(media.name)}"\r\ncontent-type: ${media.contentType}\r\n\r\n`;
  const before = Buffer.from(head + fileHead);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: {
      bytes: before.length + media.bytes + after.length,
      async *open() {
        yield before;
        yield* fileBody(media).open();
        yield after;
      },
    },
  };
}

/** The file alone. */
export function fileBody({ path, bytes }: SentMedia): StreamedBody {
  return { bytes, open: () => createReadStream(path, { end: bytes - 1 }) };
}

function disposition(name: string): string {
  return `content-disposition: form-data; name="${escaped(name)}"`;
}

function escaped(name: string): string {
  return name.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");
}
