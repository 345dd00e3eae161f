// `npm test`: installs, builds, and runs the suite on this Node; then the parts that depend on Node's version on 22 and 24.
// `npm run faults` is the same with `--faults`: the long fault-injection run. Last line: `N passed, N failed`.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

requirePlatform();
ensureInstalled();
await build();

const isFaults = process.argv.includes("--faults");
const filters = process.argv.slice(2).filter((argument) => argument !== "--faults");
const counts = { passed: 0, failed: 0, skipped: 0 };
const scratch = mkdtempSync(join(tmpdir(), "nightshift-report-"));

/** One vitest run; adds to the counts. A run that breaks before it can report counts as one failure. */
function run(label, node, args, env = {}) {
  console.log(`\n== ${label}`);
  const report = join(scratch, `${label.replace(/\W+/g, "-")}.json`);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = spawnSync(node, [vitest, "run", ...reporters, ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, NO_COLOR: process.env.NO_COLOR ?? "1", ...env },
  });
  if (!existsSync(report)) {
    counts.failed += 1;
    return;
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, "utf8"),
  );
  const brokenFiles = testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  ).length;
  counts.passed += numPassedTests;
  counts.failed += numFailedTests + brokenFiles;
  counts.skipped += numPendingTests + numTodoTests;
  if (status !== 0 && numFailedTests + brokenFiles === 0) counts.failed += 1;
}

/** Node binaries of other majors, from npm (Linux x64 only; elsewhere the current Node is all there is). */
function otherNodes() {
  const folder = join(root, "test", "runtimes");
  if (process.platform !== "linux" || process.arch !== "x64") return [];
  ensureInstalled(folder);
  return [22, 24]
    .map((major) => ({ major, path: join(folder, "node_modules", `node-${major}`, "bin", "node") }))
    .filter(({ major, path }) => existsSync(path) && Number(process.versions.node.split(".")[0]) !== major);
}

if (isFaults) {
  run("faults", process.execPath, ["--config", "vitest.faults.config.ts", ...filters]);
} else {
  run(`Node ${process.versions.node}`, process.execPath, filters);
  if (filters.length === 0) {
    for (const { major, path } of otherNodes()) {
      // What depends on the Node version: the SQLite driver, processes, and the built CLI.
      run(
        `Node ${major}`,
        path,
        [
          ...["test/store/", "test/execute", "test/app/lifecycle", "test/cli/jobs", "test/faults/kills"],
          // Servers, containers and transfers are no affair of Node's version.
          ...["--exclude", "test/store/postgres-*.test.ts"],
          ...["--exclude", "test/execute/run-script-inside.test.ts"],
          ...["--exclude", "test/execute/environments/**"],
        ],
        { NIGHTSHIFT_TEST_NODE: path },
      );
    }
  }
}
rmSync(scratch, { recursive: true, force: true });
console.log("");
console.log(
  `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""}`,
);
process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
