// Bundles the CLI, the library, the watch worker and the doors to heavy packages into dist/. Heavy parts are evaluated, or
// loaded, on use.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledLibsql } from "./bundle-libsql.mjs";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

const dist = join(root, "dist");

/** Optional: who uses them installs them. Never bundled. */
const PEERS = ["mqtt", "modal", "@daytonaio/sdk", "@vercel/sandbox"];

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
  const inputs = [
    ...filesBelow(join(root, "src")),
    ...filesBelow(join(root, "scripts")),
    join(root, "package-lock.json"),
  ];
  for (const file of inputs)
    hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

/** Licences of what was bundled: the texts must travel with the code. */
function thirdPartyLicences(bundles) {
  const packages = new Set();
  for (const input of bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs))) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join(root, "node_modules", name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
    })
    .join(`\n${"-".repeat(79)}\n\n`);
}

/**
 * Doors to heavy packages, reached by `import()` alone (.dependency-cruiser.cjs sees to it). The CLI is one file and would
 * hold them all; each becomes a file of its own beside it. The library has its chunks.
 */
const DOORS = {
  "src/agent/models/sdk.ts": "model-sdk",
  "src/app/executors/import-module.ts": "import-module",
  "src/agent/tools/html-text.ts": "html-text",
  "src/agent/tools/mcp-sdk.ts": "mcp-client-sdk",
  "src/mcp/sdk.ts": "mcp-server-sdk",
  "src/orchestrate/expressions/expression.ts": "expressions",
  "src/deliver/platforms/send-mail.ts": "mail",
};

/** Leaves the doors out of a bundle: they are required from beside it, when they are needed. */
const doorsBeside = {
  name: "doors-beside",
  setup(build) {
    build.onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir, kind }) => {
      const name = kind === "dynamic-import" && DOORS[relative(root, join(resolveDir, path))];
      return name ? { path: `./${name}.cjs`, external: true } : undefined;
    });
  },
};

const doorBundles = {
  entryPoints: Object.fromEntries(Object.entries(DOORS).map(([file, name]) => [name, file])),
  outdir: "dist",
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  minify: true,
};

/**
 * The CLI: one CommonJS file, so that bin/load-cli.js can run it from V8's code cache. What a command does not touch
 * stays uncompiled. Its first line names the cache.
 */
function cliBundle(digest) {
  return {
    entryPoints: { cli: "src/cli/main.ts" },
    outfile: "dist/cli.cjs",
    format: "cjs",
    minify: true,
    // `import()` in code that comes from a cache has no one to answer it before Node 22.
    supported: { "dynamic-import": false },
    define: { "import.meta.url": "__bundleUrl" },
    banner: {
      js: `// ${digest.slice(0, 16)}\nconst __bundleUrl = require("node:url").pathToFileURL(__filename).href;`,
    },
    external: ["pg", "node:sqlite", ...PEERS],
    plugins: [doorsBeside, lazyBuiltins, bundledLibsql],
  };
}

/** The library and the watch thread: modules that share chunks. */
const libraryBundle = {
  entryPoints: {
    index: "src/index.ts",
    "watch-worker": "src/app/watch-worker.ts",
    "executors/index": "src/executors.ts",
  },
  outdir: "dist",
  splitting: true,
  format: "esm",
  minifySyntax: true,
  minifyWhitespace: true,
  chunkNames: "chunks/[name]-[hash]",
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
};

/** What a home without packages of its own finds as `nightshift`: the light entry with the types of the whole. */
const executorPackage = {
  name: "nightshift",
  type: "module",
  exports: { ".": { types: "../types/index.d.ts", default: "./index.js" } },
};

/** Parts of Node that cost milliseconds to load and that most commands never use: loaded at the first use of a name. */
const lazyBuiltins = {
  name: "lazy-builtins",
  setup(build) {
    const heavy = /^node:(child_process|dns\/promises|http|https|net|tty|worker_threads)$/;
    build.onResolve({ filter: heavy }, ({ path, namespace }) =>
      namespace === "lazy-builtin" ? { path, external: true } : { path, namespace: "lazy-builtin" },
    );
    build.onLoad({ filter: heavy, namespace: "lazy-builtin" }, async ({ path }) => {
      const names = Object.keys((await import(path)).default);
      const getters = names.map((name) => `get ${name}() { return load().${name}; }`);
      return {
        contents: `let real; const load = () => real ??= require("${path}"); module.exports = { ${getters.join(", ")} };`,
      };
    });
  },
};

/** Fills V8's code cache with what common commands use, in a home that is thrown away. Nothing depends on it. */
function warmCli() {
  const home = mkdtempSync(join(tmpdir(), "nightshift-build-"));
  const script = join(root, "scripts", "warm-cli.cjs");
  const { status } = spawnSync(process.execPath, [script, home], { stdio: ["ignore", "ignore", "inherit"] });
  rmSync(home, { recursive: true, force: true });
  if (status !== 0)
    console.error("nightshift: the code cache was not filled (see above); the first command will fill it");
}

/** Bundles into dist/ unless it is already up to date. Returns whether it did anything. */
export async function build() {
  const marker = join(dist, "source.sha256");
  const digest = sourceDigest();
  if (existsSync(marker) && readFileSync(marker, "utf8") === digest) return false;
  const esbuild = await import("esbuild");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    target: "node20",
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    legalComments: "none",
    external: ["libsql", "pg", "node:sqlite", ...PEERS],
    logLevel: "warning",
  };
  const bundles = [
    await esbuild.build({ ...common, ...cliBundle(digest) }),
    await esbuild.build({ ...common, ...doorBundles }),
    await esbuild.build({ ...common, ...libraryBundle }),
  ];
  writeFileSync(join(dist, "executors", "package.json"), `${JSON.stringify(executorPackage, null, 2)}\n`);
  copyFileSync(join(root, "src/orchestrate/executors/python-worker.py"), join(dist, "python-worker.py"));
  writeFileSync(join(dist, "THIRD_PARTY_LICENSES.txt"), thirdPartyLicences(bundles));
  await writeSchemas();
  warmCli();
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
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.types.json"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (
  process.argv[1] &&
  dirname(fileURLToPath(import.meta.url)) === dirname(process.argv[1]) &&
  process.argv[1].endsWith("build.mjs")
) {
  requirePlatform();
  ensureInstalled();
  const isNew = await build();
  if (process.env.npm_lifecycle_event === "prepack" || process.argv.includes("--types")) await buildTypes();
  console.error(isNew ? "nightshift: built dist/" : "nightshift: dist/ is up to date");
}
