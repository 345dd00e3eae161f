#!/usr/bin/env node
// The door to the CLI. Answers `--version` by itself, so that the commonest question costs nothing.

import { readFileSync } from "node:fs";

const [major] = process.versions.node.split(".").map(Number);
if (major < 20) {
  console.error(`nightshift: Node ${process.versions.node} is too old; install Node 20 or newer.`);
  process.exitCode = 2;
} else if (process.platform === "win32") {
  console.error("nightshift: native Windows is not supported; run it inside WSL2.");
  process.exitCode = 2;
} else if (process.argv.length === 3 && ["--version", "-V"].includes(process.argv[2])) {
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else {
  const { enableCompileCache } = await import("node:module");
  enableCompileCache?.();
  const { main } = await import("../dist/cli.js");
  await main(process.argv.slice(2));
}
