// Installs dependencies when they are missing or older than the lock file. Only Node built-ins: nothing is installed yet.

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const MINIMUM_NODE = 20;

/** Ends with a clear sentence on a Node that is too old, and on native Windows (S6). */
export function requirePlatform() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < MINIMUM_NODE) {
    console.error(
      `nightshift: Node ${process.versions.node} is too old; install Node ${MINIMUM_NODE} or newer.`,
    );
    process.exit(2);
  }
  if (process.platform === "win32") {
    console.error("nightshift: native Windows is not supported; run it inside WSL2.");
    process.exit(2);
  }
}

/** Runs npm in `folder` and ends the process with its code on failure. */
export function npm(args, folder = root) {
  const cli = process.env.npm_execpath;
  const [command, prefix] = cli?.endsWith(".js") ? [process.execPath, [cli]] : ["npm", []];
  const result = spawnSync(command, [...prefix, ...args], { cwd: folder, stdio: ["ignore", 2, "inherit"] });
  if (result.status !== 0) {
    console.error(`nightshift: "npm ${args.join(" ")}" failed in ${folder}; see the lines above.`);
    process.exit(result.status ?? 1);
  }
}

/** Whether `folder` holds an install that is at least as new as its lock file. */
function isInstalled(folder) {
  const marker = join(folder, "node_modules", ".package-lock.json");
  const lock = join(folder, "package-lock.json");
  return existsSync(marker) && statSync(marker).mtimeMs >= statSync(lock).mtimeMs;
}

/** Makes sure that dependencies are there; says so only when there is something to do. */
export function ensureInstalled(folder = root) {
  if (isInstalled(folder)) return;
  console.error("nightshift: installing dependencies (once) …");
  const isFresh = !existsSync(join(folder, "node_modules"));
  npm([isFresh ? "ci" : "install", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], folder);
}
