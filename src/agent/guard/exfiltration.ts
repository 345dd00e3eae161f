// Exfiltration: a secret and a way out in one command, unless it is the secret's own API.
//
// I1. Each occurrence is judged by itself: one legal call excuses nothing else in the text.
// I2. In one command every secret must be legal at every host; a pipe is one command, `;` and `&&` begin another.

import { destinationsOf } from "./destinations.ts";
import { isLoopback, maySend } from "./known-hosts.ts";
import { SECRET_FILE, secretVariables } from "./secret-names.ts";

/** Longest command that is looked at, to each side of its first word. */
const REACH = 1_500;
const FILE = new RegExp(SECRET_FILE, "u");
const SYSTEM_FILE = /(?:--post-file=|@|-t\s|<\s?)\/(?:etc|root|proc)\//;

/** Whether the command around `place` carries a secret to a host that it is not for. */
export function carriesSecretOut(text: string, place: number): boolean {
  const command = commandAround(text, place);
  const isUpload = FILE.test(withoutIdentity(command)) || SYSTEM_FILE.test(command);
  if (isUpload) return !isWithinMachine(command);
  const names = [...secretVariables(command), ...taintedNames(text, command)];
  if (names.length === 0) return false;
  const hosts = destinationsOf(command);
  if (hosts.length === 0) return hasAddressee(command);
  return names.some((name) => hosts.some((host) => !maySend(name, host)));
}

/** A name server's log is a way out: any secret in a name that is looked up. */
export function looksUpSecret(text: string, place: number): boolean {
  const command = commandAround(text, place);
  return secretVariables(command).length > 0 || FILE.test(command);
}

function isWithinMachine(command: string): boolean {
  const hosts = destinationsOf(command);
  return hosts.length > 0 && hosts.every(isLoopback);
}

/** Keys that a client proves itself with stay where they are. */
function withoutIdentity(command: string): string {
  return command.replace(
    /(?<=\s)(?:-i|--key|--cert|--cacert|--netrc-file|-e|--env-file|--kubeconfig)(?:\s{1,3}|=)["']?(?:ssh\s{1,3}-i\s{1,3})?[^\s"']{1,200}/g,
    " ",
  );
}

/** A command without a visible host still sends somewhere if it has data or headers to send. */
function hasAddressee(command: string): boolean {
  return (
    /\s(?:-h|--header|-d|--data[\w-]*|-u|--user|-f|--form|--post-data|--post-file|-body|-headers)[\s=]/.test(
      command,
    ) || /[({]\s{0,3}["'\w]/.test(command)
  );
}

function commandAround(text: string, place: number): string {
  let from = place;
  const first = Math.max(0, place - REACH);
  while (from > first && !isBorder(text, from - 1)) from -= 1;
  const isCall = /^[\w.]{1,24}\s{0,2}\(/.test(text.slice(place, place + 30));
  const last = Math.min(text.length, place + REACH);
  let to = place;
  while (to < last && (isCall ? !isCallEnd(text, to, place) : !isBorder(text, to))) to += 1;
  return text.slice(from, to).replace(/\\\n/g, " ");
}

/** Line end (unless continued), `;`, `&&`, `||`, backtick. */
function isBorder(text: string, place: number): boolean {
  switch (text[place]) {
    case "\n":
      return text[place - 1] !== "\\";
    case ";":
    case "`":
      return true;
    case "&":
      return text[place + 1] === "&" && text[place - 1] !== "\\";
    case "|":
      return text[place + 1] === "|";
    default:
      return false;
  }
}

/** The end of a call's statement: an empty line, or `;` or a line end that closes the call. */
function isCallEnd(text: string, place: number, start: number): boolean {
  const character = text[place];
  if (character === "\n") return text[place + 1] === "\n" || (place > start && text[place - 1] === ")");
  return character === ";" && text[place - 1] === ")";
}

/** Variables that were given a secret's value earlier in the text, and that this command uses: `k = os.environ["KEY"]`. */
function taintedNames(text: string, command: string): string[] {
  const names: string[] = [];
  for (const [, name = "", value = ""] of text.slice(0, 20_000).matchAll(ASSIGNMENT)) {
    const [secret] = secretVariables(value);
    if (
      secret !== undefined &&
      command.includes(name) &&
      new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(command.replace(value, ""))
    )
      names.push(secret);
  }
  return names;
}

const ASSIGNMENT =
  /(?<![\w$])([a-z_]\w{0,30})\s{0,2}:?=\s{0,2}([^\n;=]{0,40}(?:\$|environ|getenv|process\.env|env\[)[^\n;]{0,80})/g;
