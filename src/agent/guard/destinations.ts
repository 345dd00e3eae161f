// Where a command would send to: the hosts in it, read as clients read them.
//
// I1. In doubt a host is strange: user information, a backslash, a variable in the authority, an address in numbers.

/** Values that are sent, not addressed: data, headers, formats, output files. Their links are no destinations. */
const PAYLOAD =
  /(?<=\s)(?:-d|--data(?:-raw|-binary|-urlencode|-ascii)?|--json|-h|--header|-a|--user-agent|-w|--write-out|-b|--cookie|-u|--user|-headers|-body)(?:\s{0,3}=?\s{0,3})(?:"(?:[^"\\]|\\.){0,2000}"|'[^']{0,2000}'|[^\s"']{1,400})(?:\$\{?\w{1,60}\}?)?/g;
/** Names of files that a client reads or writes for itself. */
const OWN_FILE =
  /(?<=\s)(?:-o|-O|--output|--output-document|--key|--cert|--cacert|--netrc-file|-i)\s{1,3}[^\s]{1,200}/g;
/** Looks back from the rare sign: a scheme could begin at every letter. */
const URL_START = /:\/\/(?<=[a-z][a-z0-9+.-]{0,20}...)/g;
const URL = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>`]{0,400}/g;
const BARE =
  /(?<![\w@/.:$-])(?:[a-z0-9-]{1,63}\.){1,8}(?:com|net|org|io|dev|xyz|ru|cn|co|me|info|app|ai|site|online|top|club|tk|ml|ga|cf|gq|cc|biz|pw|su|to|ws|us|uk|eu|de|fr|nl|tv|lol|icu|live|cloud|internal|local)(?::\d{1,5})?(?=[/\s"'?#)]|$)/g;
const ADDRESS = /(?<![\w.$-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|(?<![\w.])0x[0-9a-f]{8}(?!\w)/g;

/** Hosts of a command (folded text), in order; `?` = one that cannot be known. */
export function destinationsOf(command: string): string[] {
  const text = ` ${command}`.replace(OWN_FILE, " ").replace(PAYLOAD, keepSubstitution);
  const hosts: string[] = [];
  for (const match of text.matchAll(URL_START)) hosts.push(hostAt(text, match.index + match[0].length));
  const rest = hosts.length === 0 ? text : text.replace(URL, " ");
  for (const [bare] of rest.matchAll(BARE)) hosts.push(bare.replace(/:\d+$/, ""));
  for (const [address] of rest.matchAll(ADDRESS)) hosts.push(address);
  if (/(?<![\w.])localhost(?![\w.])/.test(rest)) hosts.push("localhost");
  return hosts;
}

/** Commands inside data are commands: `-d "$(curl …)"` stays. */
function keepSubstitution(payload: string): string {
  return /\$\(|`/.test(payload) ? payload : " ";
}

function hostAt(text: string, start: number): string {
  const authority = /^[^/?#\s"'<>`]{0,300}/.exec(text.slice(start, start + 300))?.[0] ?? "";
  const host = authority
    .slice(authority.lastIndexOf("@") + 1)
    .replace(/:\d{0,5}$/, "")
    .replace(/\.$/, "");
  return /^(?:[a-z0-9-]+\.)*[a-z0-9-]+$|^\[::1\]$/.test(host) ? host : "?";
}
