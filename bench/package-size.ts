// `npm pack`, and an installation of what it made: size, install scripts, and whether the packed CLI works.

import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Benchmark, type Result, type Setup, withFolder } from "./measure.ts";

const ROOT = join(import.meta.dirname, "../../..");

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function packagesWithScripts(folder: string): string[] {
  return filesBelow(folder)
    .filter((file) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    .flatMap((file) => {
      const { name, scripts = {} } = JSON.parse(readFileSync(file, "utf8")) as {
        name: string;
        scripts?: Record<string, string>;
      };
      return ["preinstall", "install", "postinstall"].some((script) => script in scripts) ? [name] : [];
    });
}

async function run({ say }: Setup): Promise<Result[]> {
  say("npm pack and an installation …");
  return withFolder(async (folder) => {
    const npm = (cwd: string, ...args: string[]) =>
      execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    const [packed] = JSON.parse(
      npm(ROOT, "pack", "--json", "--pack-destination", folder).replace(/^[^[]*/, ""),
    ) as { filename: string; size: number }[];
    if (!packed) throw new Error("npm pack made nothing");
    writeFileSync(join(folder, "package.json"), '{"name":"user","private":true,"type":"module"}');
    npm(folder, "install", "--omit=dev", "--no-audit", "--no-fund", join(folder, packed.filename));
    const modules = join(folder, "node_modules");
    const bytes = filesBelow(modules).reduce((sum, file) => sum + lstatSync(file).size, 0);
    const home = join(folder, "home");
    const cli = (...args: string[]) =>
      execFileSync(join(modules, ".bin", "nightshift"), [...args, "--home", home], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
    const version = execFileSync(join(modules, ".bin", "nightshift"), ["--version"], {
      encoding: "utf8",
    }).trim();
    cli("job", "list");
    writeFileSync(join(home, "scripts", "a.sh"), "echo packed\n");
    cli("job", "add", "every 5m", "--script", "a.sh", "--name", "packed");
    cli("job", "run", "packed", "--here");
    cli("tick");
    const types = existsSync(join(modules, "nightshift", "dist", "types", "index.d.ts"));
    const scripts = packagesWithScripts(modules);
    const size = bytes / 1e6;
    return [
      {
        what: "production tree",
        value: `${size.toFixed(1)} MB`,
        goal: "≤ 60 MB",
        ok: size <= 60,
        note: `tarball ${(packed.size / 1e6).toFixed(2)} MB, ${readdirSync(modules).filter((name) => !name.startsWith(".")).length} entries in node_modules`,
      },
      {
        what: "install scripts in it",
        value: scripts.join(", ") || "none",
        goal: "none",
        ok: scripts.length === 0,
      },
      {
        what: "packed CLI",
        value: `${version}: job add, job run --here, tick`,
        goal: "works",
        ok: types,
        note: types ? "types of the public API are in the package" : "no types in the package",
      },
    ];
  });
}

export const packageSize: Benchmark = { name: "package", run };
