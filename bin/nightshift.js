#!/usr/bin/env node
// The door to the CLI. CommonJS, which Node starts faster; answers `--version` by itself, so that it costs nothing.

"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const major = Number(process.versions.node.split(".")[0]);
if (major < 20) {
  console.error(`nightshift: Node ${process.versions.node} is too old; install Node 20 or newer.`);
  process.exitCode = 2;
} else if (process.platform === "win32") {
  console.error("nightshift: native Windows is not supported; run it inside WSL2.");
  process.exitCode = 2;
} else if (process.argv.length === 3 && ["--version", "-V"].includes(process.argv[2])) {
  console.log(JSON.parse(readFileSync(join(__dirname, "../package.json"), "utf8")).version);
} else {
  const { main, keepCode } = require("./load-cli.js").loadCli();
  void main(process.argv.slice(2)).then(keepCode);
}
