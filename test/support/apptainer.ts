// Apptainer for tests: the real one where it is installed, and always a stand-in that checks every word it is given.

import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Apptainer {
  /** What a node would have: a home of its own, and the program first on its PATH. */
  env: Record<string, string>;
  /** A whole image on this machine. */
  image: string;
  /** Its calls so far, one line each, words joined by a space; the stand-in's only. */
  calls(): Promise<string[]>;
  /** Offers an image at `uri`; a slow one takes half a second to fetch. The stand-in's only. */
  offer(uri: string, options?: { isSlow?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** Why the stand-in cannot work here; undefined when it can. */
export function whyNoStandIn(): string | undefined {
  if (process.platform !== "linux") return "it needs Linux's namespaces";
  for (const program of ["busybox", "unshare", "nsenter"])
    if (!canRun("/bin/sh", "-c", 'command -v "$1"', "sh", program)) return `${program} is not installed`;
  const own = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  if (!canRun("unshare", ...own, "--mount", "--pid", "--fork", "true"))
    return "no namespaces can be made here";
  return undefined;
}

/** Why the real one is not used here; undefined when it is. */
export function whyNoApptainer(): string | undefined {
  if (!canRun("apptainer", "--version")) return "apptainer is not installed";
  return canRun("busybox", "true") ? undefined : "busybox is not installed";
}

function canRun(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The stand-in, in a folder of its own. */
export async function startStandIn(): Promise<Apptainer> {
  const folder = join(tmpdir(), `nightshift-apptainer-${randomBytes(4).toString("hex")}`);
  for (const name of ["bin", "images", "state", "home"]) await mkdir(join(folder, name), { recursive: true });
  await copyFile(join(import.meta.dirname, "apptainer-stand-in.sh"), join(folder, "bin/apptainer"));
  await makeRoot(join(folder, "root"));
  const image = join(folder, "images/local.sif");
  const text = `stand-in image of ${join(folder, "root")}\n`;
  await writeFile(image, text);
  return {
    env: { PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: join(folder, "home") },
    image,
    calls: async () =>
      (await readFile(join(folder, "calls"), "utf8").catch(() => "")).split("\n").filter(Boolean),
    async offer(uri, { isSlow = false } = {}) {
      const path = join(folder, "images", uri.replace(/[/:]/g, "_"));
      await writeFile(path, text);
      if (isSlow) await writeFile(`${path}.slow`, "");
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The real one, with an image built here. */
export async function startApptainer(): Promise<Apptainer> {
  const folder = join(tmpdir(), `nightshift-apptainer-${randomBytes(4).toString("hex")}`);
  await mkdir(join(folder, "home"), { recursive: true });
  await makeRoot(join(folder, "root"));
  const image = join(folder, "image.sif");
  const env = { PATH: process.env.PATH ?? "", HOME: join(folder, "home") };
  await run("apptainer", ["--silent", "build", image, join(folder, "root")], { env });
  const none = async () => {
    throw new Error("only the stand-in tells");
  };
  return { env, image, calls: none, offer: none, stop: () => rm(folder, { recursive: true, force: true }) };
}

/** Busybox and nothing else. */
async function makeRoot(root: string): Promise<void> {
  const folders = [
    "bin",
    "tmp",
    "etc",
    "root",
    "proc",
    "sys",
    "dev",
    "home",
    "var/tmp",
    "run",
    "workspace",
    "usr",
  ];
  for (const name of folders) await mkdir(join(root, name), { recursive: true });
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\n");
  const busybox = (await run("/bin/sh", ["-c", "command -v busybox"])).stdout.trim();
  await copyFile(busybox, join(root, "bin/busybox"));
  const applets = (await run(busybox, ["--list"])).stdout.trim().split("\n");
  for (const name of applets.filter((applet) => applet !== "busybox"))
    await symlink("busybox", join(root, "bin", name));
}
