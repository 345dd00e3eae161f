// Bundles the CLI, the library and the watch worker into dist/. Heavy parts stay separate chunks, loaded on use.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

const dist = join(root, "dist");

/** Every source file below a folder, in a stable order. */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** A digest over everything the bundle is made from; equal digests mean nothing to do. */
function sourceDigest() {
  const hash = createHash("sha256");
  const inputs = [...filesBelow(join(root, "src")), join(root, "package-lock.json"), fileURLToPath(import.meta.url)];
  for (const file of inputs) hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

/** Licences of what was bundled: the texts must travel with the code. */
function thirdPartyLicences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return [...packages].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
  }).join(`\n${"-".repeat(79)}\n\n`);
}

/** Bundles into dist/ unless it is already up to date. Returns whether it did anything. */
export async function build() {
  const marker = join(dist, "source.sha256");
  const digest = sourceDigest();
  if (existsSync(marker) && readFileSync(marker, "utf8") === digest) return false;
  const esbuild = await import("esbuild");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { cli: "src/cli/main.ts", index: "src/index.ts", "watch-worker": "src/app/watch-worker.ts" },
    outdir: "dist",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    legalComments: "none",
    chunkNames: "chunks/[name]-[hash]",
    external: ["libsql", "pg", "node:sqlite"],
    banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
    logLevel: "warning",
  });
  writeFileSync(join(dist, "THIRD_PARTY_LICENSES.txt"), thirdPartyLicences(result.metafile));
  await writeSchemas();
  writeFileSync(marker, digest);
  return true;
}

/** JSON Schemas of job and config files, for editors. */
async function writeSchemas() {
  const { jsonSchemas } = await import(join(dist, "index.js"));
  if (!jsonSchemas) return;
  mkdirSync(join(dist, "schema"), { recursive: true });
  for (const [name, schema] of Object.entries(await jsonSchemas())) {
    writeFileSync(join(dist, "schema", `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
  }
}

/** Type declarations of the public API; only a package needs them. */
async function buildTypes() {
  const { spawnSync } = await import("node:child_process");
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.types.json"], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

if (process.argv[1] && dirname(fileURLToPath(import.meta.url)) === dirname(process.argv[1]) && process.argv[1].endsWith("build.mjs")) {
  requirePlatform();
  ensureInstalled();
  const isNew = await build();
  if (process.env.npm_lifecycle_event === "prepack" || process.argv.includes("--types")) await buildTypes();
  console.error(isNew ? "nightshift: built dist/" : "nightshift: dist/ is up to date");
}
