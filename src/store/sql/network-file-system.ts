// Whether a folder lies on a file system of another machine, where SQLite's locks and shared memory do not hold (L4).
//
// Linux only: elsewhere nothing is found. 9p counts only over TCP; over virtio or a pipe (WSL2, micro VMs) it is a
// folder of the same machine. FUSE counts by the name of its driver.

import { readFile, realpath } from "node:fs/promises";
import { Fault } from "../../kernel/errors.ts";

const REMOTE = new Set([
  ...["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gfs2", "ocfs2", "beegfs", "ncpfs"],
  ...[
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.davfs",
    "fuse.gcsfuse",
    "fuse.cephfs",
  ],
]);

/** The remote file system's type under `folder`, from the text of `/proc/self/mountinfo`; undefined = local. */
export function networkFileSystem(mountinfo: string, folder: string): string | undefined {
  let best: { point: string; type: string; options: string } | undefined;
  for (const line of mountinfo.split("\n")) {
    const [mount, device] = line.split(" - ");
    const point = mount?.split(" ")[4]?.replace(/\\(\d{3})/g, (_, octal: string) => charOf(octal));
    const [type, , options] = device?.split(" ") ?? [];
    if (point === undefined || type === undefined || !isWithin(folder, point)) continue;
    // A later mount on the same point hides the earlier one.
    if (!best || point.length >= best.point.length) best = { point, type, options: options ?? "" };
  }
  if (!best) return undefined;
  const isRemote = REMOTE.has(best.type) || (best.type === "9p" && /\btrans=(tcp|rdma)\b/.test(best.options));
  return isRemote ? best.type : undefined;
}

const charOf = (octal: string) => String.fromCharCode(Number.parseInt(octal, 8));

function isWithin(folder: string, point: string): boolean {
  return point === "/" || folder === point || folder.startsWith(`${point}/`);
}

/** Throws `store.network-file-system` for a folder on another machine. The folder must exist. */
export async function refuseNetworkFileSystem(folder: string): Promise<void> {
  if (process.platform !== "linux") return;
  const mountinfo = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  const type = networkFileSystem(mountinfo, await realpath(folder));
  if (type === undefined) return;
  throw new Fault("store.network-file-system", `${folder} lies on a network file system (${type})`, {
    hint: "Keep the home on a local disk, or use PostgreSQL for several machines (NIGHTSHIFT_STORE=postgres://…).",
    details: { folder, type },
  });
}
