// The words of an OpenSSH client, and a command as one word that any login shell hands on unchanged.
//
// I1. Nobody is asked anything: no passwords, no unknown keys beyond the spec's policy, no forwarding of any kind.

import type { SshSpec } from "../../records/environment-spec.ts";

/** Longest command passed on a command line; encoded it may be five times as long. */
export const LONGEST_SSH_COMMAND = 16_000;

/** @source upstream.md 1.11 */
const CONNECT_TIMEOUT_S = 10;
const ALIVE = ["ServerAliveInterval=15", "ServerAliveCountMax=3"];

function optionsOf(spec: SshSpec, socket: string): string[] {
  const options = [
    "BatchMode=yes",
    `ConnectTimeout=${CONNECT_TIMEOUT_S}`,
    `StrictHostKeyChecking=${spec.hostKey === "strict" ? "yes" : "accept-new"}`,
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "EscapeChar=none",
    "LogLevel=ERROR",
    ...ALIVE,
    `ControlPath=${socket}`,
    ...(spec.identityFile === undefined ? [] : [`IdentityFile=${spec.identityFile}`, "IdentitiesOnly=yes"]),
    ...(spec.knownHosts === undefined ? [] : [`UserKnownHostsFile=${spec.knownHosts}`]),
  ];
  return [
    ...options.flatMap((option) => ["-o", option]),
    ...(spec.port === undefined ? [] : ["-p", String(spec.port)]),
    ...(spec.user === undefined ? [] : ["-l", spec.user]),
  ];
}

/** The connection itself, with a command of its own that lives as long as it does. */
export function masterArgv(spec: SshSpec, socket: string, argv: readonly string[]): string[] {
  return [
    "ssh",
    "-T",
    "-o",
    "ControlMaster=yes",
    "-o",
    "ControlPersist=no",
    ...optionsOf(spec, socket),
    spec.host,
    remoteCommand(argv),
  ];
}

/** A command over the connection. Where that is gone it fails at once, instead of making a second one. */
export function sessionOverMaster(spec: SshSpec, socket: string, argv: readonly string[]): string[] {
  return overMaster(spec, { socket, argv, terminal: "-T" });
}

/** The same at a terminal there; the client is at one of its own. */
export function terminalOverMaster(spec: SshSpec, socket: string, argv: readonly string[]): string[] {
  return overMaster(spec, { socket, argv, terminal: "-tt" });
}

function overMaster(
  spec: SshSpec,
  { socket, argv, terminal }: { socket: string; argv: readonly string[]; terminal: "-T" | "-tt" },
): string[] {
  return [
    "ssh",
    terminal,
    "-o",
    "ControlMaster=no",
    "-o",
    "ProxyCommand=false",
    ...optionsOf(spec, socket),
    spec.host,
    remoteCommand(argv),
  ];
}

/** Asks the connection something: `check`, `exit`. */
export function controlArgv(spec: SshSpec, socket: string, what: "check" | "exit"): string[] {
  return ["ssh", "-O", what, ...optionsOf(spec, socket), spec.host];
}

/**
 * Words for `sh`, as text for whatever shell the user has there: what could mean something to one of them (quote,
 * backslash, newline, history sign) is written as an octal escape, which `printf %b` reads back.
 */
export function remoteCommand(argv: readonly string[]): string {
  const words = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const encoded = `exec ${words}`.replace(
    /['\\\n\r!]/g,
    (character) => `\\0${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `exec sh -c 'eval "$(printf %b "$1")"' sh '${encoded}'`;
}
