// Runs the CLI's bundle from V8's code cache: compiling it anew would take longer than most commands do.
//
// I1. A cache is named after the bundle's digest, Node's version and the processor: V8 itself compares little more
//     than the length of the source.
// I2. Nothing depends on it. Missing, refused by V8 or impossible to write, the CLI runs all the same, only slower.
// I3. It lies beside the bundle: whoever may change it may change the code.

"use strict";

const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const { join } = require("node:path");
const { Script } = require("node:vm");

const dist = join(__dirname, "../dist");
const bundle = join(dist, "cli.cjs");

/** The CLI's `main`, and `keepCode`, which writes the cache where there is none yet. */
exports.loadCli = () => {
  const source = readFileSync(bundle, "latin1");
  const digest = /^\/\/ ([0-9a-f]{16})\n/.exec(source)?.[1];
  const file = join(dist, "cache", `cli-${digest}-${process.version}-${process.arch}`);
  const cachedData = digest && readIfThere(file);
  const script = new Script(wrap(source), { filename: bundle, ...(cachedData && { cachedData }) });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, dist);
  const keepCode = () => {
    if (digest && !cachedData) writeCache(file, script.createCachedData());
  };
  return { main: module.exports.main, keepCode };
};

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Whole or not at all: another process may read it at any moment. */
function writeCache(file, data) {
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(join(dist, "cache"), { recursive: true });
    writeFileSync(draft, data);
    renameSync(draft, file);
  } catch {
    // (I2) An installation that this user may not write to.
  }
}
