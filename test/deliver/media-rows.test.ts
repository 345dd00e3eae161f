// A message's files as outbox rows: the text first, each file behind it, and nothing dropped without a word.

import { describe, expect, test } from "vitest";
import { adapterTable } from "../../src/deliver/adapter-table.ts";
import { settleRun } from "../../src/deliver/settle.ts";
import type { MediaLimits } from "../../src/records/delivery.ts";
import type { Media, OutcomeMedia } from "../../src/records/media.ts";
import { adapters, chat, chatAdapter, context, redact, runRow, success } from "./fixtures.ts";

function media(name: string, parts: Partial<Media> = {}): Media {
  const file = `output/_media/run/${name}`;
  return { file, name, kind: "image", contentType: "image/png", bytes: 1_200, sha256: "00", ...parts };
}

function rows(output: string, files: OutcomeMedia, limits: MediaLimits | undefined, hide = redact) {
  const taking = chatAdapter(limits ? { mediaLimits: () => limits } : {});
  const route = context({ adapters: adapterTable([...adapters().values(), taking]) });
  const { deliveries } = settleRun(
    {
      job: {
        id: "disk-watch",
        name: "disk-watch",
        timezone: "UTC",
        deliver: [{ kind: "target", target: chat("1") }],
        onFailure: [],
      },
      run: runRow(),
      outcome: { ...success(output), media: files },
      streak: { failures: 0, cause: undefined, isAlerted: false },
      isLastAttempt: true,
    },
    { route, redact: hide },
  );
  return deliveries.map(({ target, part, body, media: sent }) => [target.text, part, body, sent?.name]);
}

const ANY = { maxBytes: 10_000 };

describe("a message with files", () => {
  test("the text without its MEDIA lines, then a row for each file with its caption, or its name", () => {
    const kept = [media("a.png", { caption: "CPU" }), media("b.png")];

    expect(rows("Done.\nMEDIA:a.png | CPU\nMEDIA:b.png\n", { kept, refused: [] }, ANY)).toEqual([
      ["chat:1", 0, "Done.", undefined],
      ["chat:1", 1, "CPU", "a.png"],
      ["chat:1", 2, "b.png", "b.png"],
    ]);
  });

  test("files alone are no empty message", () => {
    expect(rows("MEDIA:a.png", { kept: [media("a.png")], refused: [] }, ANY)).toEqual([
      ["chat:1", 0, "a.png", "a.png"],
    ]);
  });

  test.each<[string, MediaLimits | undefined, string]>([
    ["takes none", undefined, "chat takes no files here"],
    ["takes others", { maxBytes: 10_000, kinds: ["video"] }, "chat takes videos only"],
    ["takes smaller ones", { maxBytes: 1_000 }, "chat takes at most 1 kB"],
  ])("a platform that %s names it in the text, and local keeps text and file", (_name, limits, why) => {
    expect(rows("Done.\nMEDIA:a.png", { kept: [media("a.png")], refused: [] }, limits)).toEqual([
      ["chat:1", 0, `Done.\n\nNot sent: a.png (1 kB): ${why}; it is kept in local.`, undefined],
      ["local", 0, "Done.", undefined],
      ["local", 1, "a.png", "a.png"],
    ]);
  });

  test("what could not be kept is named with the reason, and the text is not lost", () => {
    const refused = [{ path: "../key", why: "it lies outside of the run's folders, or is hidden" }];

    expect(rows("Done.\nMEDIA:../key", { kept: [], refused }, ANY)).toEqual([
      [
        "chat:1",
        0,
        "Done.\n\nNot sent: ../key: it lies outside of the run's folders, or is hidden.",
        undefined,
      ],
    ]);
  });

  test("law 7: captions and names are redacted like any text", () => {
    const hide = (text: string) => text.replaceAll("s3cr3t", "[redacted]");
    const kept = [media("a.png", { caption: "key s3cr3t" })];

    expect(JSON.stringify(rows("Done.", { kept, refused: [] }, ANY, hide))).not.toContain("key s3cr3t");
  });
});
