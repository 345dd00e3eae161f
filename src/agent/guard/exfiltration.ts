// Exfiltration: a secret and a way out in one command, unless it is the secret's own API.
//
// I1. Each occurrence is judged by itself: one legal call excuses nothing else in the text.
// I2. In one command every secret must be legal at every host; a pipe is one command, `;` and `&&` begin another.

import { destinationsOf } from "./destinations.ts";
import { isLoopback, maySend } from "./known-hosts.ts";
import { FILE_HINT, SECRET_FILE, secretVariables } from "./secret-names.ts";

/** Longest command that is looked at, to each side of its first word. */
const REACH = 1_200;
const FILE = new RegExp(SECRET_FILE, "u");
const SYSTEM_FILE =
  /(?:--post-file=|(?:-d|--data[\w-]{0,12}|-f)\s{0,2}["']?(?:\w{1,20}=)?@)[\w./~-]{0,80}(?:token|secret|credential|passw|private|apikey|api[_-]key)[\w.-]{0,40}(?=[\s"']|$)|(?:--post-file=|@|-t\s|<\s?)\/(?:etc|root|proc)\//;

/** Whether the command around `place` carries a secret to a host that it is not for. */
export function carriesSecretOut(text: string, place: number): boolean {
  const isCall = CALL.test(text.slice(place, place + 30));
  const seen = isCall ? judged.call : judged.command;
  if (seen.text === text && place < seen.end) return false;
  const { command, end } = commandAround(text, place, isCall);
  if (isGuilty(text, command)) return true;
  judged[isCall ? "call" : "command"] = { text, end };
  return false;
}

/** Up to where the last command was found innocent: its other words need not be judged again. */
const judged = { call: { text: "", end: 0 }, command: { text: "", end: 0 } };

function isGuilty(text: string, command: string): boolean {
  if (uploadsFile(command)) return !isWithinMachine(command);
  const names = [...new Set([...secretVariables(command), ...taintedNames(text, command)])];
  if (names.length === 0) return false;
  const hosts = [...new Set(destinationsOf(command))];
  if (hosts.length === 0) return hasAddressee(command);
  return names.some((name) => hosts.some((host) => !maySend(name, host)));
}

function uploadsFile(command: string): boolean {
  return (FILE_HINT.test(command) && FILE.test(withoutIdentity(command))) || SYSTEM_FILE.test(command);
}

/** A name server's log is a way out: any secret in a name that is looked up. */
export function looksUpSecret(text: string, place: number): boolean {
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

/** Variables that were given a secret's value in the text, and that this command uses: `k = os.environ["KEY"]`. */
function taintedNames(text: string, command: string): string[] {
  return assignments(text)
    .filter(({ name, value }) => command.includes(name) && usesName(command.replace(value, ""), name))
    .map(({ secret }) => secret);
}

function usesName(command: string, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(command);
}

interface Assignment {
  name: string;
  value: string;
  secret: string;
}

/** At most 50, from a text that reads a variable at all. Remembers the last text: a scan asks once per command. */
function assignments(text: string): readonly Assignment[] {
  if (last.text === text) return last.found;
  const found: Assignment[] = [];
  for (const match of text.matchAll(SOURCE)) {
    const near = text.slice(Math.max(0, match.index - 80), match.index);
    const [, name] = ASSIGNED.exec(near.slice(near.lastIndexOf("\n") + 1)) ?? [];
    const value = text.slice(match.index, match.index + 100).split(/[\n;]/, 1)[0] ?? "";
    const [secret] = secretVariables(value);
    if (name !== undefined && secret !== undefined) found.push({ name, value, secret });
    if (found.length >= 50) break;
  }
  last = { text, found };
  return found;
}

let last: { text: string; found: readonly Assignment[] } = { text: "", found: [] };
const SOURCE = /\$\{?[a-z_]|environ|getenv|process\.env|env\[/g;
const ASSIGNED = /(?<![\w$])([a-z_]\w{0,30})\s{0,2}:?=[^;=]{0,40}$/;
