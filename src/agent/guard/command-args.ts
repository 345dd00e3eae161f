// The arguments of one command inside prose, and which paths are too much to destroy.

/** Arguments up to the command's end (`;`, `|`, `&`, line end, backtick, closing parenthesis); quotes are taken off. */
export function commandArgs(rest: string): string[] {
  const end = rest.search(/(?<!\\)[\n;|&`]/);
  const words = (end < 0 ? rest : rest.slice(0, end)).replace(/\\\n/g, " ").trim();
  return words.split(/\s+/).map((word) => word.replace(/^["'(]+|["')]+$/g, ""));
}

/** The root, a system folder, a whole home, or everything in one of them. */
export function isVitalPath(argument: string): boolean {
  if (!/^["']*(?:[/~$%]|[a-z]["']*:)/.test(argument)) return false;
  const path = argument
    .replace(/["']/g, "")
    .replace(/(?<=.)[.,!?]+$/, "")
    .replace(/\/(?:\.?\/)+/g, "/");
  return VITAL.some((vital) => vital.test(path));
}

const VITAL: readonly RegExp[] = [
  /^\/\.?\*?$/,
  /^\/(?:\.\.\/?)+$/,
  /^\/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|users|system|library|applications|mnt|media|data|run)\/?\*?$/,
  /^\/(?:home|users)\/[\w.$-]+\/?\*?$/,
  /^\/var\/(?:lib|log|mail|spool|backups?|www)\/?\*?$/,
  /^\/usr\/(?:bin|sbin|lib|lib64|local|share)\/?\*?$/,
  /^~[\w-]*\/?\*?$/,
  /^\$\{?(?:home|userprofile|env:userprofile|env:home)\}?\/?\*?$/,
  /^%userprofile%/,
  /^[a-z]:[\\/]*(?:\*(?:\.\*)?|windows.*|users)?$/,
];

/** Whether a path is Nightshift's own home or ledger. */
export function isOwnHome(argument: string): boolean {
  const path = argument.replace(/["']/g, "");
  if (!path.includes("nightshift") && !path.includes("ledger")) return false;
  return /(?:^|[/\\])\.nightshift(?:[/\\](?:ledger\.db|jobs|run|config\.yaml|workflows)?)?[/\\*]*$|ledger\.db(?:-wal)?$|\$\{?nightshift_home/.test(
    path.replace(/[.,]+$/, ""),
  );
}
