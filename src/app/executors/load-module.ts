// JavaScript and TypeScript of the person's own: which file a module means, and what it exports now.
//
// I1. A changed file is imported under another URL, so calls that are under way finish on the old code. One module stays
//     in memory for each change: Node forgets none.
// I2. What a module imports by a relative path is read once a process. A change there shows after a restart.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isFault, messageOf } from "../../kernel/errors.ts";
import { invalid } from "../../orchestrate/executors/contract.ts";

/** What a module exports. Throws Fault `executor.invalid` with the module's own error. */
export async function loadModule(
  file: string,
  { state, home }: { state: string; home: string },
): Promise<Record<string, unknown>> {
  try {
    await offerOwnPackage(file, home);
    const { importModule } = await import("./import-module.ts");
    if (!/\.[cm]?ts$/.test(file) || canStripTypes())
      return await importModule(`${pathToFileURL(file).href}?v=${state}`);
    return await loadTypeScript(file, { home, importModule });
  } catch (error) {
    if (isFault(error)) throw error;
    throw invalid(`${file} cannot be loaded: ${messageOf(error)}`, "Correct it.");
  }
}

/** @source Node: type stripping is on by default from 22.18 and 23.6. */
function canStripTypes(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

type Import = (url: string) => Promise<Record<string, unknown>>;

/** Older Nodes: types are taken out by Node's own function (22.13), or by an esbuild that the home has. */
async function loadTypeScript(file: string, { home, importModule }: { home: string; importModule: Import }) {
  const source = await readFile(file, "utf8");
  const code = (await stripByNode(source)) ?? (await stripByEsbuild(file, home));
  if (code === undefined)
    throw invalid(
      `Node ${process.versions.node} cannot load ${file} by itself`,
      "Run Nightshift with Node 22.18 or newer, run npm install esbuild in the home, or write a .mjs file.",
    );
  const digest = createHash("sha256").update(code).digest("hex").slice(0, 16);
  // Beside the original, so that what it imports is found from there; hidden, and gone once it is loaded.
  const built = join(dirname(file), `.${digest}.built.mjs`);
  await writeFile(built, code, { mode: 0o600 });
  try {
    return await importModule(pathToFileURL(built).href);
  } finally {
    await rm(built, { force: true });
  }
}

async function stripByNode(source: string): Promise<string | undefined> {
  const { stripTypeScriptTypes } = (await import("node:module")) as {
    stripTypeScriptTypes?: (code: string) => string;
  };
  return stripTypeScriptTypes?.(source);
}

interface Esbuild {
  /** Its helper process stays until it is stopped. */
  stop(): Promise<void>;
  build(options: Record<string, unknown>): Promise<{ outputFiles: { text: string }[] }>;
}

async function stripByEsbuild(file: string, home: string): Promise<string | undefined> {
  const places = [join(home, "package.json"), fileURLToPath(import.meta.url)];
  for (const from of places) {
    let esbuild: Esbuild;
    try {
      esbuild = createRequire(from)("esbuild") as Esbuild;
    } catch {
      continue;
    }
    try {
      const { outputFiles } = await esbuild.build({
        ...{ entryPoints: [file], bundle: true, packages: "external", write: false, logLevel: "silent" },
        ...{ platform: "node", format: "esm", target: "node20", sourcemap: "inline" },
      });
      return outputFiles[0]?.text ?? "";
    } finally {
      await esbuild.stop();
    }
  }
  return undefined;
}

/**
 * `import … from "nightshift"` works from a home without packages of its own: the home gets a link, unless there is something
 * of that name already.
 */
async function offerOwnPackage(file: string, home: string): Promise<void> {
  const source = await readFile(file, "utf8");
  if (!/from\s*["']nightshift["']|import\(\s*["']nightshift["']|require\(\s*["']nightshift["']/.test(source))
    return;
  const link = join(home, "node_modules", "nightshift");
  if (existsSync(link)) return;
  const own = ownPackage();
  if (own === undefined) return;
  await mkdir(dirname(link), { recursive: true });
  // A link that leads nowhere any more is ours, from an installation that has moved.
  await rm(link, { force: true });
  await symlink(own, link, "dir").catch(() => {});
}

/** Its light entry: the whole of it would cost 20 MB and half a second more. */
function ownPackage(): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 6; up++) {
    const light = join(folder, "dist", "executors");
    if (existsSync(join(light, "package.json"))) return light;
    folder = dirname(folder);
  }
  return undefined;
}

/** The entry of a package found from the home, as `require` or `import` would find it; undefined where there is none. */
export async function findPackage(name: string, home: string): Promise<string | undefined> {
  if (!/^(@[\w.-]+\/)?[\w.-]+(\/[\w./-]+)?$/.test(name)) return undefined;
  try {
    return createRequire(join(home, "package.json")).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") return undefined;
    return importEntry(name, home);
  }
}

/** A package that may only be imported: its `exports` for `import`. */
async function importEntry(name: string, home: string): Promise<string | undefined> {
  const folder = join(home, "node_modules", ...name.split("/"));
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { exports } = JSON.parse(text) as { exports?: unknown };
  const entry = conditionOf(
    typeof exports === "object" && exports !== null && "." in exports ? exports["."] : exports,
  );
  return entry === undefined ? undefined : join(folder, entry);
}

function conditionOf(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (typeof target !== "object" || target === null) return undefined;
  const conditions = target as Record<string, unknown>;
  for (const name of ["node", "import", "default"]) {
    const found = conditionOf(conditions[name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
