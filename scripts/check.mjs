// `npm run check`: format, lint, types, import rule and cycles, dead exports, sizes. Warnings are errors.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";
import { checkSizes } from "./sizes.mjs";

requirePlatform();
ensureInstalled();

const bin = (name) => join(root, "node_modules", ".bin", name);
const steps = [
  ["format and lint", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["types", bin("tsc"), ["-p", "."]],
  ["promises and switches", bin("eslint"), ["--max-warnings", "0", "src", "test", "bench"]],
  ["import rule and cycles", bin("depcruise"), ["--config", ".dependency-cruiser.cjs", "src"]],
  ["dead exports and dependencies", bin("knip"), ["--no-progress"]],
];

let failed = 0;
for (const [name, command, args] of steps) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name}`);
  if (status !== 0) failed += 1;
}
const oversized = await checkSizes();
for (const line of oversized) console.log(line);
console.log(`${oversized.length === 0 ? "ok  " : "FAIL"} sizes`);
if (oversized.length > 0) failed += 1;
console.log(`${steps.length + 1 - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
