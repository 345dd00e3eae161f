// `npm start`: install, build, and run a node whose home is `.nightshift/` in this checkout, unless NIGHTSHIFT_HOME is set.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { build } from "./build.mjs";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

requirePlatform();
ensureInstalled();
await build();

const home = process.env.NIGHTSHIFT_HOME ?? join(root, ".nightshift");
const args = [join(root, "bin", "nightshift.js"), "up", "--seed-samples", ...process.argv.slice(2)];
const child = spawn(process.execPath, args, {
  stdio: "inherit",
  env: { ...process.env, NIGHTSHIFT_HOME: home },
});

// The node drains on these itself (L13); this wrapper only stays until it has ended.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to the whole group already; other signals reach only this process.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => process.exit(signal ? 130 : (code ?? 1)));
