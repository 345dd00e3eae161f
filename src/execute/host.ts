// Which machine, in which boot, seen through which pid namespace: the scope in which a pid means something (L4).
//
// The macOS branch is written after the manuals of sysctl and ioreg and has not been exercised.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { HostIdentity } from "../records/process.ts";

export {
  groupCpuMs,
  groupMembers,
  isSameProcess,
  processesMarked,
  processStartTime,
} from "./process-table.ts";

/**
 * The identity of this host. Blocking, a few file reads; call it once.
 * Two containers of one machine differ in `pidNamespace`; a restart changes `bootId`. A machine without an id (many
 * containers) still differs from others by its boot id.
 */
export function readHost(): HostIdentity {
  const parts = process.platform === "darwin" ? readDarwin() : readLinux();
  const digest = createHash("sha256").update([parts.machineId, parts.bootId, parts.pidNamespace].join("\0"));
  return { hostId: digest.digest("hex").slice(0, 32), ...parts };
}

type HostParts = Omit<HostIdentity, "hostId">;

function readLinux(): HostParts {
  return {
    machineId: firstOf(
      () => readFileSync("/etc/machine-id", "utf8"),
      () => readFileSync("/var/lib/dbus/machine-id", "utf8"),
      hostname,
    ),
    bootId: firstOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")),
    pidNamespace: firstOf(() => readlinkSync("/proc/self/ns/pid")),
  };
}

function readDarwin(): HostParts {
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return {
    machineId: firstOf(
      () => /"IOPlatformUUID" = "([^"]+)"/.exec(run("ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))?.[1],
      hostname,
    ),
    bootId: firstOf(
      () => run("sysctl", "-n", "kern.bootsessionuuid"),
      () => run("sysctl", "-n", "kern.boottime"),
    ),
    pidNamespace: "",
  };
}

/** The first source that gives a text; empty when none does. */
function firstOf(...sources: (() => string | undefined)[]): string {
  for (const source of sources) {
    try {
      const text = source()?.trim();
      if (text) return text;
    } catch {
      // Not on this machine: ask the next source.
    }
  }
  return "";
}
