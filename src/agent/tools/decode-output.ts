// Bytes of a command as the text a model reads.
//
// I1. Bytes that are not UTF-8 become U+FFFD, and so does NUL; a character that a cut beheaded is dropped.

/** `isBeheaded` = the beginning was cut off somewhere. */
export function decodeOutput(bytes: Uint8Array, isBeheaded: boolean): string {
  let start = 0;
  // Continuation bytes (10xxxxxx) of a character whose first byte is gone; there are at most three.
  if (isBeheaded) while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return new TextDecoder("utf-8").decode(bytes.subarray(start)).replaceAll("\0", "\uFFFD");
}
