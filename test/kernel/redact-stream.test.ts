// Redaction of text that comes in pieces, and inside of values. Samples are put together here, so that no scanner takes
// them for real keys.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chainRedact, makePatternRedact, makeRedact, type Redact } from "../../src/kernel/redact.ts";
import { makeRedactStream } from "../../src/kernel/redact-stream.ts";
import { mapStrings, redactJson } from "../../src/kernel/redact-value.ts";

const known = [
  "hunter2hunter2",
  "two words, one secret",
  "密码是一二三四五",
  "aaaaaaab",
  "line\nbreak-secret",
];
const redact = makeRedact(known);
const dashes = "-".repeat(5);
const pem = (body: string) =>
  `${dashes}BEGIN RSA PRIVATE KEY${dashes}\n${body}\n${dashes}END RSA PRIVATE KEY${dashes}`;
const shapes = [
  ["sk", "proj", "Ab1".repeat(12)].join("-"),
  `ghp_${"a1".repeat(18)}`,
  ["xoxb", "123456789012", "abcdef"].join("-"),
  `AKIA${"A1".repeat(8)}`,
  `1234567890:AA${"b".repeat(33)}`,
  `Bearer ${"t0k".repeat(8)}`,
  "https://me:pa:ss-wörd@example.org/x",
  pem("MIIEowIBAAKCAQEA".repeat(4)),
];

function inPieces(text: string, cuts: readonly number[], by: Redact = redact): string {
  const stream = makeRedactStream(by);
  const borders = [0, ...[...cuts].sort((a, b) => a - b), text.length];
  let out = "";
  for (let index = 1; index < borders.length; index++)
    out += stream.push(text.slice(borders[index - 1], borders[index]));
  return out + stream.end();
}

