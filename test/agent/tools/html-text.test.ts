// Pages that are made to hold up or end the process that reads them.

import { describe, expect, test } from "vitest";
import { pageText } from "../../../src/agent/tools/html-text.ts";
import { slimHtml } from "../../../src/agent/tools/slim-html.ts";

const BASE = new URL("https://e.test/dir/page");

describe("a page's text", () => {
  test("what has no text is gone before parsing, also where it never ends", () => {
    expect(slimHtml('a<!-- x --><SCRIPT>if (a<b) "</p>"</SCRIPT >b<svg><title>t</title></svg>c')).toEqual({
      html: "abc",
      isCut: false,
    });
    expect(slimHtml("a<!-- b").html).toBe("a");
    expect(slimHtml("a<style>b").html).toBe("a");
    expect(slimHtml("1 < 2 <3 İ<p>x</p>").html).toBe("1 < 2 <3 İ<p>x</p>");
  });

  test("a cell that claims a million columns and rows is one cell", () => {
    const html = '<table><tr><td colspan="1000000" rowspan="1000000">a</td><td>b</td></tr></table>';

    expect(pageText(html, BASE)).toMatchObject({ text: "a | b", isCut: false });
  });

  test.each([
    ["300,000 open elements", "<div>".repeat(300_000)],
    ["100,000 tables in each other", "<table><tr><td>".repeat(100_000)],
    ["100,000 cells with paragraphs", "<td><p>".repeat(100_000)],
    ["half a megabyte of spaces", `<pre>${" ".repeat(500_000)}</pre>`],
    ["tags that never end", "<title ".repeat(100_000)],
    ["comments that never end", "<!--".repeat(300_000)],
  ])("%s take seconds at most, and what stood before is read", (_what, html) => {
    const started = performance.now();

    const { text } = pageText(`<p>before</p>${html}`, BASE);

    expect(text.startsWith("before")).toBe(true);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("a page beyond half a million characters is cut, and says so", () => {
    const { text, isCut } = pageText(`<main>${"<p>word</p>".repeat(60_000)}</main>`, BASE);

    expect(isCut).toBe(true);
    expect(text.startsWith("word\n\nword")).toBe(true);
  });
});
