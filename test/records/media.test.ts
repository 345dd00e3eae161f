import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatBytes, mediaLines, mediaTypeOf, withoutMediaLines } from "../../src/records/media.ts";

describe("MEDIA: lines", () => {
  test.each([
    ["MEDIA:chart.png", [{ path: "chart.png" }]],
    ["  MEDIA: plots/cpu load.png  ", [{ path: "plots/cpu load.png" }]],
    ["MEDIA:a.png | CPU of last week", [{ path: "a.png", caption: "CPU of last week" }]],
    ['MEDIA:"a b.png"', [{ path: "a b.png" }]],
    ["MEDIA:`a.png`\r\nMEDIA:b.pdf", [{ path: "a.png" }, { path: "b.pdf" }]],
    ["see MEDIA:a.png", []],
    ["MEDIA:", []],
    ["```\nMEDIA:a.png\n```", []],
    ["~~~~\n~~~\nMEDIA:a.png\n~~~~\nMEDIA:b.png", [{ path: "b.png" }]],
  ])("%j", (text, wanted) => {
    expect(mediaLines(text)).toEqual(wanted);
  });

  test("the text stands without them and without the gaps they leave; a fence keeps its lines", () => {
    expect(withoutMediaLines("Report:\n\nMEDIA:a.png\n\nAll is well.\nMEDIA:b.png\n")).toBe(
      "Report:\n\nAll is well.",
    );
    expect(withoutMediaLines("MEDIA:a.png\n")).toBe("");
    expect(withoutMediaLines("```\nMEDIA:a.png\n```\n")).toBe("```\nMEDIA:a.png\n```\n");
  });

  test("a text that names no file is returned as it was, whatever it holds", () => {
    const line = fc.constantFrom("a", "", "```", "MEDIA", "see MEDIA:x", "  ", "\r");
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const text = lines.join("\n");
        expect(withoutMediaLines(text)).toBe(text);
      }),
    );
  });

  test("what a file is, is said by its ending; an unknown one is a file", () => {
    expect(mediaTypeOf("a.PNG")).toEqual({ kind: "image", contentType: "image/png" });
    expect(mediaTypeOf("a.tar.gz")).toEqual({ kind: "file", contentType: "application/gzip" });
    expect(mediaTypeOf("Makefile")).toEqual({ kind: "file", contentType: "application/octet-stream" });
    expect([formatBytes(12), formatBytes(1_499), formatBytes(3_400_000)]).toEqual([
      "12 bytes",
      "1 kB",
      "3.4 MB",
    ]);
  });
});
