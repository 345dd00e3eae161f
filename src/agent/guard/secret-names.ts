// What is secret: files that hold credentials, variables whose names say so, and what a text may mean by such words.
//
// I1. A public half is no secret: `id_rsa.pub`, `.env.example`, `PUBLIC_KEY`.

const PLAIN = "example|sample|template|dist|schema|default|defaults|md|ts|js|test";
/** The pattern (source) of a secret file's name, in folded text. It begins behind a path or a delimiter. */
export const SECRET_FILE = `(?:${[
  String.raw`(?<![\w\])])\.env(?:\.(?!(?:${PLAIN})\b)[\w-]{1,30}){0,2}(?![\w/(-]|\.(?:${PLAIN})\b)`,
  String.raw`\.aws[/\\](?:credentials|config)?`,
  String.raw`(?<![\w-])(?:credentials|secrets?)(?:\.(?:json|ya?ml|toml|ini|xml|csv|env|txt|yml\.enc))(?![\w/])`,
  String.raw`[/\\]credentials(?![\w/.-])`,
  String.raw`(?<![\w])[._]netrc(?!\w)`,
  String.raw`(?<!\w)\.(?:pgpass|git-credentials|vault-token|htpasswd|my\.cnf|npmrc|pypirc|boto|s3cfg|dockercfg)(?!\w)`,
  String.raw`(?<!\w)\.docker[/\\]config\.json`,
  String.raw`(?<!\w)\.kube[/\\]config(?!\w)`,
  String.raw`gh[/\\]hosts\.yml`,
  String.raw`(?<!\w)id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?![\w-]|\.pub)`,
  String.raw`(?<!\w)\.ssh[/\\]?(?=\*|["'\s),;|]|\.(?:\s|$)|$)`,
  String.raw`(?<!\w)\.gnupg(?!\w)`,
  String.raw`/etc/g?shadow(?![\w-])`,
  String.raw`(?<!\w)\.(?:bash|zsh|sh|python|psql|mysql|node_repl|rediscli|sqlite)_history(?!\w)`,
  String.raw`fish_history(?!\w)`,
  String.raw`login\.keychain|keychains?[/\\]`,
  String.raw`login\\? data(?!\w)`,
  String.raw`(?:cookies\.sqlite|logins\.json|key4\.db)(?!\w)`,
  String.raw`/proc/[\w$]{1,12}/environ(?!\w)`,
  String.raw`(?<!\w)\.nightshift[/\\](?:\.env|token)(?!\w)`,
  String.raw`privkey\w{0,4}\.pem|private[\w-]{0,20}\.(?:pem|key)|[\w-]{1,40}\.(?:p12|pfx|kdbx|jks|keystore|ppk)(?!\w)`,
  String.raw`(?<!\w)(?:server|tls|ssl|ca|client|host)\.key(?!\w)`,
  String.raw`service[-_]account[\w-]{0,20}\.json|application_default_credentials\.json`,
  "/(?:var/)?run/secrets/",
].join("|")})`;

/** A text without any of these names no secret file. Kept in step with SECRET_FILE by a test. */
export const FILE_HINT =
  /\.env|credential|secret|netrc|\.(?:aws|ssh|pgpass|git-cred|vault|htpass|my\.cnf|npmrc|pypirc|boto|s3cfg|docker|kube|gnupg|nightshift)|hosts\.yml|id_(?:rsa|dsa|ec|ed)|shadow|_history|keychain|login\\? data|cookies\.sqlite|logins\.json|key4|environ|privkey|private|\.(?:p12|pfx|kdbx|jks|keystore|ppk|key)|service[-_]account/;

/** Whether a variable's name (any case) says that its value is a secret. */
export function isSecretVariable(name: string): boolean {
  const lower = name.toLowerCase();
  if (
    /(?:^|_)(?:public|max|min|num|total|count)_|_(?:path|file|name|dir|url|uri|ttl|expiry|expires|count|length|limit|prefix|header)$/.test(
      lower,
    )
  )
    return false;
  return /(?:^|_)(?:keys?|pass|pat|auth|jwt|cookie|credentials?|creds?)(?:_|$|\d)|(?:token|secret|password|passwd|passphrase|credentials?|apikey|privatekey|secretkey|accesskey)s?(?:_|$|\d)/.test(
    lower,
  );
}

/** Variables as shells, PowerShell, Python and Node spell them; the name is in one of the groups. Global. */
export const VARIABLE =
  /\$\{?(?:env:)?([a-z_]\w{0,60})(?!\w)(:?[+?#=])?|%([a-z_]\w{1,60})%|environ(?:\.get)?[[(]\s{0,2}["']([a-z_]\w{0,60})|getenv\(\s{0,2}["']([a-z_]\w{0,60})|process\.env(?:\.|\[["'])([a-z_]\w{0,60})|env\[["']([a-z_]\w{0,60})/g;

/** Names of secret variables whose values the text would use, each once; `${NAME:+set}` and `${#NAME}` only ask. */
export function secretVariables(text: string): string[] {
  const used = new Set<string>();
  for (const [, shell, operator, percent, ...code] of text.matchAll(VARIABLE)) {
    const name = shell ?? percent ?? code.find((one) => one !== undefined);
    const isAsked = operator?.endsWith("+") || operator?.endsWith("?");
    if (name !== undefined && !isAsked) used.add(name);
  }
  return [...used].filter(isSecretVariable);
}

/** Words for secrets in a sentence (source; spaces are gaps of a phrase). */
export const SECRET_NOUN =
  "(?:(?:private|ssh|api|access|secret|encryption|signing|deploy) keys?|(?:(?:api|access|auth|bearer|session|refresh) )?tokens?|passwords?|passphrases?|credentials|secrets|(?:environment|env) variables?|env vars?|keychain|cookies|seed phrases?)";

/** Words that may stand between a verb and the secret it takes (source of one word). */
export const DETERMINER =
  "(?:me|us|you|the|all|every|each|any|my|our|your|its|his|their|this|that|full|whole|raw|entire|complete|contents?|values?|text|lines?|first|last|of|from|in|inside|file|files|user|users|s|private|ssh|secret|secrets|data|everything|out|to|at|both|and|database|db|root|admin|stored|saved|system|with|line|\\d{1,4})";
