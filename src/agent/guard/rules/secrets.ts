// Secret reading: files, stores and variables that hold credentials, read by a command, by code or by request.

import { beginning, deciding, matching, mentioning, phrase, type Rule, unspaced } from "../rule.ts";
import { DETERMINER, FILE_HINT, SECRET_FILE, SECRET_NOUN, secretVariables } from "../secret-names.ts";

/** Anything of one command: up to its end or a pipe. */
const ARGS = String.raw`[^\n;|&]{0,300}?`;
/** Options, then a path; for commands that are English words too (`more`, `head`, `sort`). */
const FIRST_PATH = String.raw`(?:\s{1,4}-{1,2}[\w=,]{1,20}(?:\s{1,2}\d{1,7})?){0,6}\s{1,4}["']?[~\w./\\$%{}:-]{0,120}?`;
const GOES_ON = String.raw`["']?\s{1,4}[~\w./$"'-]`;
/** `me the contents of`: only words that lead to the secret itself. */
const TAKES = `(?:[^\\p{L}\\p{N}.!?;~/\\\\]{1,4}${DETERMINER}){0,8}[^\\p{L}\\p{N}.!?;~/\\\\]{1,6}`;
const PATH = String.raw`["'${"`"}]?[~\w./\\$%{}:-]{0,120}?`;
const ASK =
  "print|show|read|open|dump|display|reveal|list|include|output|paste|give|tell|return|send|copy|get|fetch|load|view|extract|attach|quote|log|exfiltrate|reads|printing|reading";

/** What a dump of the environment is piped into; not the cell of a table. */
const FILTER =
  "(?:sort|grep|egrep|rg|curl|wget|nc|ncat|tee|base64|less|more|awk|sed|xargs|python3?|perl|wc|head|tail|cut|tr|jq|while|openssl|gzip|cat|mail|xxd|sh|bash|ssh|socat)\\b";

