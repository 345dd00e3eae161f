#!/usr/bin/env node
// Prints which lines of the text of $PAGE_URL came and went since the last run; nothing on the first run, and when none did.
// Its memory is a file in ~/.cache: a run's own folder goes away with the run.

const { createHash } = require("node:crypto");
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { homedir } = require("node:os");
const { join } = require("node:path");

const url = process.env.PAGE_URL;
const folder = join(homedir(), ".cache", "nightshift-page-digest");
const file = join(folder, `${createHash("sha256").update(url).digest("hex").slice(0, 16)}.txt`);

/** Visible text, one line a piece: enough to see a change, not to read a page. */
function linesOf(html) {
  const text = html.replace(/<(script|style)[\s\S]*?<\/\1>/gi, "").replace(/<[^>]*>/g, "\n");
  return [...new Set(text.split("\n").map((line) => line.replace(/\s+/g, " ").trim()))].filter(Boolean);
}

function remembered() {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return undefined;
  }
}

(async () => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  const now = linesOf(await answer.text());
  const before = remembered();
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.new`, now.join("\n"));
  renameSync(`${file}.new`, file);
  if (before === undefined) return;
  for (const line of before) if (!now.includes(line)) console.log(`- ${line}`);
  for (const line of now) if (!before.includes(line)) console.log(`+ ${line}`);
})().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
