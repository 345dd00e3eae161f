// Exfiltration: a secret and a way out in one command, unless it is the secret's own API.
//
// I1. Each occurrence is judged by itself: one legal call excuses nothing else in the text.
// I2. In one command every secret must be legal at every host; a pipe is one command, `;` and `&&` begin another.

import { destinationsOf } from "./destinations.ts";
import { isLoopback, maySend } from "./known-hosts.ts";
import type { Pass } from "./pass.ts";
import { FILE_HINT, SECRET_FILE, secretVariables } from "./secret-names.ts";

/** Longest command that is looked at, to each side of its first word. */
const REACH = 1_200;
const FILE = new RegExp(SECRET_FILE, "u");
const SYSTEM_FILE =
  /(?:--post-file=|(?:-d|--data[\w-]{0,12}|-f)\s{0,2}["']?(?:\w{1,20}=)?@)[\w./~-]{0,80}(?:token|secret|credential|passw|private|apikey|api[_-]key)[\w.-]{0,40}(?=[\s"']|$)|(?:--post-file=|@|-t\s|<\s?)\/(?:etc|root|proc)\//;

/** Whether the command around `place` carries a secret to a host that it is not for. */
export function carriesSecretOut(pass: Pass, place: number): boolean {
  const { text, innocentUntil } = pass;
  const isCall = CALL.test(text.slice(place, place + 30));
  const judge = isCall ? isCallEnd : isBorder;
  if (place < (innocentUntil.get(judge) ?? 0)) return false;
  const { command, end } = commandAround(text, place, isCall);
  if (isGuilty(pass, command)) return true;
  innocentUntil.set(judge, end);
  return false;
}

function isGuilty(pass: Pass, command: string): boolean {
  if (uploadsFile(pass, command)) return !isWithinMachine(command);
  const names = [...new Set([...secretVariables(command), ...taintedNames(pass, command)])];
  if (names.length === 0) return false;
  const hosts = [...new Set(destinationsOf(command))];
  if (hosts.length === 0) return hasAddressee(command);
  return names.some((name) => hosts.some((host) => !maySend(name, host)));
}

function uploadsFile(pass: Pass, command: string): boolean {
  const mayNameFile = pass.mentions(FILE_HINT) && FILE_HINT.test(command);
  return (mayNameFile && FILE.test(withoutIdentity(command))) || SYSTEM_FILE.test(command);
}

/** A name server's log is a way out: any secret in a name that is looked up. */
export function looksUpSecret({ text }: Pass, place: number): boolean {
  const { command } = commandAround(text, place, false);
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

/** From the last border before `place` to the next behind it; `end` is up to where the text has been seen whole. */
function commandAround(text: string, place: number, isCall: boolean): { command: string; end: number } {
  let from = place;
  const first = Math.max(0, place - REACH);
  while (from > first && !isBorder(text, from - 1)) from -= 1;
  const last = Math.min(text.length, place + REACH);
  let to = place;
  while (to < last && (isCall ? !isCallEnd(text, to, place) : !isBorder(text, to))) to += 1;
  const end = to === place + REACH ? place + REACH / 2 : to;
  return { command: text.slice(from, to).replace(/\\\n/g, " "), end };
}

const CALL = /^[\w.:$]{1,24}\s{0,2}\(/;

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

/** Variables with a secret's value that this command uses. */
function taintedNames(pass: Pass, command: string): string[] {
  return pass
    .assignments()
    .filter(({ name, value }) => command.includes(name) && usesName(command.replace(value, ""), name))
    .map(({ secret }) => secret);
}

function usesName(command: string, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(command);
}
