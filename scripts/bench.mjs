// `npm run bench [-- NAME …]`: builds, installs the peers, runs the benchmarks one after the other, prints their tables.

import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

const bench = join(root, "bench");
const out = join(bench, "results", "build");

/** The benchmarks work on dist/, as a program that installed the package does. */
const packaged = {
  name: "packaged-nightshift",
  setup({ onResolve }) {
    onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: "../../../dist/index.js", external: true }));
  },
};

async function buildBenchmarks() {
  const esbuild = await import("esbuild");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: readdirSync(bench)
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(bench, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [packaged],
    logLevel: "warning",
  });
  for (const name of readdirSync(bench))
    if (name.endsWith(".mjs")) cpSync(join(bench, name), join(out, name));
}

requirePlatform();
ensureInstalled();
ensureInstalled(join(bench, "peers"));
await build();
await buildBenchmarks();
const { runBenchmarks } = await import(pathToFileURL(join(out, "run.mjs")).href);
process.exitCode = await runBenchmarks(process.argv.slice(2));