describe("a stream of text", () => {
  test.each([...known, ...shapes])("hides %j at whatever place it is cut in two", (secret) => {
    const text = `it said: ${secret} and 你好 went on.`;
    for (let cut = 0; cut <= text.length; cut++) expect(inPieces(text, [cut])).toBe(redact(text));
    expect(redact(text)).toContain("[redacted]");
  });

  test.each([...known, ...shapes])("hides %j that comes character by character", (secret) => {
    const text = `a ${secret}\nb`;
    expect(inPieces(text, [...text].length > 0 ? Array.from({ length: text.length }, (_, i) => i) : [])).toBe(
      redact(text),
    );
  });

  test("gives, for any text cut anywhere, what redacting the whole would give", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...known,
        ...shapes,
        "Bearer ",
        "basic\t",
        "://",
        "@",
        " ",
        "\n",
        "sk-",
        "你好",
        "aaaa",
      ),
      fc.constantFrom(
        `${dashes}BEGIN `,
        `PRIVATE KEY${dashes}`,
        `${dashes}END PRIVATE KEY${dashes}`,
        "hunter2",
      ),
      fc.string({ maxLength: 8 }),
      fc.stringMatching(/^[a-z :/.@-]{0,12}$/),
    );
    const text = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 20 }), (whole, cuts) => {
        const inside = cuts.map((cut) => Math.min(cut, whole.length));
        expect(inPieces(whole, inside)).toBe(redact(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  test("lets ordinary words go as they come, and holds back no more than the word under way", () => {
    const stream = makeRedactStream(redact);
    expect(stream.push("The disk ")).toBe("The disk ");
    expect(stream.push("is fu")).toBe("is ");
    expect(stream.push("ll, 一切")).toBe("full, 一切");
    expect(stream.end()).toBe("");
  });

  test("a person's own patterns see whole lines", () => {
    const own = chainRedact(redact, makePatternRedact([/ticket \d+/g]));
    const stream = makeRedactStream(own);
    expect(stream.push("see ticket 1")).toBe("");
    expect(stream.push("23\nbye ")).toBe("see [redacted]\n");
    expect(stream.end()).toBe("bye ");
  });

  test("a key that never ends mutes the stream instead of leaking or growing for ever", () => {
    const stream = makeRedactStream(redact);
    const line = `${"QUJD".repeat(16)}\n`;
    let out = stream.push(`so: ${dashes}BEGIN PRIVATE KEY${dashes}\n`);
    for (let count = 0; count < 1_000; count++) out += stream.push(line);
    expect(out + stream.end()).toBe("so: [the rest is not shown as it comes]");
  });

  test("a run of 60,000 characters in small pieces costs no more than it should", () => {
    const stream = makeRedactStream(redact);
    const began = performance.now();
    for (let count = 0; count < 15_000; count++) stream.push("a-b.");
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("redaction of whole texts", () => {
  test("a private key whose end was cut off is hidden too, also inside of JSON", () => {
    const cut = `${dashes}BEGIN PRIVATE KEY${dashes}\n${"QUJD".repeat(16)}\n${"QUJD".repeat(9)}`;
    expect(redact(`x ${cut}`)).toBe("x [redacted]");
    expect(redact(JSON.stringify({ cut }))).toBe('{"cut":"[redacted]"}');
    expect(redact(`${dashes}BEGIN PRIVATE KEY${dashes} is how it starts`)).toContain("is how it starts");
  });

  test.each([
    ["a-", 200_000],
    [`${dashes}BEGIN PRIVATE KEY${dashes}`, 20_000],
    ["Bearer ", 100_000],
    ["x://y:", 100_000],
  ])("text made to be slow (%j, %d times) is not", (piece, count) => {
    const began = performance.now();
    redact(piece.repeat(count));
    expect(performance.now() - began).toBeLessThan(6_000);
  });
});

describe("redaction inside of values", () => {
  test("a secret that JSON quotes is found, keys included", () => {
    const text = JSON.stringify({ a: ["line\nbreak-secret"], hunter2hunter2: 1 });
    expect(redactJson(text, redact)).toBe('{"a":["[redacted]"],"[redacted]":1}');
    expect(redactJson('{"a": "x\\n"}', redact)).toBe('{"a": "x\\n"}');
    expect(redactJson('{"a": hunter2hunter2 \\', redact)).toBe('{"a": [redacted] \\');
  });

  test("an address in one string never takes the next one for its password: JSON stays JSON", () => {
    const text = JSON.stringify({ url: "http://host", mail: "me@example.org", db: "pg://me:pw@db" });
    expect(redact(text)).toBe(text.replace("me:pw@", "me:[redacted]@"));
    expect(redactJson(text, redact)).toBe(text.replace("me:pw@", "me:[redacted]@"));
  });

  test("a key that lies in a list of lines is hidden, and what is left is JSON", () => {
    const lines = pem("MIIEowIBAAKCAQEA".repeat(4)).split("\n");
    const clean = redactJson(JSON.stringify({ lines }), redact);
    expect(clean).not.toContain("MIIE");
    expect(JSON.parse(clean)).toEqual({ lines: ["[redacted]"] });
    const nested = redactJson(JSON.stringify({ a: { first: lines[0] }, rest: lines.slice(1) }), redact);
    expect(JSON.parse(nested)).toEqual({ error: null, redacted: '{"a":{"first":"[redacted]"]}' });
  });

  test("a known secret of digits alone is hidden where it stands as a number", () => {
    const pin = makeRedact(["12345678"]);
    expect(redactJson('{"pin":12345678,"other":5}', pin)).toBe('{"pin":"[redacted]","other":5}');
  });

  test("keys that become equal keep their values, and none sets a prototype", () => {
    const value = JSON.parse('{"hunter2hunter2": 1, "aaaaaaab": 2, "__proto__": {"x": "hunter2hunter2"}}');
    expect(JSON.stringify(mapStrings(value, redact))).toBe(
      '{"[redacted]":1,"[redacted]#2":2,"__proto__":{"x":"[redacted]"}}',
    );
  });
});