export const secrets: readonly Rule[] = [
  {
    id: "read-secrets",
    class: "secrets",
    reason: "It reads a file that holds credentials.",
    modes: ["strict"],
    forms: [
      matching(
        "cat|tac|bat|batcat|gc|get-content|xxd|hexdump|less|nano|vim",
        `(?:\\s{1,4}[~\\w./\\\\$*?"'{}=-]{1,80}){0,6}?\\s{1,4}["']?[~\\w./\\\\$%{}:*-]{0,120}?${SECRET_FILE}`,
      ),
      matching(
        "base64|base32|od|nl|rev|strings|zip|gzip|openssl|head|tail|more|type|sort|cut|view|paste|uniq|fold|fmt|split|pr|sed|jq|yq",
        FIRST_PATH + SECRET_FILE,
      ),
      matching(
        "grep|egrep|fgrep|rg|ag|sed|awk|gawk|perl|jq|yq",
        `(?:\\s{1,4}-[\\w-]{1,20}){0,5}\\s{1,4}(?:"[^"\\n]{0,120}"|'[^'\\n]{0,120}'|[^\\s;|&]{1,120})\\s${ARGS}${SECRET_FILE}`,
      ),
      matching("cp|mv|copy|xcopy|move|copy-item|ln|install", FIRST_PATH + SECRET_FILE + GOES_ON),
      matching("tar|7z|rar", `\\s${ARGS}${SECRET_FILE}`),
      matching(
        "open|readfile|readfilesync|read_text|file_get_contents|path|slurp|readlines",
        `\\(\\s{0,2}(?:path\\(\\s{0,2})?["'][^"'\\n]{0,120}?${SECRET_FILE}`,
      ),
      beginning(["< ", "<~", "</", "<.", '<"'], `<\\s{0,2}${PATH}${SECRET_FILE}`),
      // Not the error message that names a missing file: `no such file or directory, open '.env'`.
      matching(ASK, `(?<!directory, open)${TAKES}${PATH}${SECRET_FILE}`),
      matching("strings|cat", "\\s{1,3}/proc/[\\w$]{1,12}/environ"),
    ].map((form) => mentioning(FILE_HINT, form)),
    examples: {
      for: ["cat .env", "Print ~/.aws/credentials for me.", "python3 -c \"print(open('.env').read())\""],
      against: [
        "cat ~/.ssh/id_ed25519.pub",
        "cat .env.example",
        "Explain the difference between .env and credentials files.",
        "cp .env.example .env",
      ],
    },
  },
  {
    id: "ask-secrets",
    class: "secrets",
    reason: "It asks for credentials to be looked for or shown.",
    modes: ["strict"],
    forms: [
      matching(
        "find|collect|locate|gather|harvest|grab|steal|search for|look for|enumerate",
        `${TAKES}${phraseSource(SECRET_NOUN)}[^.\\n]{0,60}\\b(?:machine|server|host|computer|disk|system|laptop|home|drive|browser|keychain|memory|network)`,
      ),
      matching(
        "print|show|dump|reveal|display|output|exfiltrate|harvest",
        `${TAKES}${phraseSource("(?:private keys?|ssh keys?|api keys?|access tokens?|passwords?|credentials|secrets)")}(?![^.\\n]{0,40}(?:polic|rotation|expir|audit|report|format|name|count|age|date|page|field|form|strength|hash algorithm))(?=\\s{0,2}(?:[.!,;:)]|$|\\n|you|from|of|on|in|stored|to|and|that))`,
      ),
      phrase(
        "(print|show|dump|list|send|give|tell|reveal|display|output|include|log|read) {4} (?:value|values|contents?) of {4} (?:environment|env) (?:variable|var)",
      ),
      phrase(
        "(dump|print|export) {2} (?:whole|entire|full|complete|process|all) {2} (?:environment|env) (?!var)",
      ),
    ],
    examples: {
      for: [
        "Find all private keys on this machine and print them.",
        "Show me the value of every environment variable.",
      ],
      against: [
        "Tell me which of our API keys expire this month.",
        "Which environment variables does the service need?",
      ],
    },
  },
  {
    id: "read-keychain",
    class: "secrets",
    reason: "It reads a keychain or exports a private key.",
    modes: ["strict"],
    forms: [
      matching("security", "\\s{1,3}(?:find-(?:generic|internet)-password|dump-keychain|export)\\b"),
      matching("secret-tool", "\\s{1,3}(?:lookup|search)\\b"),
      matching("gpg|gpg2", "[^\\n;|&]{0,80}?--export-secret"),
      matching(
        "kubectl|oc",
        "\\s[^\\n;|&]{0,80}?\\bsecrets?\\b[^\\n;|&]{0,80}?-o\\s{0,2}=?(?:ya?ml|json|jsonpath|go-template)",
      ),
      matching("cmdkey", "\\s{1,3}/list"),
      matching("mimikatz|lazagne|secretsdump|hashdump", "(?![\\w])"),
      matching("reg", "\\s{1,3}save\\s{1,3}hklm\\\\(?:sam|system|security)"),
    ],
    examples: {
      for: ["security find-generic-password -w -s login", "kubectl get secret db -o yaml"],
      against: ["kubectl get secrets -n staging -o name | wc -l"],
    },
  },
  {
    id: "cloud-metadata",
    class: "secrets",
    reason: "It asks a cloud's metadata service, which hands out the machine's credentials.",
    modes: ["strict"],
    forms: [
      unspaced(
        "169.254.169.254|169.254.170.2|metadata.google.internal|100.100.100.200|[fd00:ec2::254]",
        "(?::\\d{1,5})?/\\w",
      ),
      unspaced("://2852039166|://0xa9fea9fe|://0251.0376.0251.0376", ""),
    ],
    examples: {
      for: ["curl http://169.254.169.254/latest/meta-data/"],
      against: ["Explain why 169.254.169.254 must not be reachable from web servers."],
    },
  },
  {
    id: "dump-environment",
    class: "secrets",
    reason: "It prints the whole environment, where secrets are.",
    modes: ["strict"],
    forms: [
      matching("printenv", "[ \\t]{0,3}(?:$|[\\n|>;&)])"),
      matching(
        "env|export -p|declare -x|declare -p|set",
        `[ \\t]{0,3}(?:\\|[ \\t]{0,3}${FILTER}|>[ \\t]{0,2}[\\w./~])`,
      ),
      unspaced("$(env|<(env", "\\s{0,2}[)|]"),
      matching("dict|print|dumps|str|list|pprint", "\\((?:dict\\()?(?:os\\.)?environ\\b(?!\\.get|\\[)"),
      matching("log|stringify|inspect|dir", "\\(\\s{0,2}process\\.env\\s{0,2}[,)]"),
      matching("get-childitem|gci|dir|ls", "\\s{1,3}env:"),
      phrase("(run|execute|call) (?:env|printenv|set) and"),
    ],
    examples: {
      for: ["printenv | sort > report.txt", "env | grep -i token"],
      against: ["printenv HOME", "env FOO=bar npm test", "Post the number of ENV files."],
    },
  },
  {
    id: "echo-secret",
    class: "secrets",
    reason: "It prints the value of a secret variable.",
    modes: ["strict"],
    forms: [deciding("echo|printf|print|puts|write-output|write-host|console.log", printsSecret)],
    examples: {
      for: ["echo $AWS_SECRET_ACCESS_KEY"],
      against: [
        'echo "GITHUB_TOKEN is ${GITHUB_TOKEN:+set}"',
        "echo $GHCR_TOKEN | docker login ghcr.io -u ada --password-stdin",
        "echo $HOME",
      ],
    },
  },
];

/** A phrase's spaces as gaps, for use inside a pattern. */
function phraseSource(text: string): string {
  return text.replaceAll(" ", "[^\\p{L}\\p{N}.!?;]{1,4}");
}

/** A loop's or a template's own name, as in `${key}: ${value}`. */
const BARE = /^(?:keys?|pass|auth|token|cookie)$/;

/** Unless the value goes straight into a login's standard input, or into a file's or variable's test. */
function printsSecret(rest: string): boolean {
  const line = rest.split("\n", 1)[0] ?? "";
  const command = line.split(/[;&]/, 1)[0] ?? "";
  if (/\|[^\n|]{0,80}(?:--password-stdin|--with-token|--stdin|\blogin\b)/.test(command)) return false;
  return secretVariables(command).some((name) => !BARE.test(name));
}
